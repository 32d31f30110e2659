"""transformers, for checks that run in threads beside one another."""

import threading
from typing import Any

_LOCK = threading.Lock()


def transformers() -> Any:
    """Return the package, which one thread imports while the others wait.

    It puts another module in its own place while it is imported. A thread that wants a name of it meanwhile waits too,
    but looks for it in the first module then: ``cannot import name`` (CPython, ``PyImport_ImportModuleLevelObject``).
    """
    with _LOCK:
        import transformers
    return transformers
