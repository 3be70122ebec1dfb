"""Two versions of the tree as typed changes: rename, move, split, merge, addition, removal, definition edit.

Ids and meanings tell most of it: a leaf with an equal meaning is the same leaf, whatever it is called and wherever it
stands; of the rest, an equal id is the same leaf with another definition. Whether a leaf that is gone was split, merged
or renamed and edited at once nobody can read off them: that is proposed, and counts once a migration file confirms it.
The Other of a node follows its node.

Source: pipeline stage 2; ids never change their meaning.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from assets.taxonomy.changes import Change, Diff, Kind
from assets.taxonomy.guesses import likely_causes
from assets.taxonomy.migration import Entry, Said, check_entries
from assets.taxonomy.stored import node_of, nodes_of, other_of
from assets.taxonomy.tree import Leaf, Taxonomy

_ORDER = list(Kind)


def diff(before: Taxonomy, after: Taxonomy, entries: Sequence[Entry] = ()) -> Diff:
    """What happened between two versions of the tree.

    Args:
        before: the version that the labels are of.
        after: the version wanted.
        entries: what migration files say of this pair; only what is confirmed counts.

    Raises:
        MigrationError: a confirmed entry does not fit the trees.
    """
    check_entries(entries, before, after)
    confirmed = [entry for entry in entries if entry.confirmed]
    old, new = ({leaf.id: leaf for leaf in tree.leaves} for tree in (before, after))
    links = _links(before, after, confirmed)
    nodes = _nodes(before, after, links.same)
    follows = links.same | {leaf: entry.after[0] for entry in links.merges for leaf in entry.before}
    follows |= _others(before, after, nodes, follows)
    targets = {*links.same.values(), *(leaf for entry in confirmed for leaf in entry.after)}
    gone = [leaf for leaf in before.real() if leaf.id not in follows and leaf.id not in links.split]
    added = [leaf for leaf in after.real() if leaf.id not in targets]
    edited = [new[b] for a, b in links.same.items() if old[a].meaning != new[b].meaning]
    guesses = tuple(_unsaid(likely_causes(gone, added, edited), entries))
    lost = [leaf for leaf in before.leaves if leaf.is_other and leaf.id not in follows]
    changes = [
        *_renamed_nodes(nodes, before),
        *_same_leaves(links.same, nodes, old, new, absorbed=links.absorbed),
        *_of_others(before, follows, old, new, nodes),
        *(Change(Kind(str(entry.kind)), entry.before, entry.after) for entry in (*links.merges, *links.splits)),
        *(Change(Kind.REMOVAL, (leaf.id,), (), note=_hint(leaf.id, guesses)) for leaf in gone),
        *(Change(Kind.REMOVAL, (leaf.id,), (), note="its node is gone") for leaf in lost),
        *(Change(Kind.ADDITION, (), (leaf.id,), note=_hint(leaf.id, guesses)) for leaf in added),
    ]
    ordered = sorted(changes, key=lambda c: (_ORDER.index(c.kind), c.before, c.after))
    return Diff(before, after, tuple(ordered), follows, nodes, guesses)


class _Links(NamedTuple):
    """Real leaves of both trees that belong together."""

    same: dict[str, str]
    """Leaves that go on as one."""
    merges: list[Entry]
    splits: list[Entry]

    @property
    def split(self) -> set[str]:
        """Leaves that were split."""
        return {leaf for entry in self.splits for leaf in entry.before}

    @property
    def absorbed(self) -> set[str]:
        """Leaves after whose new meaning a merge or a split accounts for."""
        return {leaf for entry in (*self.merges, *self.splits) for leaf in entry.after}


def _links(before: Taxonomy, after: Taxonomy, confirmed: Sequence[Entry]) -> _Links:
    merges = [entry for entry in confirmed if entry.kind is Said.MERGE]
    splits = [entry for entry in confirmed if entry.kind is Said.SPLIT]
    same = {entry.before[0]: entry.after[0] for entry in confirmed if entry.kind is Said.RENAME}
    spoken = {leaf for entry in confirmed for leaf in entry.before}
    free = {leaf.id: leaf.meaning for leaf in before.real() if leaf.id not in spoken}
    renamed = set(same.values())
    open_ = {leaf.id: leaf.meaning for leaf in after.real() if leaf.id not in renamed}
    same |= {leaf: leaf for leaf, meaning in free.items() if open_.get(leaf) == meaning}
    by_meaning = {meaning: leaf for leaf, meaning in open_.items() if leaf not in same}
    for leaf, meaning in free.items():
        if leaf not in same and meaning in by_meaning:
            same[leaf] = by_meaning.pop(meaning)
    taken = set(same.values())
    same |= {leaf: leaf for leaf in free if leaf not in same and leaf in open_ and leaf not in taken}
    return _Links(same, merges, splits)


def _nodes(before: Taxonomy, after: Taxonomy, same: Mapping[str, str]) -> dict[str, str]:
    """Where each node lives on: under its own id, or where all its leaves that go on have gone."""
    there = nodes_of(after)
    found = {}
    for node in sorted(nodes_of(before)):
        if node in there:
            found[node] = node
        elif (heir := _heir(node, same, there)) is not None:
            found[node] = heir
    return found


def _heir(node: str, same: Mapping[str, str], there: frozenset[str]) -> str | None:
    under = {a: b for a, b in same.items() if a.startswith(f"{node}.")}
    rests = [(a.removeprefix(node), b) for a, b in under.items()]
    heirs = {b.removesuffix(rest) for rest, b in rests if b.endswith(rest)} & there
    if len(heirs) != 1:
        return None
    heir = heirs.pop()
    return heir if all(b.startswith(f"{heir}.".lstrip(".")) for b in under.values()) else None


def _others(before: Taxonomy, after: Taxonomy, nodes: Mapping[str, str], follows: Mapping[str, str]) -> dict[str, str]:
    """The Other of every node that goes on, or that was merged into one leaf of its own id."""
    leaves = {leaf.id for leaf in after.leaves}
    found = {}
    for node in nodes_of(before):
        if node in nodes:
            found[other_of(node)] = other_of(nodes[node])
        elif node in leaves and any(b == node for a, b in follows.items() if a.startswith(f"{node}.")):
            found[other_of(node)] = node
    return found


def _renamed_nodes(nodes: Mapping[str, str], before: Taxonomy) -> Iterator[Change]:
    known = nodes_of(before)
    for node, heir in nodes.items():
        if node != heir and not _goes_with_its_node(node, heir, nodes):
            moved = heir in known or node.rpartition(".")[2] == heir.rpartition(".")[2]
            yield Change(Kind.MOVE if moved else Kind.RENAME, (node,), (heir,), is_node=True)


def _goes_with_its_node(ident: str, heir: str, nodes: Mapping[str, str]) -> bool:
    up = nodes.get(node_of(ident))
    return up is not None and f"{up}.{ident.rpartition('.')[2]}".strip(".") == heir


def _same_leaves(
    same: Mapping[str, str],
    nodes: Mapping[str, str],
    old: Mapping[str, Leaf],
    new: Mapping[str, Leaf],
    *,
    absorbed: set[str],
) -> Iterator[Change]:
    for a, b in same.items():
        if a != b and not _goes_with_its_node(a, b, nodes):
            moved = a.rpartition(".")[2] == b.rpartition(".")[2]
            yield Change(Kind.MOVE if moved else Kind.RENAME, (a,), (b,))
        elif _names(old[a]) != _names(new[b]):
            yield Change(Kind.RENAME, (a,), (b,), note="names only")
        if old[a].meaning != new[b].meaning and b not in absorbed:
            yield Change(Kind.EDIT, (a,), (b,))


def _of_others(
    before: Taxonomy,
    follows: Mapping[str, str],
    old: Mapping[str, Leaf],
    new: Mapping[str, Leaf],
    nodes: Mapping[str, str],
) -> Iterator[Change]:
    """Edits of a node's own definition, which its Other repeats; another list of siblings is none."""
    into_another = {a for a, b in nodes.items() if a != b and b in nodes_of(before)}
    for leaf in before.leaves:
        heir = new.get(follows.get(leaf.id, ""))
        if not leaf.is_other or heir is None or not heir.is_other or node_of(leaf.id) in into_another:
            continue
        if leaf.definition != heir.definition:
            yield Change(Kind.EDIT, (leaf.id,), (heir.id,), note="the definition of its node")
        elif leaf.id == heir.id and _names(leaf) != _names(heir):
            yield Change(Kind.RENAME, (leaf.id,), (heir.id,), note="names of its node only")


def _unsaid(guesses: Sequence[Entry], entries: Sequence[Entry]) -> Iterator[Entry]:
    """Guesses that no entry contradicts; an entry that is there and not confirmed takes the place of a guess."""
    waiting = [entry for entry in entries if not entry.confirmed]
    spoken = {leaf for entry in waiting for leaf in entry.before}
    yield from waiting
    yield from (guess for guess in guesses if not spoken & set(guess.before))


def _hint(leaf: str, guesses: Sequence[Entry]) -> str:
    for guess in guesses:
        if leaf in (*guess.before, *guess.after):
            said = f"{', '.join(guess.before)} -> {', '.join(guess.after)}"
            return f"not confirmed as {guess.kind} {said}: counts as removal and addition"
    return ""


def _names(leaf: Leaf) -> tuple[str, str]:
    return leaf.name_en, leaf.name_zh
