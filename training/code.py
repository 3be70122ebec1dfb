"""What code a process runs, as one hash: so that changed code trains anew and two models never share a version.

The hash covers a module and all that it imports from our own packages, as parsed: comments, docstrings and layout do
not count. Nothing is imported to find it out.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ("training", "environments")


@cache
def code_of(module: str, packages: tuple[str, ...] = PACKAGES) -> str:
    """Hash of `module` (for example `training.sft`) and of what it imports from `packages`.

    Raises:
        FileNotFoundError: there is no such module.
    """
    seen: dict[str, str] = {}
    _collect(module, packages, seen)
    text = "\n".join(f"{name} {digest}" for name, digest in sorted(seen.items()))
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def _collect(module: str, packages: tuple[str, ...], seen: dict[str, str]) -> None:
    if module in seen:
        return
    tree = ast.parse(_file_of(module).read_text(encoding="utf-8"))
    seen[module] = ""
    for name in _imports(tree):
        if name.partition(".")[0] in packages and _is_module(name):
            _collect(name, packages, seen)
    seen[module] = hashlib.blake2b(ast.dump(_without_docstrings(tree)).encode(), digest_size=8).hexdigest()


def _imports(tree: ast.Module) -> Iterator[str]:
    """Modules that `tree` may import; a name imported from a package may be a module or not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [part for part in body if not _is_text(part)]  # type: ignore[attr-defined]
    return tree


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _file_of(module: str) -> Path:
    place = ROOT.joinpath(*module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def _is_module(name: str) -> bool:
    return _file_of(name).exists()
