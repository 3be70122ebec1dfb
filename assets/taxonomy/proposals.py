"""Proposed leaves as files that people read, edit and decide on: one YAML per proposal.

A person decides by `loopwright taxonomy review`, or by writing `status: accepted` or `status: refused` into the file;
names, definition and examples may be edited before. What was decided stays in the folder: a cluster that overlaps with
a refused or an accepted one is not proposed again.

Source: pipeline stage 2 (expansion, accepted or refused by a person); bottom-k sketches (Cohen and Kaplan 2007).
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assets.taxonomy.drafts import SetIn, is_enough, languages_of
from assets.taxonomy.schema import MIN_EXAMPLES, Entry, not_yaml, read_nodes
from training.durable import write_durably

SKETCH: Final = 128
"""Member ids kept of a cluster: the smallest, which is a random sample, for ids are hashes."""
SAME: Final = 0.5
"""Ours: overlap from which two clusters are the same one."""


class Status(StrEnum):
    """What became of a proposal."""

    PROPOSED = "proposed"
    """Nobody has decided."""
    ACCEPTED = "accepted"
    """To be written into the tree, or written (`written: true`)."""
    REFUSED = "refused"
    """Not to be proposed again."""


class ProposalError(ValueError):
    """A proposal file cannot be read, or asks for what cannot be done."""


class Names(BaseModel):
    """A leaf's name in both languages."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    en: str = Field(min_length=1)
    zh: str = Field(min_length=1)


class Expected(BaseModel):
    """How many queries the leaf would hold, of how many, in a log like this one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    queries: int
    low: int
    high: int
    of: int


class Proposal(BaseModel):
    """A leaf that somebody should decide on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Status
    written: bool = False
    """Whether the leaf stands in the tree."""
    parent: str
    """Dotted inner node; empty for a branch of its own."""
    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    name: Names
    definition: str = Field(min_length=1)
    expected: Expected
    examples: tuple[str, ...] = Field(min_length=MIN_EXAMPLES)
    counter_examples: tuple[str, ...] = Field(min_length=1)
    synonyms: tuple[str, ...] = Field(min_length=1)
    members: tuple[str, ...] = ()
    """The smallest query ids of the cluster, by which it is known again."""

    @property
    def key(self) -> str:
        """Names the proposal on the command line and its file."""
        return ".".join(part for part in (self.parent, self.id) if part)

    def leaf(self, taken: Sequence[str] = ()) -> Entry:
        """The proposal as a leaf, without examples that other leaves have.

        Raises:
            ProposalError: too few examples are left.
        """
        owned = {text.casefold() for text in taken}
        examples = tuple(text for text in self.examples if text.casefold() not in owned)
        if not is_enough(examples):
            raise ProposalError(
                f"{self.key}: {len(self.examples) - len(examples)} of its examples are examples of leaves of the tree; "
                f"{len(examples)} are left, {MIN_EXAMPLES} are needed: add some to the proposal's file"
            )
        return Entry(
            self.id,
            self.name.en,
            self.name.zh,
            self.definition,
            where="",
            examples=examples,
            counter_examples=self.counter_examples,
            synonyms=self.synonyms,
            languages=languages_of(examples),
        )


class Kept(NamedTuple):
    """What could be written of several proposals; one that could not does not hold up the others."""

    done: list[Proposal]
    failed: Mapping[str, OSError | ProposalError]
    """Key -> why, of those that are as they were before."""


def read_proposals(folder: Path) -> list[Proposal]:
    """Every proposal of a folder, by key; none where there is no folder.

    Raises:
        ProposalError: a file is no proposal; every fault is named with file and field.
    """
    faults: list[str] = []
    found = [one for path in sorted(folder.glob("*.yaml")) if (one := _read(path, faults))]
    if faults:
        raise ProposalError("proposals have faults:\n" + "\n".join(f"  {fault}" for fault in faults))
    return sorted(found, key=lambda one: one.key)


def write_proposal(folder: Path, proposal: Proposal) -> Path:
    """Write a proposal's file, in place of what it was.

    Raises:
        OSError: it cannot be written; what it was is untouched.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{proposal.key}.yaml"
    fields: dict[str, Any] = proposal.model_dump(mode="json")
    head = "# Edit what you like; then set status to accepted or refused, and run `loopwright taxonomy review`.\n"
    text = yaml.dump(fields, Dumper=SetIn, allow_unicode=True, sort_keys=False, width=120)
    write_durably(path, head + text)
    return path


def decide(folder: Path, keys: Sequence[str], status: Status) -> Kept:
    """Set the status of proposals.

    Raises:
        ProposalError: no proposal has a key, or it is written into the tree already.
    """
    known = {one.key: one for one in read_proposals(folder)}
    if unknown := sorted(set(keys) - set(known)):
        there = ", ".join(sorted(known)) or "none"
        raise ProposalError(f"no proposal {', '.join(unknown)} in {folder}; there are: {there}")
    if written := sorted(key for key in keys if known[key].written and status is not Status.ACCEPTED):
        raise ProposalError(f"{', '.join(written)} is in the tree already: remove the leaf there instead")
    done: list[Proposal] = []
    failed: dict[str, OSError | ProposalError] = {}
    for key in dict.fromkeys(keys):
        changed = known[key].model_copy(update={"status": status})
        try:
            write_proposal(folder, changed)
            done.append(changed)
        except OSError as error:
            failed[key] = error
    return Kept(done, failed)


def sketch(query_ids: Sequence[str]) -> tuple[str, ...]:
    """By what a cluster is known again."""
    return tuple(sorted(set(query_ids))[:SKETCH])


def overlap(left: Sequence[str], right: Sequence[str]) -> float:
    """Share of the smaller cluster that lies in the other one, estimated from their sketches."""
    if not left or not right:
        return 0.0
    bound = min(max(left), max(right))
    in_left, in_right = ({i for i in ids if i <= bound} for ids in (left, right))
    return len(in_left & in_right) / max(1, min(len(in_left), len(in_right)))


def known_again(members: Sequence[str], before: Sequence[Proposal]) -> Proposal | None:
    """The former proposal that this cluster is, if any."""
    likeness = [(overlap(members, one.members), one.key, one) for one in before]
    best = max(likeness, key=lambda item: item[:2], default=None)
    return best[2] if best and best[0] >= SAME else None


def _read(path: Path, faults: list[str]) -> Proposal | None:
    root = read_nodes(path, faults, needed={"key", "status"}, what="a proposal")
    if root is None:
        return None
    try:
        return Proposal.model_validate(yaml.SafeLoader("").construct_document(root))
    except ValidationError as error:
        for one in error.errors():
            field = ".".join(map(str, one["loc"])) or "file"
            faults.append(f"{path.name}:{_line_of(root, one['loc'])}: {field}: {one['msg']}")
    except yaml.YAMLError as error:  # for example a key that is a list
        faults.append(f"{path.name}:{not_yaml(error, '')}")
    except ValueError as error:  # for example a day that is none
        faults.append(f"{path.name}: {error}")
    return None


def _line_of(node: yaml.Node, place: Sequence[int | str]) -> int:
    """The line of a field, or of the nearest that is there of those that it stands in."""
    for part in place:
        if isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if key.value == part), node)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            node = node.value[part]
    return int(node.start_mark.line) + 1
