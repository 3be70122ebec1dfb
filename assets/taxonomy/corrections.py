"""Corrections of a tree: what feedback gives rise to a split, merge, move or rename, and its effect.

Experts count first. Where several of their tags meet in one leaf it is split, where two leaves mean one tag they are
merged, a dotted tag of another branch moves its leaf, a tag that most agree on renames it, and a query under the wrong
leaf becomes an example of the right one. Without tags, leaves whose queries lie nearer to other leaves are split or
merged. A leaf takes part in one correction of its shape per round, so that each round can be read by a person.

Source: pipeline stage 2 (Tag - Feedback - Correction).

Shapes: N queries, D dimensions.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from assets.taxonomy import clustering
from assets.taxonomy.clustering import Points
from assets.taxonomy.drafts import (
    Branches,
    id_of,
    is_enough,
    languages_of,
    leaves_of,
    with_changed,
    with_leaf,
    without_leaf,
)
from assets.taxonomy.induction import examples_of, leaf_of
from assets.taxonomy.schema import MIN_EXAMPLES, Entry
from assets.taxonomy.terms import telling_words

SPLIT, MERGE, MOVE, RENAME, EXAMPLE = "split", "merge", "move", "rename", "example"
_SURE: Final = 0.6
"""Ours: share of a leaf's tagged queries that one tag must have to speak for the leaf."""
_PART: Final = 0.2
"""Ours: share of a leaf's tagged queries that make a tag a leaf of its own."""
_LEAST_TAGGED: Final = 3
_MOST_PARTS: Final = 4
_COHERENT: Final = 0.1
"""Ours: mean silhouette that the parts of a split must reach."""


class Correction(NamedTuple):
    """One change of the tree."""

    kind: str
    leaf: str
    """Dotted leaf that is changed; for a merge the one that goes."""
    into: str
    """Where: the leaf merged into, the branch moved to, the new name, or the leaf that gains an example."""
    queries: tuple[str, ...] = ()
    """Queries behind it: of a split, those of the new leaf."""


class Labelled(NamedTuple):
    """Queries under the current tree, in alphabetical order."""

    texts: list[str]
    leaf: list[str]
    points_ND: Points
    silhouette_N: np.ndarray
    tags: Mapping[str, str]

    def rows(self, leaf: str) -> np.ndarray:
        """Rows labelled with a leaf."""
        return np.flatnonzero(np.array(self.leaf) == leaf)


def proposed(branches: Branches, labelled: Labelled) -> list[Correction]:
    """Corrections that the feedback gives rise to, at most one of the shape of each leaf."""
    leaves = leaves_of(branches)
    found: list[Correction] = []
    touched: set[str] = set()
    by_tags = (_merges_by_tag, _splits_by_tag, _moves_by_tag, _renames_by_tag)
    by_shape = () if labelled.tags else (_merges_by_shape, _splits_by_shape)
    steps: tuple[Callable[[dict[str, Entry], Labelled], Iterator[Correction]], ...] = (*by_tags, *by_shape)
    for step in steps:
        for one in step(leaves, labelled):
            shape = {one.leaf, one.into} if one.kind == MERGE else {one.leaf}
            if not shape & touched:
                touched |= shape
                found.append(one)
    return found + list(_examples_by_tag(leaves, labelled))


def corrected(branches: Branches, corrections: list[Correction], labelled: Labelled) -> Branches:
    """The tree after these corrections; one that a former correction made impossible is passed over."""
    for one in corrections:
        if one.leaf in leaves_of(branches):
            branches = _EFFECT[one.kind](branches, one, labelled)
    return branches


def leaf_of_tag(tag: str, leaves: Mapping[str, Entry]) -> str | None:
    """The leaf that a tag names: by its dotted id, its own id, its name or a synonym; the first by id."""
    if tag in leaves:
        return tag
    wanted = tag.casefold().replace("_", " ")
    for dotted in sorted(leaves):
        entry = leaves[dotted]
        names = (entry.id.replace("_", " "), entry.name_en, entry.name_zh)
        if wanted in {name.casefold() for name in names} or dotted.rpartition(".")[2] == tag:
            return dotted
    return None


def agrees(leaf: str, tag: str, leaves: Mapping[str, Entry]) -> bool:
    """Whether a label is what the tag means."""
    return leaf_of_tag(tag, leaves) == leaf


def _said(labelled: Labelled, leaf: str) -> Counter[str]:
    texts = (labelled.texts[row] for row in labelled.rows(leaf))
    return Counter(labelled.tags[text] for text in texts if text in labelled.tags)


def _main_tag(said: Counter[str]) -> str | None:
    if sum(said.values()) < _LEAST_TAGGED:
        return None
    tag, votes = min(said.items(), key=lambda item: (-item[1], item[0]))
    return tag if votes >= _SURE * said.total() else None


def _merges_by_tag(leaves: dict[str, Entry], labelled: Labelled) -> Iterator[Correction]:
    speaking: dict[str, list[tuple[int, str]]] = {}
    for leaf in leaves:
        said = _said(labelled, leaf)
        if tag := _main_tag(said):
            speaking.setdefault(tag, []).append((said[tag], leaf))
    for tag, found in sorted(speaking.items()):
        own = leaf_of_tag(tag, leaves)
        ranked = sorted(found, key=lambda pair: (pair[1] != own, -pair[0], pair[1]))
        for _, leaf in ranked[1:]:
            yield Correction(MERGE, leaf, ranked[0][1], _texts(labelled, leaf))


def _splits_by_tag(leaves: dict[str, Entry], labelled: Labelled) -> Iterator[Correction]:
    for leaf in leaves:
        said = _said(labelled, leaf)
        total, main = said.total(), _first_tag(said)
        for tag, votes in sorted(said.items()):
            is_part = votes >= max(_LEAST_TAGGED, _PART * total) and tag != main
            if is_part and leaf_of_tag(tag, leaves) is None:
                queries = _like(labelled, leaf, tag)
                left = len(labelled.rows(leaf)) - len(queries)
                if is_enough(queries) and left >= MIN_EXAMPLES:
                    yield Correction(SPLIT, leaf, tag.rpartition(".")[2], queries)
                    break


def _first_tag(said: Counter[str]) -> str | None:
    return min(said, key=lambda tag: (-said[tag], tag)) if said else None


def _like(labelled: Labelled, leaf: str, tag: str) -> tuple[str, ...]:
    """A leaf's queries with this tag, and those without any that lie nearer to them than to the others with a tag."""
    rows = labelled.rows(leaf)
    tagged = [labelled.tags.get(labelled.texts[row]) for row in rows]
    own = np.array([found == tag for found in tagged])
    others = np.array([found is not None and found != tag for found in tagged])
    points = labelled.points_ND[rows]
    centres = clustering.unit(np.stack([points[own].mean(axis=0), points[others].mean(axis=0)]))
    near = (points @ centres.T).argmax(axis=1) == 0
    return tuple(labelled.texts[row] for row in rows[own | (near & ~others)])


def _moves_by_tag(leaves: dict[str, Entry], labelled: Labelled) -> Iterator[Correction]:
    branches = {leaf.partition(".")[0] for leaf in leaves}
    for leaf in leaves:
        tag = _main_tag(_said(labelled, leaf)) or ""
        branch = tag.partition(".")[0]
        if "." in tag and branch in branches and branch != leaf.partition(".")[0] and tag not in leaves:
            yield Correction(MOVE, leaf, branch, _texts(labelled, leaf))


def _renames_by_tag(leaves: dict[str, Entry], labelled: Labelled) -> Iterator[Correction]:
    for leaf in leaves:
        tag = _main_tag(_said(labelled, leaf))
        if tag and leaf_of_tag(tag, leaves) is None:
            yield Correction(RENAME, leaf, tag.rpartition(".")[2].replace("_", " "))


def _examples_by_tag(leaves: dict[str, Entry], labelled: Labelled) -> Iterator[Correction]:
    for text, leaf in zip(labelled.texts, labelled.leaf, strict=True):
        right = leaf_of_tag(labelled.tags[text], leaves) if text in labelled.tags else None
        if right and right != leaf and text not in leaves[right].examples:
            yield Correction(EXAMPLE, right, leaf, (text,))


def _merges_by_shape(leaves: dict[str, Entry], labelled: Labelled) -> Iterator[Correction]:
    """Two leaves most of whose queries lie nearer to the other one."""
    there = sorted(set(labelled.leaf) & set(leaves))
    if len(there) < 3:
        return
    centres = clustering.unit(np.stack([labelled.points_ND[labelled.rows(leaf)].mean(axis=0) for leaf in there]))
    likeness = centres @ centres.T - 2 * np.eye(len(there))
    next_to = likeness.round(5).argmax(axis=1)
    lost = [float((labelled.silhouette_N[labelled.rows(leaf)] < 0).mean()) > 0.5 for leaf in there]
    for i, leaf in enumerate(there):
        other = int(next_to[i])
        if lost[i] and lost[other] and next_to[other] == i and leaf < there[other]:
            yield Correction(MERGE, there[other], leaf, _texts(labelled, there[other]))


def _splits_by_shape(leaves: dict[str, Entry], labelled: Labelled) -> Iterator[Correction]:
    """A leaf whose mean silhouette is below zero, and which falls into parts that hang together."""
    for leaf in leaves:
        rows = labelled.rows(leaf)
        if len(rows) < 2 * MIN_EXAMPLES or float(labelled.silhouette_N[rows].mean()) >= 0:
            continue
        points = clustering.centred(labelled.points_ND[rows])
        parts = clustering.best_clusters(points, most=_MOST_PARTS)
        queries = tuple(labelled.texts[row] for row in rows[parts.cluster_N == 1])
        rest = len(rows) - len(queries)
        if parts.silhouette >= _COHERENT and is_enough(queries) and rest >= MIN_EXAMPLES:
            words = telling_words([labelled.texts[row] for row in rows], (parts.cluster_N == 1).tolist())[True]
            yield Correction(SPLIT, leaf, " ".join(words[:2]), queries)


def _texts(labelled: Labelled, leaf: str) -> tuple[str, ...]:
    return tuple(labelled.texts[row] for row in labelled.rows(leaf))


def _split(branches: Branches, one: Correction, labelled: Labelled) -> Branches:
    leaves = leaves_of(branches)
    parent, old = one.leaf.rpartition(".")[0], leaves[one.leaf]
    owned = {text.casefold() for leaf, entry in leaves.items() if leaf != one.leaf for text in entry.examples}
    weight = dict(zip(labelled.texts, labelled.silhouette_N.tolist(), strict=True))
    free = [text for text in one.queries if text.casefold() not in owned]
    examples = examples_of(free, [weight[text] for text in free])
    gone = {text.casefold() for text in one.queries}
    more = [t for t in _texts(labelled, one.leaf) if t.casefold() not in owned | gone]
    left = tuple(dict.fromkeys((*(t for t in old.examples if t.casefold() not in gone), *more)))[: len(old.examples)]
    if not (is_enough(examples) and is_enough(left)):
        return branches
    siblings = [leaf.rpartition(".")[2] for leaf in leaves if leaf.rpartition(".")[0] == parent]
    new = leaf_of(id_of([one.into], siblings), one.into, examples, synonyms=(one.into,), counter_examples=left[:1])
    changed = with_changed(branches, one.leaf, replace(old, examples=left, languages=languages_of(left)))
    return with_leaf(changed, parent, new)


def _merge(branches: Branches, one: Correction, _: Labelled) -> Branches:
    leaves = leaves_of(branches)
    if one.into not in leaves:
        return branches
    gone, kept = leaves[one.leaf], leaves[one.into]
    examples = tuple(dict.fromkeys((*kept.examples, *gone.examples)))
    synonyms = tuple(dict.fromkeys((*kept.synonyms, gone.name_en, *gone.synonyms)))
    counter = tuple(t for t in kept.counter_examples if t not in examples) or kept.counter_examples
    merged = replace(
        kept, examples=examples, synonyms=synonyms, counter_examples=counter, languages=languages_of(examples)
    )
    return without_leaf(with_changed(branches, one.into, merged), one.leaf)


def _move(branches: Branches, one: Correction, _: Labelled) -> Branches:
    leaf = leaves_of(branches)[one.leaf]
    beside = [entry.id for branch in branches if branch.id == one.into for entry in branch.children]
    return without_leaf(with_leaf(branches, one.into, replace(leaf, id=id_of([leaf.id], beside))), one.leaf)


def _rename(branches: Branches, one: Correction, _: Labelled) -> Branches:
    leaf = leaves_of(branches)[one.leaf]
    synonyms = tuple(dict.fromkeys((*leaf.synonyms, leaf.name_en)))
    return with_changed(branches, one.leaf, replace(leaf, name_en=one.into, name_zh=one.into, synonyms=synonyms))


def _example(branches: Branches, one: Correction, _: Labelled) -> Branches:
    """Give a query to the leaf of its tag, and take it from the one that has it; that one keeps as many as it needs."""
    leaves = leaves_of(branches)
    [text] = one.queries
    owner = next((d for d, e in leaves.items() if text.casefold() in {t.casefold() for t in e.examples}), None)
    if owner == one.leaf:
        return branches
    if owner:
        rest = tuple(t for t in leaves[owner].examples if t.casefold() != text.casefold())
        if not is_enough(rest):
            return branches
        branches = with_changed(branches, owner, replace(leaves[owner], examples=rest, languages=languages_of(rest)))
    right = leaves[one.leaf]
    examples = (*right.examples, text)
    return with_changed(branches, one.leaf, replace(right, examples=examples, languages=languages_of(examples)))


_EFFECT: Final = {SPLIT: _split, MERGE: _merge, MOVE: _move, RENAME: _rename, EXAMPLE: _example}
