"""What code a process runs, as one hash: so that changed code trains anew and two models never share a version.

The hash covers a module and all that it imports from our own packages, as parsed: comments, docstrings and layout do
not count. Nothing is imported to find it out.
"""

import ast
import hashlib
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
    digests: dict[str, str] = {}
    known, pending = {module}, [module]
    while pending:
        name = pending.pop()
        imports, digests[name] = _parsed(_file_of(name).read_text(encoding="utf-8"))
        new = {other for other in imports - known if other.partition(".")[0] in packages}
        known |= new
        pending += filter(_is_module, new)
    text = "\n".join(f"{name} {digest}" for name, digest in sorted(digests.items()))
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


@cache  # what several modules import is parsed once: loading the definitions asks for the hashes of all of them
def _parsed(text: str) -> tuple[frozenset[str], str]:
    """Modules that a text may import, and the hash of its tree."""
    words: list[str] = []
    imports: set[str] = set()
    _walk(ast.parse(text), words, imports)
    return frozenset(imports), hashlib.blake2b("\n".join(words).encode(), digest_size=8).hexdigest()


def _walk(node: ast.AST, words: list[str], imports: set[str]) -> None:
    """Write the tree without its docstrings as words, and note what it imports; `ast.walk` and `ast.dump` in one."""
    words.append(type(node).__name__)
    imports.update(_imported_by(node))
    for field in node._fields:
        value = getattr(node, field, None)
        parts = value if isinstance(value, list) else [value]
        if field == "body":
            parts = [part for part in parts if not _is_text(part)]
        words.append(str(len(parts)))
        for part in parts:
            if isinstance(part, ast.AST):
                _walk(part, words, imports)
            else:
                words.append(repr(part))


def _imported_by(node: ast.AST) -> list[str]:
    """Modules that one statement may import; a name imported from a package may be a module or not."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def _is_text(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _file_of(module: str) -> Path:
    place = ROOT.joinpath(*module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def _is_module(name: str) -> bool:
    return _file_of(name).exists()
