"""What must hold of the tasks before any of them is sampled."""

import dagster as dg
import polars as pl

from assets import keys
from assets.tasks.admission import ADMISSION_REPORT, GATE_KNOWN, HONEYPOTS, QUARANTINE
from assets.tasks.assets import NOT_COMPILED
from assets.tasks.judging import TABLE as GRADES
from assets.tasks.judging import may_not_gate
from assets.tasks.pool import tasks_of
from environments.judges.programmatic import ProgrammaticJudge
from environments.verifiers.rubric import Rubrics
from resources.lake import Lake


@dg.asset_check(asset=keys.COMPILED_TASKS, blocking=True)
def every_query_compiled_or_says_why(lake: Lake) -> dg.AssetCheckResult:
    """No query is both a task and dropped, and each dropped one names a rule (conservation)."""
    tasks = lake.read("tasks/compiled_tasks")
    dropped = lake.read(NOT_COMPILED)
    compiled = set(tasks.filter(pl.col("origin") == "query")["query_id"].drop_nulls())
    both = compiled & set(dropped["query_id"])
    silent = dropped.filter(pl.col("rule").str.len_chars() == 0)
    passed = not both and silent.is_empty()
    return dg.AssetCheckResult(passed=passed, metadata={"both": len(both), "without_rule": len(silent)})


@dg.asset_check(asset=keys.COMPILED_TASKS, blocking=True)
def no_group_on_two_sides(lake: Lake) -> dg.AssetCheckResult:
    """An original and its variants stand on one side of the hidden line (pipeline law 7)."""
    sides = lake.read("tasks/compiled_tasks").group_by("group").agg(pl.col("split").n_unique())
    torn = sides.filter(pl.col("split") > 1)
    return dg.AssetCheckResult(passed=torn.is_empty(), metadata={"groups": len(sides), "torn": len(torn)})


@dg.asset_check(asset=keys.ADMITTED_TASKS, blocking=True)
def no_quarantined_task_admitted(lake: Lake) -> dg.AssetCheckResult:
    """Admitted and quarantined tasks are disjoint and together are all that compiled."""
    admitted = set(lake.read("tasks/admitted_tasks")["task_id"])
    rejected = set(lake.read(QUARANTINE)["task_id"])
    compiled = set(lake.read("tasks/compiled_tasks")["task_id"])
    passed = not (admitted & rejected) and admitted | rejected == compiled
    return dg.AssetCheckResult(passed=passed, metadata={"admitted": len(admitted), "quarantined": len(rejected)})


@dg.asset_check(asset=keys.ADMITTED_TASKS, blocking=True)
def every_refusal_has_its_twin(lake: Lake) -> dg.AssetCheckResult:
    """Each refusal task stands beside an admitted solvable task of its own split."""
    tasks = lake.read("tasks/admitted_tasks").select("task_id", "split", "twin")
    twins = tasks.filter(pl.col("twin").is_not_null())
    found = twins.join(tasks.select(twin="task_id", twin_split="split"), on="twin", how="left")
    alone = found.filter(pl.col("twin_split").is_null() | (pl.col("twin_split") != pl.col("split")))
    return dg.AssetCheckResult(passed=alone.is_empty(), metadata={"refusals": len(twins), "alone": len(alone)})


@dg.asset_check(asset=keys.ADMITTED_TASKS, blocking=True)
def judge_below_its_bar_gates_nothing(lake: Lake) -> dg.AssetCheckResult:
    """No admitted task takes its reward from a judge that is below its bar, or that was never graded as it is now."""
    tasks = tasks_of(lake.read("tasks/admitted_tasks"))
    grades = lake.read(GRADES)
    refused = may_not_gate(tasks, grades, ProgrammaticJudge().version, Rubrics())
    told = "; ".join(f"{name}: {why}" for name, why in refused.items())
    asking = sum(task.rubric is not None for task in tasks)
    return dg.AssetCheckResult(
        passed=not refused, metadata={"tasks_with_a_rubric": asking, "may_not_gate": told or "none"}
    )


@dg.asset_check(asset=keys.ADMITTED_TASKS, blocking=True)
def no_way_to_cheat_pays_on_an_admitted_task(lake: Lake) -> dg.AssetCheckResult:
    """On every admitted task the report holds a no-op that earned nothing, and no check that failed."""
    admitted = lake.read("tasks/admitted_tasks").select("task_id")
    report = lake.read(ADMISSION_REPORT).join(admitted, on="task_id", how="semi")
    failed = report.filter(~pl.col("status").is_in(["passed", "earned"]))
    idle = report.filter(pl.col("check").str.starts_with("no-op") & (pl.col("status") == "passed"))
    untried = admitted.join(idle, on="task_id", how="anti")
    named = ", ".join(sorted({*failed["task_id"], *untried["task_id"]})[:20])
    return dg.AssetCheckResult(
        passed=failed.is_empty() and untried.is_empty(),
        metadata={"failed": len(failed), "untried": len(untried), "tasks": named or "none"},
    )


@dg.asset_check(asset=keys.ADMITTED_TASKS, blocking=True)
def the_gate_catches_every_kind_of_broken_task(lake: Lake) -> dg.AssetCheckResult:
    """Of the labelled set nothing broken is let through; right answers turned down are shown."""
    mistakes = lake.read(GATE_KNOWN)
    missed = mistakes.filter(pl.col("mistake") == "let through")["what"].to_list()
    down = mistakes.filter(pl.col("mistake") == "turned down")
    return dg.AssetCheckResult(
        passed=not missed, metadata={"missed": ", ".join(missed) or "none", "turned_down": len(down)}
    )


@dg.asset_check(asset=keys.ADMITTED_TASKS, blocking=True)
def no_honeypot_among_the_tasks(lake: Lake) -> dg.AssetCheckResult:
    """Honeypots stand in a table and a split of their own; none is admitted, so none can be sampled."""
    tasks, pots = lake.read("tasks/admitted_tasks"), lake.read(HONEYPOTS)
    inside = len(tasks.join(pots, on="task_id", how="semi")) + int((tasks["split"] == "honeypot").sum())
    marked = not pots.is_empty() and set(pots["split"]) == {"honeypot"}
    return dg.AssetCheckResult(passed=marked and inside == 0, metadata={"honeypots": len(pots), "inside": inside})
