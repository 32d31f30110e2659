"""The built-in tool ``calculator`` as verl's own tool loop takes it: for tests/bench/turns.py."""

from verl.tools.function_tool import function_tool

from environments.tools.calculator import calculate

function_tool(calculate)
