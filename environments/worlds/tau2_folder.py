"""Where a tau2 domain lies in a folder, and its database and policy as read from there.

Source: tau2-bench's layout, `data/tau2/domains/DOMAIN/{tasks.json,split_tasks.json,policy.md,db.json}`.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

_UNDER = ("", "tasks/tau2", "data/tau2/domains", "tau2/domains")
HOW = (
    "give a checkout of tau2-bench, its data/tau2/domains, or a folder with DOMAIN/db.json, DOMAIN/policy.md and "
    "DOMAIN/tasks.json"
)


def domain_folder(folder: Path, domain: str) -> Path:
    """The folder of one domain.

    Args:
        folder: a tau2-bench checkout, its `data/tau2/domains`, a folder of domains, or the domain's own, of any name.
        domain: `retail` or `airline`.

    Raises:
        FileNotFoundError: there is none, or its database is missing; the message says what to give.
    """
    places = [*(folder / under / domain for under in _UNDER), folder]
    found = [p for p in places if (p.name == domain or p == folder) and (p / "policy.md").is_file()]
    if not found:
        raise FileNotFoundError(f"{folder} holds no tau2 domain {domain!r} (policy.md, db.json); {HOW}")
    if not (found[0] / "db.json").is_file():
        raise FileNotFoundError(f"{found[0] / 'db.json'} is missing (it may lie in Git LFS: `git lfs pull`); {HOW}")
    return found[0].resolve()


def read_documents(folder: Path, kinds: Sequence[str]) -> dict[str, Mapping[str, dict[str, Any]]]:
    """The documents of a domain by kind and key.

    Raises:
        ValueError: the file is no JSON, or lacks a kind.
    """
    content = read_json(folder / "db.json")
    if not isinstance(content, dict) or (missing := [k for k in kinds if not isinstance(content.get(k), dict)]):
        lacking = ", ".join(missing) if isinstance(content, dict) else "an object"
        raise ValueError(f"{folder / 'db.json'} lacks {lacking}; it must hold {', '.join(kinds)}, each by key")
    return {kind: content[kind] for kind in kinds}


@cache
def read_policy(folder: Path) -> str:
    """The policy of a domain."""
    return (folder / "policy.md").read_text(encoding="utf-8")


def read_json(path: Path) -> Any:
    """What a JSON file holds.

    Raises:
        ValueError: it is no JSON; the message names the file and the place.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not valid JSON: {error}") from error
