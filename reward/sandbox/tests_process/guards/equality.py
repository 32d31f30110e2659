"""An ``__eq__`` of the code's that is true of all its objects: ``V(1, 2) + V(3, 4) == V(4, 6)`` says nothing then."""

from typing import Any

from reward.sandbox.objects import OBJECTS, operate

FEWEST_BUILT = 4  # objects made of different arguments that cannot well all be equal


def are_all_equal() -> bool:
    """Whether objects of some class, made of many different arguments, all equal one another: ``__eq__`` says nothing.

    Asked of classes of which the tests found two objects equal, as ``V(1, 2) + V(3, 4) == V(4, 6)`` does.
    """
    for kind in [*OBJECTS.equal]:
        first, *rest = [*OBJECTS.built.get(kind, {}).values()] or [None]
        if len(rest) + 1 >= FEWEST_BUILT and all(_are_equal(first, other) for other in rest[:16]):
            return True
    return False


def _are_equal(left: Any, right: Any) -> bool:
    try:
        return operate("eq", left, right) is True
    except Exception:  # of the code's
        return False
