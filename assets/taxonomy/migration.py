"""Migration files: what a person says of two versions of the tree that ids and meanings alone cannot tell.

`loopwright taxonomy diff A B --write` writes a draft in which every entry says `confirmed: false`; a person reads it,
changes what is wrong and confirms what is right. Read as strictly as the tree's own files (`schema.py`): a fault names
file, line and field. What is not confirmed counts as a removal beside an addition.

    from: 0f3c...                 # version of the tree before
    to: 91ab...                   # version of the tree after
    changes:
      - kind: split               # rename (the same intent, renamed and edited), split or merge
        from: [travel.stay]
        into: [travel.stay.book, travel.stay.cancel]
        confirmed: true
"""

import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import polars as pl
import yaml
from ruamel.yaml import YAML

from assets.taxonomy.schema import NodeReader, read_nodes
from assets.taxonomy.stored import version_of
from assets.taxonomy.tree import Taxonomy
from resources.lake import Lake

FOLDER: Final = "migrations"
"""Folder of the migration files, beside the tree's own files."""
MIGRATIONS: Final = "taxonomy/migrations"
_STORED: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "before": pl.String,
    "after": pl.String,
    "kind": pl.String,
    "from": pl.List(pl.String),
    "into": pl.List(pl.String),
    "confirmed": pl.Boolean,
    "where": pl.String,
}
_FILE: Final = {"from", "to", "changes"}
_ENTRY: Final = {"kind", "from", "into", "confirmed"}


class MigrationError(ValueError):
    """Migration files do not follow the schema or do not fit the trees; one fault per line."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("the migration has faults:\n" + "\n".join(f"  {fault}" for fault in faults))
        self.faults = list(faults)


class Said(StrEnum):
    """What an entry of a migration file can say."""

    RENAME = "rename"
    """One leaf got another id and another meaning, and is still the same intent."""
    SPLIT = "split"
    """One leaf became several."""
    MERGE = "merge"
    """Several leaves became one, which is new or was there before."""


@dataclass(frozen=True)
class Entry:
    """One statement of a migration file."""

    kind: Said
    before: tuple[str, ...]
    """Leaves of the tree before."""
    after: tuple[str, ...]
    """Leaves of the tree after."""
    confirmed: bool = False
    where: str = ""
    """File and line."""


@dataclass(frozen=True)
class Migration:
    """What one file says of the way from one version of the tree to another."""

    before: str
    """Version of the tree (`stored.version_of`)."""
    after: str
    entries: tuple[Entry, ...]


def read_migrations(folder: Path) -> tuple[Migration, ...]:
    """Every migration file of a folder, in the order of their names; none where there is no folder.

    Raises:
        MigrationError: a file does not follow the schema; every fault is named with file, line and field.
    """
    faults = [f"{path}: rename it, a migration file ends in .yaml" for path in sorted(folder.glob("*.yml"))]
    found = [_read(path, faults) for path in sorted(folder.glob("*.yaml")) if path.is_file()]
    if faults:
        raise MigrationError(faults)
    return tuple(migration for migration in found if migration is not None)


def entries_for(migrations: Sequence[Migration], before: str, after: str) -> tuple[Entry, ...]:
    """What the files say of the way between two versions, in their order."""
    return tuple(entry for m in migrations if (m.before, m.after) == (before, after) for entry in m.entries)


def said_of(migrations: Sequence[Migration], before: Taxonomy, after: Taxonomy) -> tuple[Entry, ...]:
    """What the files say of the way between two trees.

    Beside the files of exactly these two, what was confirmed of the way from the first to another tree still holds as
    far as it fits and they do not speak of the same leaves: a word corrected, or another leaf split, after a split was
    confirmed does not undo it. The newest file counts.
    """
    first, second = version_of(before), version_of(after)
    olds, news = ({leaf.id for leaf in tree.real()} for tree in (before, after))
    held = list(entries_for(migrations, first, second))
    elsewhere = [m for m in reversed(migrations) if m.before == first and m.after != second]
    for entry in (entry for m in elsewhere for entry in reversed(m.entries) if entry.confirmed):
        named = {leaf for other in held for leaf in other.before}
        gone = not news & (set(entry.before) - set(entry.after))
        if gone and olds >= set(entry.before) and news >= set(entry.after) and not named & set(entry.before):
            held.append(entry)
    return tuple(held)


def check_entries(entries: Sequence[Entry], before: Taxonomy, after: Taxonomy) -> None:
    """Refuse confirmed entries that the trees contradict.

    Raises:
        MigrationError: a leaf that is not in its tree, is named twice, or is too many or too few for the kind of entry.
    """
    confirmed = [entry for entry in entries if entry.confirmed]
    olds, news = ({leaf.id for leaf in tree.real()} for tree in (before, after))
    times = Counter(leaf for entry in confirmed for leaf in entry.before)
    faults = []
    for entry in confirmed:
        for field, named, known, tree in (("from", entry.before, olds, "before"), ("into", entry.after, news, "after")):
            absent = [leaf for leaf in named if leaf not in known]
            faults += [f"{entry.where}: {field}: {leaf!r} is no leaf of the tree {tree}" for leaf in absent]
        again = sorted(leaf for leaf in entry.before if times[leaf] > 1)
        faults += [f"{entry.where}: from: {leaf!r} is named by another entry too" for leaf in again]
        if entry.kind is Said.RENAME and entry.after[0] in olds:
            faults.append(f"{entry.where}: into: {entry.after[0]!r} was there before: say merge")
    if faults:
        raise MigrationError(faults)


def write_draft(folder: Path, before: str, after: str, proposed: Sequence[Entry]) -> Path | None:
    """Write down what a person must confirm of the way between two versions; what is written already stays as it is.

    A file of these two versions that is there gets the entries that it lacks, and keeps its comments.

    Args:
        folder: of the migration files; made if absent.
        before: version of the tree before.
        after: version of the tree after.
        proposed: as `diff` proposes them; those read from a file have their place.

    Returns:
        The file that was written; None where nothing was to be added.

    Raises:
        MigrationError: a file of the folder does not follow the schema.
    """
    unwritten = [entry for entry in proposed if not entry.where]
    if not unwritten:
        return None
    known = entries_for(read_migrations(folder), before, after)
    if known:
        path = folder / known[-1].where.rpartition(":")[0]
        path.write_text(_with_entries(path.read_text(encoding="utf-8"), unwritten), encoding="utf-8")
        return path
    folder.mkdir(exist_ok=True)
    path = next_file(folder)
    path.write_text(draft(before, after, unwritten), encoding="utf-8")
    return path


def draft(before: str, after: str, entries: Sequence[Entry]) -> str:
    """The text of a migration file for a person to read and confirm."""
    listed = [_listed(entry) for entry in entries]
    head = "# A draft: set `confirmed: true` where an entry is right. Kinds: rename, split, merge (see migration.py).\n"
    content = {"from": before, "to": after, "changes": listed}
    return f"{head}{yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)}"


def next_file(folder: Path) -> Path:
    """Where the next migration file of a folder goes: `NNNN.yaml`."""
    numbers = [int(path.stem) for path in folder.glob("*.yaml") if path.stem.isdigit()]
    return folder / f"{max(numbers, default=0) + 1:04d}.yaml"


def migrations_frame(migrations: Sequence[Migration]) -> pl.DataFrame:
    """Migrations as stored in the lake, one row per entry, for the stages that do not see the tree's folder."""
    rows = [
        (m.before, m.after, str(e.kind), list(e.before), list(e.after), e.confirmed, e.where)
        for m in migrations
        for e in m.entries
    ]
    return pl.DataFrame(rows, schema=_STORED, orient="row")


def stored_migrations(lake: Lake) -> tuple[Migration, ...]:
    """The migrations that lay beside the tree when it was last read; none where it never was."""
    if not lake.exists(MIGRATIONS):
        return ()
    found = []
    for before, after, kind, olds, news, confirmed, where in lake.read(MIGRATIONS).iter_rows():
        found.append(Migration(before, after, (Entry(Said(kind), tuple(olds), tuple(news), confirmed, where),)))
    return tuple(found)


def _listed(entry: Entry) -> dict[str, Any]:
    """An entry as it stands in a file."""
    before, after = list(entry.before), list(entry.after)
    return {"kind": str(entry.kind), "from": before, "into": after, "confirmed": entry.confirmed}


def _with_entries(text: str, entries: Sequence[Entry]) -> str:
    """A migration file with more entries at its end."""
    editor = YAML()
    editor.preserve_quotes, editor.width = True, 120
    content = editor.load(text)
    content["changes"] += [_listed(entry) for entry in entries]
    written = io.StringIO()
    editor.dump(content, written)
    return written.getvalue()


def _read(path: Path, faults: list[str]) -> Migration | None:
    root = read_nodes(path, faults, needed=_FILE, what="a migration")
    if root is None:
        return None
    reader = NodeReader(path.name, faults)
    fields = reader.mapping(root, "migration")
    reader.complete(root, "migration", fields, _FILE, optional=set())
    before, after = (reader.text(fields.get(name), name) for name in ("from", "to"))
    listed = reader.items(fields.get("changes"), "changes")
    return Migration(before, after, tuple(_entry(reader, node, f"changes[{i}]") for i, node in enumerate(listed)))


def _entry(reader: NodeReader, node: yaml.Node, place: str) -> Entry:
    fields = reader.mapping(node, place)
    reader.complete(node, place, fields, _ENTRY, optional=set())
    before, after = (reader.texts(fields.get(name), f"{place}.{name}") for name in ("from", "into"))
    kind = _kind(reader, fields.get("kind"), f"{place}.kind")
    one_before, one_after = kind is not Said.MERGE, kind is not Said.SPLIT
    for name, leaves, one in (("from", before, one_before), ("into", after, one_after)):
        if kind is not None and leaves and (len(leaves) == 1) != one:
            needed = "one leaf" if one else "two leaves or more"
            reader.fault(fields[name], f"{place}.{name}", f"a {kind} needs {needed}, not {len(leaves)}")
    confirmed = reader.flag(fields.get("confirmed"), f"{place}.confirmed")
    return Entry(kind or Said.RENAME, before, after, confirmed, reader.at(node))


def _kind(reader: NodeReader, node: Any, field: str) -> Said | None:
    """What an entry says; None, with a fault, where it says nothing that is known."""
    text: str = reader.text(node, field)
    if text and text not in set(Said):
        reader.fault(node, field, f"{text!r} is not known; allowed: {', '.join(Said)}")
    return Said(text) if text in set(Said) else None
