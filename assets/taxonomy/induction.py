"""A tree from queries that nobody has labelled: leaves are clusters, level 1 is what their centres gather into.

Embedded: clusters over embeddings, as many as their silhouette says, named by their most telling words; expert tags,
where there are any, start a cluster each, hold their queries together and give it their name. With a teacher,
`teacher.py` names and defines what was found here and says which clusters belong under one heading. Either way the
result is the files that `tree.py` reads. What is too small to be a leaf is listed, not lost: it belongs to an Other.

Source: pipeline stage 2 (induction of level 1 from a seed set, expert tags); class-based tf-idf for names.

Shapes: N queries, D dimensions, K clusters.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assets.taxonomy import clustering
from assets.taxonomy.clustering import UNTAGGED, Clusters, Points
from assets.taxonomy.drafts import Branches, id_of, is_enough, languages_of
from assets.taxonomy.schema import MIN_CHINESE, MIN_EXAMPLES, Entry
from assets.taxonomy.terms import is_chinese, telling_words

EXAMPLES: Final = 10
"""Ours: examples written into a leaf."""
_SURE: Final = 0.6
"""Ours: share of a cluster's tagged queries that must have one tag for the cluster to take its name."""


class Induced(NamedTuple):
    """A tree, and where each query went."""

    branches: Branches
    leaf: dict[str, str | None]
    """Dotted leaf of each query; None for those of clusters too small to be a leaf."""
    clusters: Clusters
    """The clusters behind the leaves; rows are the queries in alphabetical order."""

    @property
    def left_over(self) -> list[str]:
        """Queries that are in no leaf."""
        return sorted(query for query, leaf in self.leaf.items() if leaf is None)


class _Group(NamedTuple):
    """A cluster on its way to become a leaf."""

    name: str
    synonyms: tuple[str, ...]
    examples: tuple[str, ...]
    centre_D: Points


def induce(
    texts: Sequence[str],
    vectors_ND: NDArray[np.float32],
    *,
    tags: Mapping[str, str] | None = None,
    least: int = 2,
    most: int | None = None,
    seed: int = 0,
) -> Induced:
    """Induce a tree of two levels; the order of the queries changes nothing.

    Args:
        texts: distinct queries.
        vectors_ND: their unit vectors.
        tags: an expert's tag for some of the queries; dotted tags name a branch too.
        least: smallest number of clusters tried.
        most: largest number of clusters tried.
        seed: of the first centres.

    Raises:
        ValueError: there are too few queries, one stands there twice, or no cluster is large enough for a leaf.
    """
    if len(texts) < 2 * MIN_EXAMPLES or len(set(texts)) != len(texts):
        raise ValueError(
            f"induction needs {2 * MIN_EXAMPLES} distinct queries or more, got {len(texts)}, {len(set(texts))} distinct"
        )
    order_N = np.array(sorted(range(len(texts)), key=lambda i: texts[i]))
    sorted_texts = sorted(texts)
    found = cluster_queries(sorted_texts, vectors_ND[order_N], tags=tags, least=least, most=most, seed=seed)
    made = tree_of(sorted_texts, found, tags=tags or {})
    if not made.branches:
        raise ValueError(
            f"none of {len(found.centres_KD)} clusters over {len(texts)} queries has the {MIN_EXAMPLES} of a leaf: "
            "give more queries, or a smaller largest number of clusters"
        )
    return made


def cluster_queries(
    texts: Sequence[str],
    vectors_ND: NDArray[np.float32],
    *,
    tags: Mapping[str, str] | None = None,
    least: int = 2,
    most: int | None = None,
    seed: int = 0,
) -> Clusters:
    """Clusters of queries given in alphabetical order, each language seen from its own middle."""
    names = sorted(set((tags or {}).values()))
    number = {name: i for i, name in enumerate(names)}
    tag_N = np.array([number[tags[text]] if tags and text in tags else UNTAGGED for text in texts])
    return clustering.best_clusters(by_language(texts, vectors_ND), tag_N=tag_N, least=least, most=most, seed=seed)


def by_language(texts: Sequence[str], vectors_ND: NDArray[np.float32]) -> Points:
    """Unit vectors seen from the middle of their language, so that languages do not gather by themselves."""
    points_ND = np.array(vectors_ND, dtype=np.float32)
    chinese_N = np.array([is_chinese(text) for text in texts])
    for rows_N in (chinese_N, ~chinese_N):
        if rows_N.sum() > 1:
            points_ND[rows_N] = clustering.centred(points_ND[rows_N])
    return points_ND


def tree_of(texts: Sequence[str], found: Clusters, *, tags: Mapping[str, str]) -> Induced:
    """Leaves from clusters, and level 1 from the leaves' centres; a dotted tag decides its leaf's branch itself."""
    words = telling_words(texts, found.cluster_N.tolist())
    groups: dict[int, _Group] = {}
    _, first = np.unique([text.casefold() for text in texts], return_index=True)
    first_N = np.isin(np.arange(len(texts)), first)
    for cluster in range(len(found.centres_KD)):
        rows_N = np.flatnonzero(found.cluster_N == cluster)
        own_N = rows_N[first_N[rows_N]]
        examples = examples_of([texts[int(i)] for i in own_N], found.silhouette_N[own_N])
        if is_enough(examples):
            tag = _tag_of([tags[texts[i]] for i in rows_N.tolist() if texts[i] in tags])
            name = tag or " ".join(words[cluster][:3])
            groups[cluster] = _Group(name, tuple(words[cluster]), examples, found.centres_KD[cluster])
    branches, dotted = _branches(groups)
    numbers = found.cluster_N.tolist()
    return Induced(branches, {t: dotted.get(c) for t, c in zip(texts, numbers, strict=True)}, found)


def examples_of(
    texts: Sequence[str], weight_N: Sequence[float] | NDArray[np.float32], most: int = EXAMPLES
) -> tuple[str, ...]:
    """The texts of the largest weight; of two languages, each has a third of them or what there is of it."""
    ranked = [
        t for _, t in sorted((-round(float(w), 5), " ".join(t.split())) for t, w in zip(texts, weight_N, strict=True))
    ]
    parts = [[t for t in ranked if is_chinese(t) == chinese] for chinese in (True, False)]
    assured = [text for part in parts for text in part[: max(MIN_CHINESE, most // 3)]]
    kept = set((assured + [text for text in ranked if text not in set(assured)])[:most])
    return tuple(text for text in ranked if text in kept)


def leaf_of(
    ident: str,
    name: str,
    examples: Sequence[str],
    *,
    synonyms: Sequence[str] = (),
    counter_examples: Sequence[str] = (),
) -> Entry:
    """A leaf as a draft for people to improve: named, described by its words, with examples."""
    listed = tuple(dict.fromkeys(synonyms)) or (name,)
    definition = f"Requests such as {examples[0]!r} or {examples[1]!r}; telling words: {', '.join(listed)}."
    return Entry(
        ident,
        name.replace("_", " "),
        name.replace("_", " "),
        definition,
        where="",
        examples=tuple(examples),
        counter_examples=tuple(counter_examples) or (NOT_YET,),
        synonyms=listed,
        languages=languages_of(examples),
    )


NOT_YET: Final = "(none yet)"
"""Stands where the schema wants a counter-example and there is no leaf to take one from."""


def _tag_of(said: Sequence[str]) -> str | None:
    if not said:
        return None
    tag, votes = min(Counter(said).items(), key=lambda item: (-item[1], item[0]))
    return tag if votes / len(said) >= _SURE else None


def _branches(groups: dict[int, _Group]) -> tuple[Branches, dict[int, str]]:
    """Branches of the groups, and the dotted leaf of each."""
    clusters = list(groups)
    heads = _heads(groups)
    texts = [" ".join(groups[c].synonyms) for c in clusters]
    words = telling_words(texts, [heads[c] for c in clusters], most=3)
    made: list[Entry] = []
    dotted: dict[int, str] = {}
    for head in dict.fromkeys(heads.values()):
        inside = [c for c in clusters if heads[c] == head]
        name = head if isinstance(head, str) else " ".join(words[head])
        branch_id = id_of([name], [b.id for b in made])
        leaves: list[Entry] = []
        for c in inside:
            leaf_name = groups[c].name.rpartition(".")[2]
            ident = id_of([leaf_name], [leaf.id for leaf in leaves])
            beside = _beside(c, groups)
            leaves.append(
                leaf_of(ident, leaf_name, groups[c].examples, synonyms=groups[c].synonyms, counter_examples=beside)
            )
            dotted[c] = f"{branch_id}.{ident}"
        made.append(branch_of(branch_id, name, leaves))
    return _told_apart(tuple(made)), dotted


def _beside(cluster: int, groups: dict[int, _Group]) -> tuple[str, ...]:
    """The first example of the nearest other group: what the leaf is most easily taken for."""
    others = [c for c in groups if c != cluster]
    if not others:
        return ()
    likeness = np.stack([groups[c].centre_D for c in others]) @ groups[cluster].centre_D
    return groups[others[int(likeness.round(5).argmax())]].examples[:1]


def branch_of(ident: str, name: str, leaves: Sequence[Entry]) -> Entry:
    """A branch over these leaves, in the language that all of them are in; in both where they differ."""
    shown = name.replace("_", " ")
    definition = (
        f"Requests about {', '.join(leaf.name_en for leaf in leaves[:6])}{' and more' if len(leaves) > 6 else ''}."
    )
    common = {leaf.languages for leaf in leaves}
    languages = next(iter(common)) if len(common) == 1 else ("en", "zh")
    return Entry(ident, shown, shown, definition, where="", children=tuple(leaves), languages=languages)


def _heads(groups: dict[int, _Group]) -> dict[int, int | str]:
    """What each group belongs under: the branch that its tag names, or the number of the group of centres it is in."""
    named: dict[int, int | str] = {c: g.name.partition(".")[0] for c, g in groups.items() if "." in g.name}
    free = [c for c in groups if c not in named]
    if free:
        number_K = clustering.groups_of_centres(np.stack([groups[c].centre_D for c in free]))
        named |= {c: int(k) for c, k in zip(free, number_K, strict=True)}
    return named


def _told_apart(branches: Branches) -> Branches:
    """Branches in the order of their ids, leaves in the order of theirs."""
    ordered = (replace(b, children=tuple(sorted(b.children, key=lambda leaf: leaf.id))) for b in branches)
    return tuple(sorted(ordered, key=lambda b: b.id))
