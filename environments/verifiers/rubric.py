"""Rubrics: three dimensions with weights by task type, as data files; the score is their weighted mean.

A file under `rubrics/` is one rubric: its weights and what is asked in each dimension. Its version is a hash of its
content, so that a changed word is another rubric.

Source: AMAP report (three dimensions, weights depend on the type of task; the numbers are ours); TravelBench's judge.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from environments.episode import Dimension
from environments.judge import Grade, Question, Rated
from environments.verifiers.eval_tree import TreeNode, TreeRubric, read_tree, require_reachable

RUBRICS: Final = Path(__file__).parent / "rubrics"
KINDS: Final = ("reasoning", "fidelity", "service")
"""Reasoning and proactive planning; information fidelity and integration; presentation and service loop."""


class RubricDimension(BaseModel):
    """One dimension of a rubric."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    weight: float = Field(gt=0, le=1)
    asks: str = Field(min_length=20)
    """What is asked, with what each end of the scale means."""


class Rubric(BaseModel):
    """One rubric, as its file has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    task_type: str
    dimensions: dict[str, RubricDimension]
    essential: tuple[str, ...] = ()
    """Dimensions that make the score 0 where they are at their worst: good manners alone earn nothing. Ours."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if set(self.dimensions) != set(KINDS):
            raise ValueError(f"dimensions must be {', '.join(KINDS)}, got {', '.join(self.dimensions)}")
        if not math.isclose(total := math.fsum(d.weight for d in self.dimensions.values()), 1.0):
            raise ValueError(f"weights must sum to 1, got {total:g}")
        if strange := set(self.essential) - set(KINDS):
            raise ValueError(f"essential must be among {', '.join(KINDS)}, got {', '.join(sorted(strange))}")
        return self

    @property
    def version(self) -> str:
        """Hash of the rubric's content."""
        return hashlib.blake2b(self.model_dump_json().encode(), digest_size=8).hexdigest()

    @property
    def questions(self) -> tuple[Question, ...]:
        """One question per dimension, in the order of `KINDS`."""
        return tuple(Question(kind, self.dimensions[kind].asks.strip(), kind=kind) for kind in KINDS)

    def rated(self, grades: Sequence[Grade]) -> Rated:
        """Score and dimensions from the grades of `questions`, in their order."""
        graded = zip(KINDS, grades, strict=True)
        found = tuple(Dimension(kind, g.score, self.dimensions[kind].weight, g.reason) for kind, g in graded)
        if any(d.name in self.essential and d.score <= 0 for d in found):
            return Rated(0.0, found)
        score = 1.0 if all(g.is_perfect for g in grades) else math.fsum(d.weight * d.score for d in found)
        return Rated(score, found)


class Rubrics:
    """The rubrics of a folder by name: `NAME.yaml` has dimensions, `NAME.json` is an eval tree."""

    def __init__(self, folder: Path = RUBRICS) -> None:
        """Read every rubric of `folder`.

        Raises:
            FileNotFoundError: there is none.
            ValueError: one is broken; the message names file and field.
        """
        files = sorted((*folder.glob("*.yaml"), *folder.glob("*.json")))
        if not files:
            raise FileNotFoundError(f"{folder} holds no rubric (NAME.yaml or NAME.json)")
        read = {file.stem: _read(file) for file in files}
        if len(read) < len(files):
            raise ValueError(f"{folder}: two rubrics of one name; names: {', '.join(f.name for f in files)}")
        self.by_name: Mapping[str, Rubric | TreeRubric] = read

    @cached_property
    def version(self) -> str:
        """Hash of them all: a key is of a verifier, and a verifier grades by any of them."""
        text = json.dumps({name: rubric.version for name, rubric in sorted(self.by_name.items())})
        return "rubrics-" + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def named(self, name: str) -> Rubric | TreeRubric:
        """The rubric that a task names.

        Raises:
            ValueError: there is none of that name.
        """
        if name not in self.by_name:
            raise ValueError(f"no rubric named {name!r}; there are: {', '.join(sorted(self.by_name))}")
        return self.by_name[name]


def _read(file: Path) -> Rubric | TreeRubric:
    if file.suffix == ".json":
        return TreeRubric(_reachable(file))
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError(f"{file}: a rubric is a mapping with task_type and dimensions, got {content!r:.60}")
        if content.get("name", file.stem) != file.stem:
            raise ValueError(f"{file}: a rubric is named as its file is, got name {content['name']!r}: leave it out")
        return Rubric.model_validate({**content, "name": file.stem})
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: no text in UTF-8: {error}") from error
    except yaml.YAMLError as error:
        raise ValueError(f"{file}: no YAML: {error}") from error
    except ValidationError as error:
        causes = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ValueError(f"{file}: {causes}") from error


def _reachable(file: Path) -> TreeNode:
    root = read_tree(file)
    try:
        require_reachable(root)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    return root
