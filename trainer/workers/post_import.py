"""Something to do right after a module of verl is imported, in whichever process that happens.

verl loads its plugins at ``import verl``, when importing more of it would be circular and cost seconds a process.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType

Action = Callable[[ModuleType], None]


class AfterImport(importlib.abc.MetaPathFinder):
    """Finds modules as usual, and acts on those of ``actions`` after their own code has run."""

    def __init__(self, actions: Mapping[str, Action]) -> None:
        self.actions = dict(actions)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the module's own spec with its action added; None for all other modules."""
        action = self.actions.pop(name, None)
        if action is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            action(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def after_import(actions: Mapping[str, Action]) -> None:
    """Act at once on what is imported already, and on the rest when it is."""
    for name, action in actions.items():
        if name in sys.modules:
            action(sys.modules[name])
    sys.meta_path.insert(0, AfterImport({name: act for name, act in actions.items() if name not in sys.modules}))
