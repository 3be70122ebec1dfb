"""What must hold of the tasks before any of them is sampled."""

import dagster as dg
import polars as pl

from assets import keys
from assets.tasks.assets import NOT_COMPILED, QUARANTINE
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
