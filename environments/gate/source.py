"""The verifier's source, as an attacker may read it, and the words and phrases in it."""

import ast
import inspect
import re
import sys
from functools import lru_cache
from types import ModuleType
from typing import Final

from environments.verifier import Verifier

_OURS: Final = "environments.verifiers"
LONGEST: Final = 80


def source_of(verifier: Verifier) -> str:
    """The module of a verifier and those of `environments.verifiers` that it uses."""
    return _source(type(verifier).__module__)


@lru_cache(maxsize=32)
def _source(name: str) -> str:
    found: dict[str, ModuleType] = {}
    waiting = [name]
    while waiting:
        module = sys.modules[waiting.pop()]
        if module.__name__ in found:
            continue
        found[module.__name__] = module
        used = {
            v.__name__ if isinstance(v, ModuleType) else getattr(v, "__module__", "") for v in vars(module).values()
        }
        waiting += sorted(m for m in used if m and m.startswith(_OURS) and m in sys.modules)
    return "\n".join(inspect.getsource(found[name]) for name in sorted(found))


@lru_cache(maxsize=32)
def literals(source: str) -> tuple[str, ...]:
    """Words and phrases that stand in `source` as texts, patterns spelled out as far as they are plain; sorted."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= LONGEST:
            found.add(node.value)
            found |= set(re.findall(r"[A-Za-z]{2,}", node.value))
    return tuple(sorted(text for text in found if text.strip() and "\n" not in text))
