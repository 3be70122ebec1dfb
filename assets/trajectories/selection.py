"""Which tasks the teacher is asked to solve: a random warm-up share, then the learnable and rather certain ones."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from environments.seeds import unit_hash
from environments.task import Task
from training.curriculum import teacher_budgets


def in_warm_up(group: str, share: float) -> bool:
    """Whether a group of tasks (an original and its variants) belongs to the warm-up set; by hash of the group."""
    return unit_hash("warm-up", group) < share


def warm_up(tasks: Sequence[Task], share: float) -> list[Task]:
    """The tasks of the warm-up share, in order of id.

    Raises:
        ValueError: nothing is left; the message says what to change.
    """
    chosen = sorted((t for t in tasks if in_warm_up(t.group, share)), key=lambda t: t.task_id)
    if not chosen:
        raise ValueError(
            f"none of {len(tasks)} training tasks falls into a warm-up share of {share}: admit more or raise it"
        )
    return chosen


def not_held_back(regions: pl.DataFrame, share: float) -> pl.DataFrame:
    """The tasks that the second SFT may be trained on; the rest is left, so that every family can still be probed.

    Without it, what nobody has trained on would be what the policy is unsure of, and a mastered family would look like
    one that nobody tried.

    Args:
        regions: task_id, group (see `frontier/regions`).
        share: of the groups that are held back; by hash, whole groups.
    """
    names = [group or task for group, task in regions.select("group", "task_id").iter_rows()]
    kept = [unit_hash("held back for probes", name) >= share for name in names]
    return regions.filter(pl.Series(kept, dtype=pl.Boolean))


def adaptive_plan(regions: pl.DataFrame, tasks: int, k_max: int, seed: int) -> dict[str, int]:
    """Task id -> teacher attempts, for a draw of certain tasks weighted by learnability.

    Args:
        regions: task_id, lps, certain (see `frontier/regions`).
        tasks: how many at most.
        k_max: most attempts at one task.
        seed: of the draw.
    """
    pool = regions.filter(pl.col("certain") & (pl.col("lps") > 0)).sort("task_id")
    draws = np.array([unit_hash("adaptive", seed, i) for i in pool["task_id"]])
    keys = np.log(np.maximum(draws, 1e-300)) / pool["lps"].to_numpy()
    chosen = pool[np.argsort(-keys, kind="stable")[:tasks]]
    budgets = teacher_budgets(chosen["lps"].to_numpy(), k_max)
    return dict(zip(chosen["task_id"].to_list(), budgets.tolist(), strict=True))
