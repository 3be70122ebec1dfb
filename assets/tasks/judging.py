"""Judges are graded: every judge there is, against episodes marked by hand and against gold ones spoiled on purpose.

A judge is above its bar in a dimension where it is on both parts: the spoiled episodes are many and obvious, those
marked by hand are few and not, and rules that were written beside the one say little about the other.

Source: pipeline stage 7 ("a judge below its bar may not gate data"); the bars are ours.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple

import polars as pl

from environments.judge import Grade, Judge
from environments.judges.agreement import Agreement, Compared, agreement, compared
from environments.judges.corrupted import corrupted_episodes
from environments.judges.marked import BY_HAND, Labelled, marked_by_hand
from environments.judges.programmatic import ProgrammaticJudge
from environments.task import Task
from environments.verifiers.rubric import KINDS, Rubric, Rubrics
from training.code import code_of

TABLE: Final = "tasks/judge_grades"
MISSES: Final = "tasks/judge_misses"
ANSWERS: Final = "tasks/judge_answers"
"""What a language model answered, kept for good."""
FIGURES: Final = ("macro_f1", "false_pass", "false_fail", "kappa")
SCHEMA: Final[dict[str, Any]] = {
    "judge": pl.String, "name": pl.String, "rubrics": pl.String, "part": pl.String, "dimension": pl.String,
    "items": pl.Int64, "invalid": pl.Int64, "good": pl.Int64,
    **{f"{figure}{end}": pl.Float64 for figure in FIGURES for end in ("", "_low", "_high")},
    "above_bar": pl.Boolean,
}  # fmt: skip
_MISS_SCHEMA: Final[dict[str, Any]] = {
    "judge": pl.String, "episode": pl.String, "kind": pl.String, "language": pl.String, "dimension": pl.String,
    "good": pl.Boolean, "score": pl.Float64, "reason": pl.String,
}  # fmt: skip


class Bar(NamedTuple):
    """What a judge must reach in each dimension, on each part."""

    macro_f1: float
    """At least."""
    false_pass: float
    """At most."""
    invalid: float
    """Share of questions without a grade, at most."""


class JudgeGrades(NamedTuple):
    """How judges did."""

    table: pl.DataFrame
    """One row per judge, part and dimension."""
    misses: pl.DataFrame
    """Every mark that a judge missed, with its reason."""


def labelled_episodes(per_family: int, seed: int) -> list[Labelled]:
    """Those marked by hand, then the spoiled ones with their gold."""
    return [*marked_by_hand(), *corrupted_episodes(per_family, seed)]


def grade_judges(
    judges: Mapping[str, Judge], labelled: Sequence[Labelled], rubrics: Rubrics, bar: Bar, *, seed: int = 0
) -> JudgeGrades:
    """Ask every judge about every mark.

    Args:
        judges: by name.
        labelled: episodes with marks.
        rubrics: what their tasks name.
        bar: what is asked of a judge.
        seed: of the intervals.
    """
    rows, misses = [], []
    for name, judge in judges.items():
        found = compared(judge, labelled, rubrics)
        for part in (BY_HAND, "spoiled"):
            for dimension in KINDS:
                mine = [one for one in found if one.dimension == dimension and _part_of(one) == part]
                about = {"judge": judge.version, "name": name, "rubrics": rubrics.version, "part": part}
                rows.append({**about, "dimension": dimension, **_figures(mine, bar, seed)})
        misses += [_miss(judge.version, one) for one in found if _is_missed(one)]
    return JudgeGrades(pl.DataFrame(rows, schema=SCHEMA), pl.DataFrame(misses, schema=_MISS_SCHEMA))


def _part_of(one: Compared) -> str:
    return BY_HAND if one.item.kind == BY_HAND else "spoiled"


def _figures(mine: Sequence[Compared], bar: Bar, seed: int) -> dict[str, Any]:
    """The figures of one dimension on one part; nulls, and below the bar, where no grade was given at all."""
    if not any(isinstance(one.grade, Grade) for one in mine):
        return {"items": 0, "invalid": len(mine), "good": 0, "above_bar": False}
    found = agreement(mine, seed=seed)
    ends = {
        f"{figure}{end}": getattr(getattr(found, figure), place)
        for figure in FIGURES
        for end, place in (("", "value"), ("_low", "low"), ("_high", "high"))
    }
    counts = {"items": found.items, "invalid": found.invalid, "good": found.good}
    return {**counts, **ends, "above_bar": _is_above(found, bar)}


def _is_above(found: Agreement, bar: Bar) -> bool:
    share = found.invalid / (found.items + found.invalid)
    return found.macro_f1.value >= bar.macro_f1 and found.false_pass.value <= bar.false_pass and share <= bar.invalid


def _is_missed(one: Compared) -> bool:
    return not isinstance(one.grade, Grade) or one.grade.is_perfect != one.good


def _miss(judge: str, one: Compared) -> dict[str, Any]:
    grade = one.grade
    score, reason = (grade.score, grade.reason) if isinstance(grade, Grade) else (None, grade.cause)
    item = {"episode": one.item.name, "kind": one.item.kind, "language": one.item.language}
    return {"judge": judge, **item, "dimension": one.dimension, "good": one.good, "score": score, "reason": reason}


def may_not_gate(tasks: Iterable[Task], grades: pl.DataFrame, judge: str, rubrics: Rubrics) -> dict[str, str]:
    """Rubrics that tasks name and that `judge` may not grade, with the reason.

    Args:
        tasks: whose rewards would come from the judge.
        grades: table of `grade_judges`.
        judge: version of the one that would grade them.
        rubrics: as they are now.
    """
    mine = grades.filter((pl.col("judge") == judge) & (pl.col("rubrics") == rubrics.version))
    low = sorted(set(mine.filter(~pl.col("above_bar"))["dimension"]))
    found = {}
    for name in sorted({task.rubric for task in tasks if task.rubric is not None}):
        if not isinstance(rubrics.named(name), Rubric):
            found[name] = "an eval tree: no labelled leaves tell how well a judge grades it"
        elif mine.is_empty():
            found[name] = f"the judge {judge} was never graded by these rubrics: materialize {TABLE}"
        elif low:
            found[name] = f"the judge is below its bar in {', '.join(low)}"
    return found


def version_of_grading() -> str:
    """Hash of everything that decides the table but its settings and language models."""
    marked = [files("environments.judges").joinpath(f"marked_{one}.yaml").read_bytes() for one in ("en", "zh")]
    parts = (ProgrammaticJudge().version, Rubrics().version, code_of("environments.judges.corrupted"))
    digest = hashlib.blake2b("\n".join(parts).encode(), digest_size=6)
    for text in marked:
        digest.update(text)
    return digest.hexdigest()
