"""Bugs for repair tasks: every small change of a program's syntax tree that alters what it does.

Source: mutation testing (DeMillo, Lipton, Sayward 1978): relational, arithmetic, constant and connector operators.
"""

import ast
import copy
from collections.abc import Iterator
from typing import Any, Final

_COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
}  # fmt: skip
_COMPUTED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult,
}  # fmt: skip


def mutants(source: str) -> list[str]:
    """Every program that differs from `source` in one place, in order of the tree; docstrings stay as they are."""
    tree = ast.parse(source)
    found = []
    for position, node in enumerate(ast.walk(tree)):
        for change in _changes(node):
            changed = copy.deepcopy(tree)
            target = next(n for i, n in enumerate(ast.walk(changed)) if i == position)
            for name, value in change.items():
                setattr(target, name, value)
            found.append(ast.unparse(ast.fix_missing_locations(changed)) + "\n")
    return [text for text in dict.fromkeys(found) if text != ast.unparse(tree) + "\n"]


def _changes(node: ast.AST) -> Iterator[dict[str, Any]]:
    """What may be changed about one node."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        yield {"ops": [_COMPARED[type(node.ops[0])]()]}
    elif isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED:
        yield {"op": _COMPUTED[type(node.op)]()}
    elif isinstance(node, ast.BoolOp):
        yield {"op": ast.And() if isinstance(node.op, ast.Or) else ast.Or()}
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield {"op": ast.UAdd()} if isinstance(node.op, ast.USub) else {"operand": ast.Constant(False)}
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield {"value": node.value + 1}
        yield {"value": node.value - 1}
