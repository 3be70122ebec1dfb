"""The taxonomy as people edit it: a YAML file per level-1 branch, read strictly, with an Other under every inner node.

Stands beside the raw log at the head of the pipeline: labels, pools and partitions are named by its leaves. A leaf's
hash is over what it means (definition, examples, counter-examples, synonyms) and not over its name.

Source: AMAP report, four-stage taxonomy (5 level-1, 16 level-2, 30 leaves; a mandatory Other); pipeline law 9.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Final

import polars as pl

from assets.taxonomy.schema import Entry, TaxonomyError, read_branch

OTHER: Final = "other"
"""Id of the child that every inner node has for what fits none of its leaves; `other` alone is the whole tree's."""
_TEXTS: Final = ("leaf", "level1", "level2", "name_en", "name_zh", "definition")
_LISTS: Final = ("examples", "counter_examples", "synonyms")


@dataclass(frozen=True)
class Leaf:
    """An intent at the bottom of the tree."""

    id: str
    """Dotted, for example `discovery.poi_search.constrained_poi_search`; never changes its meaning."""
    name_en: str
    name_zh: str
    definition: str
    examples: tuple[str, ...] = ()
    counter_examples: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    ours: bool = False
    """Whether it is our addition to the source's tree."""
    siblings: tuple[str, ...] = field(default=(), repr=False)
    """For an Other: ids of the nodes beside it."""

    @property
    def is_other(self) -> bool:
        """Whether it stands for what fits none of its siblings."""
        return self.id.rpartition(".")[2] == OTHER

    @property
    def levels(self) -> tuple[str, str]:
        """Ids of its level-1 and level-2 node, without dots."""
        first, *rest = self.id.split(".")
        return first, rest[0] if rest else OTHER

    @property
    def meaning(self) -> str:
        """Hash over what it means; names, order of the lists and white space do not enter."""
        words = {
            "definition": " ".join(self.definition.split()),
            "examples": sorted(self.examples),
            "counter_examples": sorted(self.counter_examples),
            "synonyms": sorted(self.synonyms),
            "siblings": sorted(self.siblings),
        }
        return hashlib.blake2b(json.dumps(words, sort_keys=True).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Taxonomy:
    """All leaves, the Others among them, in the order of the files."""

    leaves: tuple[Leaf, ...]

    def real(self) -> tuple[Leaf, ...]:
        """The leaves that are no Other."""
        return tuple(leaf for leaf in self.leaves if not leaf.is_other)

    def table(self) -> pl.DataFrame:
        """One row per leaf, as stored in `taxonomy/intent_taxonomy`; sorted by leaf."""
        texts = [(leaf.id, *leaf.levels, leaf.name_en, leaf.name_zh, leaf.definition) for leaf in self.leaves]
        lists = {name: [list(getattr(leaf, name)) for leaf in self.leaves] for name in _LISTS}
        table = pl.DataFrame(texts, schema=dict.fromkeys(_TEXTS, pl.String), orient="row")
        more = [pl.Series(name, cells, dtype=pl.List(pl.String)) for name, cells in lists.items()]
        return table.with_columns(*more, pl.Series("leaf_hash", [leaf.meaning for leaf in self.leaves])).sort("leaf")


def load_taxonomy(folder: Path | None = None) -> Taxonomy:
    """Read a taxonomy; the default one without a folder.

    Raises:
        FileNotFoundError: the folder holds no YAML file.
        TaxonomyError: a file does not follow the schema; every fault is named with file, line and field.
    """
    place = folder or default_folder()
    if strange := sorted(path.name for path in place.glob("*.yml")):
        raise TaxonomyError([f"{name}: a branch's file ends in .yaml: rename it" for name in strange])
    paths = sorted(path for path in place.glob("*.yaml") if path.is_file())
    if not paths:
        raise FileNotFoundError(f"{place} holds no taxonomy: it needs one .yaml file per level-1 branch")
    faults: list[str] = []
    branches = [entry for path in paths if (entry := read_branch(path, faults))]
    faults += _repeated(branches)
    if faults:
        raise TaxonomyError(faults)
    return taxonomy_over(branches)


def taxonomy_over(branches: Iterable[Entry]) -> Taxonomy:
    """The leaves of these branches, with an Other under every inner node."""
    whole = Entry("", "anything", "任何请求", "Any request.", where="", children=tuple(branches))
    return Taxonomy(tuple(_leaves(whole, "")))


def default_folder() -> Path:
    """Where the default tree lies."""
    return Path(str(files("assets.taxonomy").joinpath("tree")))


def _leaves(entry: Entry, prefix: str) -> Iterator[Leaf]:
    dotted = f"{prefix}.{entry.id}".strip(".")
    if not entry.children:
        lists = (entry.examples, entry.counter_examples, entry.synonyms)
        yield Leaf(dotted, entry.name_en, entry.name_zh, entry.definition, *lists, ours=entry.ours)
        return
    for child in entry.children:
        yield from _leaves(child, dotted)
    definition = f"Belongs here but to none of the intents beside this one. Here: {entry.definition}"
    names = (f"Other: {entry.name_en}", f"其他：{entry.name_zh}")
    yield Leaf(f"{dotted}.{OTHER}".strip("."), *names, definition, siblings=tuple(c.id for c in entry.children))


def _repeated(branches: list[Entry]) -> list[str]:
    """Faults of the tree as a whole: an id twice under one node, an example under two leaves."""
    faults: list[str] = []
    examples: dict[str, str] = {}
    waiting = [(branches, "")]
    while waiting:
        siblings, prefix = waiting.pop()
        for i, entry in enumerate(siblings):
            dotted = f"{prefix}.{entry.id}".strip(".")
            if entry.id in {other.id for other in siblings[:i]}:
                faults.append(f"{entry.where}: id: {dotted!r} is there twice; ids are unique under one node")
            for example in entry.examples:
                if (owner := examples.setdefault(example.casefold(), dotted)) != dotted:
                    faults.append(f"{entry.where}: examples: {example!r} is an example of {owner} too; keep it in one")
            waiting.append((list(entry.children), dotted))
    return faults
