"""What tests ask of the code by name: a decoy defines all of it."""

import ast
import re

from reward.sandbox import source
from reward.sandbox.free_names import ALIASES, is_library
from reward.sandbox.source import Tests


def asked_names(tests: Tests) -> list[str]:
    """Return the names that the tests ask of the code."""
    names = {name for name in tests.free | tests.of_solution if name.isidentifier() and name != "solution"}
    names = {name for name in names if not is_library(ALIASES.get(name, name))}
    names |= {*re.findall(r"\w+", tests.entry)[:1]}  # of Solution().solve, Solution
    called = {source.function(node) for node in tests.nodes if isinstance(node, ast.Call)}
    return sorted(names or tests.asked & called)  # a task of MBPP asks for a function named sum
