"""Something to do right after a module of verl is imported, in whichever process that happens.

verl loads its plugins at ``import verl``, when importing more of it would be circular and cost seconds a process.
"""

from collections.abc import Callable, Mapping
from types import ModuleType

from wrapt import register_post_import_hook

Action = Callable[[ModuleType], None]


def after_import(actions: Mapping[str, Action]) -> None:
    """Act on modules, by name: at once on what is imported already, and on the rest when it is."""
    for name, action in actions.items():
        register_post_import_hook(action, name)
