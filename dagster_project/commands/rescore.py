"""`loopwright rescore`: what another verifier, judge or rubric changes, and the stored episodes graded by it.

Nothing is played and nothing is trained. With `--dry-run` nothing is written either: that is how a swap is looked at
before it is made.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import polars as pl
import typer

from assets.benchmarks.rescoring import (
    NIGHTLY,
    PROBES,
    Effects,
    Journal,
    effects,
    journals,
    regraded,
    stored_tasks,
    write_rescored,
)
from assets.tasks.judging import ANSWERS, may_not_gate
from assets.tasks.judging import TABLE as GRADES
from dagster_project import profiles
from dagster_project.commands.console import clear_errors, say, warn
from dagster_project.commands.summary import columns
from environments.judge import Judge
from environments.judges.llm import LlmJudge
from environments.judges.programmatic import ProgrammaticJudge
from environments.policies.replay import Replay
from environments.rollout import result_key
from environments.task import Task
from environments.verifier import Verifier
from environments.verifiers.composed import verifier_for
from environments.verifiers.rubric import RUBRICS, Rubrics
from environments.world import WorldPool
from environments.worlds.catalogue import world_maker
from resources.lake import Lake
from resources.registry import Outcome, Registry
from training.rescoring import WAYS, Rescored

_EVERY_S = 10.0
_MOST = 20


class JudgeName(StrEnum):
    """Who grades by rubrics."""

    PROGRAMMATIC = "programmatic"
    LLM = "llm"


class _Swap(NamedTuple):
    """What episodes are graded by."""

    judge: Judge
    rubrics: Rubrics
    ask: str | None
    """Rubric that is asked of every solvable task without one, to see what that would change."""

    def verifier_of(self, tasks: Iterable[Task]) -> Verifier:
        """The verifier for these tasks."""
        return verifier_for(tasks, self.judge, self.rubrics)

    def asked(self, tasks: Mapping[str, Task]) -> dict[str, Task]:
        """The tasks as they are graded, by the id that they are stored under."""
        if self.ask is None:
            return dict(tasks)
        changed = {"rubric": self.ask}
        return {
            i: t.model_copy(update=changed) if t.rubric is None and t.goal.reason is None else t
            for i, t in tasks.items()
        }


def rescore(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, write nothing.")] = False,
    judge: Annotated[
        JudgeName, typer.Option(help="Who grades; `llm` is the profile's [judge].")
    ] = JudgeName.PROGRAMMATIC,
    rubric: Annotated[Path, typer.Option(help="Folder of rubrics.")] = RUBRICS,
    ask: Annotated[str | None, typer.Option(help="With --dry-run: ask this rubric of tasks that name none.")] = None,
) -> None:
    """Grade stored episodes by the verifier, judge and rubrics of now; show which rows, tasks and policies change."""
    with clear_errors():
        lake, registry = Lake(root=str(profiles.home() / "lake")), Registry(url=profiles.registry_url())
        swap = _swap(lake, judge, rubric, ask, dry_run=dry_run)
        tasks, pool = stored_tasks(lake), WorldPool(world_maker("atlas"))
        found = journals(lake)
        if not found:
            raise ValueError(
                f"no stage under {lake.root} has left episodes yet: make some first, for example loopwright demo"
            )
        asked = swap.asked(tasks)
        due = [one for one in found if swap.ask is not None or _is_due(one, asked, pool, swap)]
        say(_keys_text(found, due))
        if not due:
            return
        if not dry_run:
            _require_a_judge_above_its_bar(lake, asked.values(), swap)
        graded = regraded(due, asked, pool, swap.verifier_of, _progress())
        _say_effects(effects(lake, registry, graded, tasks))
        if dry_run:
            say("\nNothing was written. Without --dry-run the re-scored episodes are written beside their stages.")
            return
        written = write_rescored(lake, graded)
        _record(registry, graded)
    say(f"\n{len(written)} files written, one per key: {', '.join(sorted({p.parent.name for p in written}))}")


def _swap(lake: Lake, judge: JudgeName, rubric: Path, ask: str | None, *, dry_run: bool) -> _Swap:
    rubrics = Rubrics(rubric.expanduser())
    if ask is not None and not dry_run:
        raise ValueError(
            "--ask changes what tasks are, so it only goes with --dry-run; to keep it, name the rubric in the tasks"
        )
    if ask is not None:
        rubrics.named(ask)
    if judge is JudgeName.PROGRAMMATIC:
        return _Swap(ProgrammaticJudge(), rubrics, ask)
    client = profiles.endpoint_of("judge").client(lake.folder(ANSWERS), purse="rescore")  # where its grading keeps them
    return _Swap(LlmJudge(client), rubrics, ask)


def _is_due(one: Journal, tasks: Mapping[str, Task], pool: WorldPool, swap: _Swap) -> bool:
    """Whether the stage's episodes were graded under another key than the one of now."""
    mine = [tasks[i] for i in sorted(set(one.episodes["task_id"])) if i in tasks]
    now = result_key(Replay([], one.key), pool, swap.verifier_of(mine)).model_copy(update={"user": one.key.user})
    return now != one.key


def _require_a_judge_above_its_bar(lake: Lake, tasks: Iterable[Task], swap: _Swap) -> None:
    """Refuse to write rewards that come from a judge that may not gate data.

    Raises:
        ValueError: the judge is below its bar, or was never graded as it is now.
    """
    asking = [task for task in tasks if task.rubric is not None]
    refused = may_not_gate(asking, lake.read(GRADES), swap.judge.version, swap.rubrics) if asking else {}
    if refused:
        told = "; ".join(f"{name}: {why}" for name, why in refused.items())
        raise ValueError(
            f"nothing is written: a judge below its bar may not gate data ({told}). --dry-run shows what it says"
        )


def _progress() -> Callable[[int, int], None]:
    """A line now and then, with done, total, rate and time left."""
    begun = last = time.monotonic()

    def told(done: int, total: int) -> None:
        """Say how far it is."""
        nonlocal last
        now = time.monotonic()
        if now - last >= _EVERY_S and done:
            last, rate = now, done / (now - begun)
            warn(f"{done:,} of {total:,} episodes, {rate:,.0f}/s, {(total - done) / rate:,.0f} s left")

    return told


def _keys_text(found: Sequence[Journal], due: Sequence[Journal]) -> str:
    counts = {stage: 0 for stage in dict.fromkeys(one.stage for one in found)}
    waiting = dict(counts)
    for one in found:
        counts[one.stage] += len(one.episodes)
    for one in due:
        waiting[one.stage] += len(one.episodes)
    rows = [("stage", "episodes", "to grade again")]
    rows += [(stage, f"{counts[stage]:,}", f"{waiting[stage]:,}" if waiting[stage] else "none") for stage in counts]
    ended = "" if due else "\nEvery verdict was reached by the verifier, judge and rubrics of now: nothing to re-score."
    return columns(rows) + ended


def _say_effects(found: Effects) -> None:
    say("\nVERDICTS: what becomes of stored attempts")
    wide = found.verdicts.pivot("way", index="stage", values="episodes", aggregate_function="sum")
    head = [way.replace("_", " ") for way in WAYS]
    say(
        columns(
            [("stage", *head), *((row[0], *(f"{n:,}" for n in row[1:])) for row in wide.select("stage", *WAYS).rows())]
        )
    )
    say("\nTRAJECTORIES: tasks whose kept trajectory is another one")
    _say_counts(found.trajectories, "change")
    say("\nFRONTIER TASKS: probed tasks that stand elsewhere")
    moves = pl.concat_str(
        pl.col("region").fill_null("not probed"), pl.lit(" -> "), pl.col("would_be").fill_null("not probed")
    )
    _say_counts(found.tasks.with_columns(move=moves), "move")
    say("\nCHECKPOINTS: policies, and why they would be other ones")
    rows = [("stage", "version", "rows consumed", "of them changed", "")]
    for stage, version, consumed, changed, because in found.checkpoints.rows():
        rows.append((stage, version, f"{consumed:,}", f"{changed:,}", because or "stays"))
    say(columns(rows))


def _say_counts(frame: pl.DataFrame, column: str) -> None:
    """How many rows of each stage changed how, the most frequent first."""
    counts = frame.group_by("stage", column).len().sort("stage", "len", column, descending=[False, True, False])
    if counts.is_empty():
        say("  none")
        return
    say(columns([("stage", column, "tasks"), *((s, c, f"{n:,}") for s, c, n in counts.head(_MOST).rows())]))


def _record(registry: Registry, graded: Mapping[str, Sequence[Rescored]]) -> None:
    """Bring re-scored probes to the capability ledger, under their own keys."""
    for stage, found in graded.items():
        for one in found if stage in (*PROBES, NIGHTLY) else ():
            registry.record_result_key(one.key)
            rows = one.after.select("task_id", "attempt", "status", "reward").rows()
            registry.record_outcomes(
                [Outcome(stage, one.key.digest, i, n, one.key.policy, s, r) for i, n, s, r in rows]
            )
