"""The built-in tool ``calculator``: exact arithmetic."""

import ast
import operator
from collections.abc import Callable
from fractions import Fraction

LONGEST = 200  # characters of an expression
MOST = 400  # powers of ten of a number: 1e999999999 has a gigabyte
OPERATORS: dict[type[ast.AST], Callable[..., Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def calculate(expression: str) -> str:
    """Work out an expression of numbers, such as 12+34.

    Args:
        expression: numbers with +, -, *, / and brackets
    """
    if len(expression) > LONGEST:
        raise ValueError(f"an expression has {LONGEST} characters at most")
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body, expression.strip())
    except ZeroDivisionError:
        raise ValueError("division by zero") from None
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError("not an expression of numbers with +, -, *, / and brackets") from None
    return str(value) if value.denominator == 1 else repr(float(value))


def _value(node: ast.AST, text: str) -> Fraction:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        written = ast.get_source_segment(text, node) or ""
        if isinstance(node.value, float) and abs(int(written.lower().partition("e")[2] or 0)) > MOST:
            raise ValueError(f"a number has {MOST} digits before and behind the point at most")
        return Fraction(written)  # 0.1 is a tenth
    if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.operand, text))
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.left, text), _value(node.right, text))
    raise ValueError("not an expression of numbers with +, -, *, / and brackets")
