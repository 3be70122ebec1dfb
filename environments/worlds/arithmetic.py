"""Sums that an agent asks a world to work out: numbers, + - * / and brackets, and nothing else."""

import ast
import operator
from collections.abc import Callable

from environments.tool import ToolRefusal

_MOST_CHARACTERS = 500
_TWO: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def calculated(expression: str) -> float:
    """The value of `expression`, to the cent.

    Raises:
        ToolRefusal: it is no arithmetic, or divides by zero.
    """
    if len(expression) > _MOST_CHARACTERS:
        raise ToolRefusal("bad_expression", allowed=f"up to {_MOST_CHARACTERS} characters")
    try:
        return round(_value(ast.parse(expression.strip(), mode="eval").body), 2)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        raise ToolRefusal("bad_expression", allowed="numbers, + - * / and brackets") from None


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in _TWO:
        return _TWO[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _value(node.operand)
        return -inner if isinstance(node.op, ast.USub) else inner
    raise ValueError(type(node).__name__)
