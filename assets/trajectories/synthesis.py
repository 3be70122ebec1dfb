"""Best-of-K verified trajectories: several attempts of a teacher at each task, the best perfect one kept.

Only attempts that are perfect in every dimension count; of several, the one with the fewest calls, then the shortest
answer, then the lowest attempt number. Budgets may differ from task to task (adaptive synthesis).

Source: AMAP report, reward filtering with K = 8.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from environments.policy import Policy
from environments.task import Task
from environments.verifier import Verifier
from environments.world import WorldPool
from training.journal import EPISODE_SCHEMA, Progress, run_journalled


class Synthesis(NamedTuple):
    """The kept trajectories and what it took."""

    trajectories: pl.DataFrame
    """trajectory_id, task_id, family, instruction, tools, steps, exchanges, answer, attempts, perfect."""
    attempts: int
    without: dict[str, str]
    """Tasks without a perfect attempt, with the cause of the last graded one, or of the last where none was."""
    episodes: pl.DataFrame
    """All of them."""

    @property
    def yield_(self) -> float:
        """Perfect attempts per attempt."""
        return float(self.trajectories["perfect"].sum()) / max(1, self.attempts)


def synthesise(
    tasks: Sequence[Task],
    budgets: Mapping[str, int],
    teacher: Policy,
    pool: WorldPool,
    verifier: Verifier,
    folder: Path,
    *,
    seed: int,
    batch: int,
    progress: Progress,
) -> Synthesis:
    """Attempts by budget, journalled as they finish, and the best perfect trajectory of each task.

    Args:
        tasks: what to solve.
        budgets: attempts per task id.
        teacher: who solves them.
        pool: sessions of their world.
        verifier: the one that RL will optimise (pipeline law 6).
        folder: where finished attempts lie; a killed run goes on from there.
        seed: of the attempts.
        batch: attempts side by side.
        progress: told done and total.
    """
    total = sum(budgets[t.task_id] for t in tasks)
    done, frames = 0, []
    for k in sorted(set(budgets.values())):
        mine = [t for t in tasks if budgets[t.task_id] == k]
        before = done

        def told(part: int, _: int, before: int = before) -> None:
            """Progress over all budgets."""
            progress(before + part, total)

        frames.append(
            run_journalled(mine, teacher, pool, verifier, folder / f"k{k}", k=k, seed=seed, batch=batch, progress=told)
        )
        done += k * len(mine)
    episodes = pl.concat(frames) if frames else pl.DataFrame(schema=EPISODE_SCHEMA)
    return best_of(episodes, {t.task_id: t for t in tasks}, total)


def best_of(episodes: pl.DataFrame, tasks: Mapping[str, Task], attempts: int) -> Synthesis:
    """The best perfect attempt of each task."""
    scored = episodes.filter(pl.col("status") == "scored")
    ranked = (
        scored.filter(pl.col("success"))
        .with_columns(calls=pl.col("steps").map_elements(lambda text: len(json.loads(text)), return_dtype=pl.Int64))
        .sort("task_id", "calls", pl.col("answer").str.len_chars(), "attempt")
    )
    counts = scored.group_by("task_id").agg(attempts=pl.len(), perfect=pl.col("success").sum())
    best = ranked.unique("task_id", keep="first", maintain_order=True).join(counts, on="task_id")
    kept = best.select(
        pl.col("episode_id").alias("trajectory_id"),
        "task_id",
        "instruction",
        "steps",
        "exchanges",
        "answer",
        "attempts",
        "perfect",
    )
    families = [tasks[i].family for i in kept["task_id"]]
    tools = [list(tasks[i].tools) for i in kept["task_id"]]
    kept = kept.with_columns(
        family=pl.Series(families, dtype=pl.String), tools=pl.Series(tools, dtype=pl.List(pl.String))
    )
    solved = set(kept["task_id"])
    graded = pl.col("status") == "scored"
    last = episodes.sort("task_id", graded, "attempt").unique("task_id", keep="last", maintain_order=True)
    without = {i: c for i, c in last.select("task_id", "cause").iter_rows() if i not in solved}
    return Synthesis(kept.sort("trajectory_id"), attempts, without, episodes)
