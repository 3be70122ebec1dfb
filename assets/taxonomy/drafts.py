"""Trees that are being made: the nodes of `schema.py`, changed leaf by leaf and written as the files that people edit.

Induction, refinement and accepted proposals all end here, and what is written is read back through the same strict
schema. A node is named by its dotted id, as in `tree.py`.
"""

import hashlib
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from assets.taxonomy.schema import LANGUAGES, MIN_CHINESE, MIN_EXAMPLES, Entry, TaxonomyError, read_branch
from assets.taxonomy.terms import is_chinese

Branches = tuple[Entry, ...]

_NOT_AN_ID: Final = re.compile(r"[^a-z0-9]+")
_LONGEST_ID: Final = 48
_LISTS: Final = ("examples", "counter_examples", "synonyms")


class SetIn(yaml.SafeDumper):  # type: ignore[misc]
    """Lists are set in from the key that holds them, as in the files of the default tree."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Always one step further in."""
        super().increase_indent(flow, False)


def read_branches(folder: Path) -> Branches:
    """The branches of a taxonomy's folder, with their inner nodes.

    Raises:
        FileNotFoundError: the folder holds no YAML file.
        TaxonomyError: a file does not follow the schema.
    """
    paths = sorted(path for path in folder.glob("*.yaml") if path.is_file())
    if not paths:
        raise FileNotFoundError(f"{folder} holds no taxonomy: it needs one .yaml file per level-1 branch")
    faults: list[str] = []
    branches = [entry for path in paths if (entry := read_branch(path, faults))]
    if faults:
        raise TaxonomyError(faults)
    return tuple(branches)


def write_branches(branches: Branches, folder: Path) -> list[Path]:
    """Write a file per branch and read it back.

    Raises:
        ValueError: the folder holds YAML files already.
        TaxonomyError: what was to be written does not follow the schema; nothing is left in the folder.
    """
    require_free_folder(folder)
    was_there = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{branch.id}.yaml" for branch in branches]
    for branch, path in zip(branches, paths, strict=True):
        path.write_text(as_yaml(branch), encoding="utf-8")
    try:
        read_branches(folder)
    except TaxonomyError:
        for path in paths:
            path.unlink()
        if not was_there:
            shutil.rmtree(folder)
        raise
    return paths


def require_free_folder(folder: Path) -> None:
    """Refuse a folder that no tree can be written into; asked before anything is worked out for it.

    Raises:
        ValueError: it holds YAML files already, or it, or what it is to lie in, is a file.
    """
    if any(folder.glob("*.yaml")):
        raise ValueError(f"{folder} holds a taxonomy already: give an empty folder, or move it away")
    if blocking := next((place for place in (folder, *folder.parents) if place.is_file()), None):
        raise ValueError(f"{blocking} is a file: a tree needs a folder")


def as_yaml(branch: Entry) -> str:
    """One branch as the text of its file."""
    return str(yaml.dump(fields_of(branch), Dumper=SetIn, allow_unicode=True, sort_keys=False, width=120))


def fields_of(entry: Entry, above: tuple[str, ...] = LANGUAGES) -> dict[str, Any]:
    """A node as the mapping that stands in its file; languages are written where they differ from those above."""
    names = {"en": entry.name_en, "zh": entry.name_zh}
    made: dict[str, Any] = {"id": entry.id}
    if entry.languages != above:
        made["languages"] = list(entry.languages)
    made |= {"name": {key: names[key] for key in entry.languages}, "definition": entry.definition}
    if entry.ours:
        made["ours"] = True
    if entry.children:
        made["children"] = [fields_of(child, entry.languages) for child in entry.children]
    else:
        made |= {name: list(getattr(entry, name)) for name in _LISTS}
    return made


def leaves_of(branches: Iterable[Entry]) -> dict[str, Entry]:
    """The leaves by dotted id, in the order of the files."""
    return dict(_leaves(branches, ""))


def with_leaf(branches: Branches, parent: str, leaf: Entry) -> Branches:
    """The tree with one more leaf under an inner node.

    Raises:
        ValueError: no inner node has that id, or it has a child of the leaf's id.
    """
    first, _, rest = parent.partition(".")
    for i, entry in enumerate(branches):
        if entry.id == first and entry.children:
            if rest:
                children = with_leaf(entry.children, rest, leaf)
            elif leaf.id in {child.id for child in entry.children}:
                raise ValueError(f"{parent} has a child {leaf.id!r} already: give the new leaf another id")
            else:
                children = (*entry.children, leaf)
            return (*branches[:i], replace(entry, children=children), *branches[i + 1 :])
    inner = ", ".join(sorted(entry.id for entry in branches if entry.children)) or "none"
    raise ValueError(f"no inner node {parent!r} to put {leaf.id!r} under; inner nodes here: {inner}")


def without_leaf(branches: Branches, dotted: str) -> Branches:
    """The tree without a leaf; inner nodes that lose their last child go too."""
    first, _, rest = dotted.partition(".")
    made: list[Entry] = []
    for entry in branches:
        if entry.id != first:
            made.append(entry)
        elif rest:
            children = without_leaf(entry.children, rest)
            made += [replace(entry, children=children)] if children else []
    return tuple(made)


def with_changed(branches: Branches, dotted: str, leaf: Entry) -> Branches:
    """The tree with a leaf in place of another."""
    first, _, rest = dotted.partition(".")
    changed = (
        entry
        if entry.id != first
        else replace(entry, children=with_changed(entry.children, rest, leaf))
        if rest
        else leaf
        for entry in branches
    )
    return tuple(changed)


def languages_of(examples: Sequence[str]) -> tuple[str, ...]:
    """The languages that a leaf with these examples can state."""
    chinese = sum(map(is_chinese, examples))
    if chinese == len(examples):
        return ("zh",)
    return LANGUAGES if chinese >= MIN_CHINESE else ("en",)


def is_enough(examples: Sequence[str]) -> bool:
    """Whether these are as many examples as the schema asks of a leaf."""
    return len(examples) >= MIN_EXAMPLES


def id_of(words: Sequence[str], taken: Iterable[str] = ()) -> str:
    """An id from telling words: lower case with underscores, unlike those taken; a hash where no letter is left."""
    text = _NOT_AN_ID.sub("_", "_".join(words).casefold()).strip("_")[:_LONGEST_ID].strip("_")
    if not text or text == "other" or not text[0].isalpha():
        text = f"intent_{hashlib.blake2b(' '.join(words).encode(), digest_size=4).hexdigest()}"
    used, number, found = set(taken), 2, text
    while found in used:
        found, number = f"{text}_{number}", number + 1
    return found


def _leaves(entries: Iterable[Entry], prefix: str) -> Iterator[tuple[str, Entry]]:
    for entry in entries:
        dotted = f"{prefix}.{entry.id}".strip(".")
        if entry.children:
            yield from _leaves(entry.children, dotted)
        else:
            yield dotted, entry
