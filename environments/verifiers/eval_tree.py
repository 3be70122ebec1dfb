"""Eval trees for open tasks: leaves met or not, parents the weighted mean of their children.

Weights count among siblings only, so the root's has no effect, and siblings whose weights sum to 0 make a parent of 0.
A leaf without a grade leaves the whole tree without a result, because ours are never zeros; `missing="zero"` is
PaperBench's rule, where such a leaf is a zero that still counts and says `valid_score: false`.

Source: PaperBench (openai/frontier-evals), `TaskNode` and `GradedTaskNode`; files are read and written in its shape.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from environments.episode import Dimension
from environments.judge import MET, Grade, NoGrade, Question, Rated

CATEGORIES: Final = ("Code Development", "Code Execution", "Result Analysis", "Subtree")
_GRADED: Final = ("score", "valid_score", "explanation", "judge_metadata")


class TreeNode(BaseModel):
    """A requirement, with its parts or as a leaf; fields that it does not know are kept."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    requirements: str
    weight: int | float = Field(ge=0)
    sub_tasks: "tuple[TreeNode, ...]" = ()
    task_category: str | None = None
    finegrained_task_category: str | None = None

    @model_validator(mode="after")
    def _has_a_category_only_as_a_leaf(self) -> Self:
        if self.sub_tasks and self.task_category is not None:
            raise ValueError(f"node {self.id}: only a leaf has a task_category, this one has sub_tasks")
        if self.task_category is not None and self.task_category not in CATEGORIES:
            allowed = ", ".join(CATEGORIES)
            raise ValueError(f"node {self.id}: task_category {self.task_category!r} is none of {allowed}")
        if not math.isfinite(self.weight):
            raise ValueError(f"node {self.id}: weight must be finite, got {self.weight}")
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether it is graded itself."""
        return not self.sub_tasks

    def leaves(self) -> "Iterator[TreeNode]":
        """Every leaf, from left to right."""
        if self.is_leaf:
            yield self
        for part in self.sub_tasks:
            yield from part.leaves()

    def nodes(self) -> "Iterator[TreeNode]":
        """This node and all below it."""
        yield self
        for part in self.sub_tasks:
            yield from part.nodes()


class GradedTree(NamedTuple):
    """A tree whose leaves have all been graded."""

    score: float
    """Of the root, in [0, 1]."""
    tree: dict[str, Any]
    """In PaperBench's shape, each node with score, valid_score, explanation and judge_metadata."""
    invalid: int
    """Leaves that counted as zeros for want of a grade."""


class Ungraded(NamedTuple):
    """A tree without a result, and the leaves for whose sake."""

    missing: dict[str, str]
    """Leaf -> cause."""


def read_tree(path: Path) -> TreeNode:
    """The tree of a `rubric.json`.

    Raises:
        ValueError: no JSON of that shape, or an id that comes twice.
    """
    try:
        return tree_of(json.loads(path.read_text(encoding="utf-8")))
    except RecursionError as error:
        raise ValueError(f"{path}: nested too deeply to be read; flatten the tree") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def tree_of(content: Mapping[str, Any]) -> TreeNode:
    """The tree of parsed JSON.

    Raises:
        ValueError: it has another shape, or an id comes twice.
    """
    try:
        root = TreeNode.model_validate(content)
    except ValidationError as error:
        causes = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ValueError(causes) from error
    ids = Counter(node.id for node in root.nodes())
    if twice := sorted(name for name, count in ids.items() if count > 1):
        raise ValueError(f"ids must be distinct; these come twice: {', '.join(twice[:5])}")
    return root


def require_reachable(root: TreeNode) -> None:
    """Refuse a tree that even perfect work could not fulfil: as a rubric it would make zeros of our own mistake.

    Raises:
        ValueError: a part that counts has parts whose weights sum to 0, or to more than can be told.
    """
    for node in root.nodes():
        total = sum(part.weight for part in node.sub_tasks)
        if node.sub_tasks and not 0 < total < math.inf:
            raise ValueError(
                f"node {node.id}: the weights of its sub_tasks sum to {total:g}, so that no work fulfils it; give one "
                "of them a weight above 0, or take the node out"
            )


def written(root: TreeNode) -> dict[str, Any]:
    """The tree as JSON again: what was read comes back as it was."""
    return root.model_dump(mode="json", exclude_unset=True)


def pruned(root: TreeNode, categories: Sequence[str]) -> TreeNode | None:
    """The tree with leaves of these categories only (`code_only` keeps Code Development); None where none is left."""
    if root.is_leaf:
        return root if root.task_category in categories else None
    kept = tuple(part for one in root.sub_tasks if (part := pruned(one, categories)) is not None)
    return root.model_copy(update={"sub_tasks": kept}) if kept else None


def graded(
    root: TreeNode, grades: Mapping[str, Grade | NoGrade], *, missing: Literal["no_result", "zero"] = "no_result"
) -> GradedTree | Ungraded:
    """The score of a tree from the grades of its leaves.

    Args:
        root: the tree.
        grades: by leaf id; a leaf is met by a perfect grade only.
        missing: what a leaf without a grade makes: no result at all, or a zero as PaperBench has it.
    """
    absent = {leaf.id: _cause(grades.get(leaf.id)) for leaf in root.leaves() if not _is_graded(grades, leaf)}
    if absent and missing == "no_result":
        return Ungraded(absent)
    tree = _graded(root, grades)
    return GradedTree(float(tree["score"]), tree, len(absent))


def _is_graded(grades: Mapping[str, Grade | NoGrade], leaf: TreeNode) -> bool:
    return isinstance(grades.get(leaf.id), Grade)


def _cause(found: Grade | NoGrade | None) -> str:
    return found.cause if isinstance(found, NoGrade) else "not asked"


def _graded(node: TreeNode, grades: Mapping[str, Grade | NoGrade]) -> dict[str, Any]:
    own = node.model_dump(mode="json", exclude={"sub_tasks", *_GRADED})
    parts = [_graded(part, grades) for part in node.sub_tasks]
    if node.is_leaf:
        found = grades.get(node.id)
        valid = isinstance(found, Grade)
        score = float(isinstance(found, Grade) and found.is_perfect)
        told = found.reason if isinstance(found, Grade) else _cause(found)
    else:
        total = math.fsum(part["weight"] for part in parts)
        score = math.fsum(part["weight"] * part["score"] for part in parts) / total if total else 0.0
        valid, told = True, "weighted mean of the parts"
    verdict = {"score": score, "valid_score": valid, "explanation": told, "judge_metadata": None}
    return {**own, "sub_tasks": parts, **verdict}


def shares(root: TreeNode) -> dict[str, float]:
    """What part of the root's score each leaf carries; they sum to 1 but where sibling weights are all 0."""
    found: dict[str, float] = {}

    def spread(node: TreeNode, share: float) -> None:
        """Hand the share of a node down."""
        if node.is_leaf:
            found[node.id] = share
        total = math.fsum(part.weight for part in node.sub_tasks)
        for part in node.sub_tasks:
            spread(part, share * part.weight / total if total else 0.0)

    spread(root, 1.0)
    return found


@dataclass(frozen=True)
class TreeRubric:
    """An eval tree as the rubric of a task: its leaves are the questions, its root's score the rubric's."""

    root: TreeNode

    @cached_property
    def version(self) -> str:
        """Hash of the tree's content."""
        text = json.dumps(written(self.root), sort_keys=True, ensure_ascii=False)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    @property
    def questions(self) -> tuple[Question, ...]:
        """One question per leaf; what stands above it is told along, for a leaf may not be clear alone."""
        return tuple(_questions(self.root, ()))

    def rated(self, grades: Sequence[Grade]) -> Rated:
        """Score and leaves from the grades of `questions`, in their order."""
        names = [question.name for question in self.questions]
        found = dict(zip(names, grades, strict=True))
        tree = graded(self.root, found)
        assert isinstance(tree, GradedTree), "every leaf has a grade here"
        weights = shares(self.root)
        leaves = (Dimension(n, float(g.is_perfect), weights[n], g.reason) for n, g in found.items())
        return Rated(tree.score, tuple(leaves))


def _questions(node: TreeNode, above: tuple[str, ...]) -> Iterator[Question]:
    if node.is_leaf:
        told = "".join(f"It is part of: {requirement}\n" for requirement in above)
        yield Question(node.id, f"{told}Is this requirement met? {node.requirements}", grades=MET)
    for part in node.sub_tasks:
        yield from _questions(part, (*above, node.requirements))
