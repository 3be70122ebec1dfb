"""Which tasks are probed, and what the probes say about every training task, probed or not.

A probe tells about its task, and through the rate of its family about the tasks that nobody tried: each task gets a
Beta posterior whose prior is its family's success rate, so a task is never written off for what one 0/8 happened to
show.

Shapes: Q tasks, K attempts at each, F families.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np
import polars as pl

from assets.trajectories.selection import in_warm_up
from environments.seeds import stable_hash
from environments.task import Task
from training.curriculum import Region, certain, kind_rates, learnability, posterior, regions

PROBE_SCHEMA = {
    "task_id": pl.String,
    "family": pl.String,
    "attempts": pl.Int64,
    "successes": pl.Int64,
    "mean": pl.Float64,
    "variance": pl.Float64,
    "lps": pl.Float64,
    "region": pl.String,
    "no_result": pl.Int64,
    "vetoed": pl.Int64,
    "causes": pl.String,
    "tokens": pl.Int64,
    "key": pl.String,
}


def probe_sample(
    tasks: Sequence[Task], count: int, warm_up_share: float, seed: int, trained: AbstractSet[str] = frozenset()
) -> list[Task]:
    """Training tasks to probe: spread over families in proportion, by hash; none that the policy was trained on.

    A task that was learned by heart says nothing about its family. Of a task that was trained on, the variants are left
    out too. Only where nothing else is left everything can be probed.

    Args:
        tasks: admitted tasks.
        count: how many at most.
        warm_up_share: share that the seed policy was trained on.
        seed: of the draw.
        trained: ids of the tasks whose rows the policy consumed.
    """
    training = [t for t in tasks if t.split == "train"]
    seen = {t.group or t.task_id for t in training if t.task_id in trained}
    fresh = [t for t in training if (t.group or t.task_id) not in seen and not in_warm_up(t.group, warm_up_share)]
    pool = fresh or training
    return sorted(pool, key=lambda t: (stable_hash("probe", seed, t.task_id), t.task_id))[:count]


def probes_frame(episodes: pl.DataFrame, tasks: Sequence[Task], k: int) -> pl.DataFrame:
    """One row per probed task: rate, unbiased variance, learnability, region, causes and cost.

    Attempts without a result enter no rate; a task with fewer than two scored attempts is left for the next probe.

    Raises:
        ValueError: the attempts were graded under several keys; results of different keys never mix.
    """
    _require_one_key(episodes)
    family = {t.task_id: t.family for t in tasks}
    rows = []
    for (task_id,), frame in episodes.sort("task_id", "attempt").group_by("task_id", maintain_order=True):
        scored = frame.filter(pl.col("status") == "scored")
        if len(scored) < 2:
            continue
        rewards, won = scored["reward"].to_numpy()[None], scored["success"].to_numpy()[None]
        causes = dict(scored["cause"].value_counts().sort("count", "cause", descending=[True, False]).iter_rows())
        rows.append(
            {
                "task_id": task_id,
                "family": family[str(task_id)],
                "attempts": len(scored),
                "successes": int(won.sum()),
                "mean": float(rewards.mean()),
                "variance": float(rewards.var(ddof=1)),
                "lps": float(learnability(rewards)[0]),
                "region": str(regions(rewards, won)[0]),
                "no_result": len(frame) - len(scored),
                "vetoed": int(scored["vetoed"].sum()),
                "causes": ", ".join(f"{c} {n}" for c, n in causes.items()),
                "tokens": int(frame["generated"].list.sum().sum()),
                "key": frame["key"][0],
            }
        )
    return pl.DataFrame(rows, schema=PROBE_SCHEMA).sort("task_id")


def frontier_frame(tasks: Sequence[Task], probes: pl.DataFrame) -> pl.DataFrame:
    """Every training task with its posterior: mean, expected variance, learnability, region and certainty.

    Args:
        tasks: admitted tasks; only those of the training split are kept.
        probes: rows of `probes_frame`, all of one policy.

    Raises:
        ValueError: the probes were made under several keys; results of different keys never mix.
    """
    _require_one_key(probes)
    training = sorted((t for t in tasks if t.split == "train"), key=lambda t: t.task_id)
    known = {r["task_id"]: r for r in probes.iter_rows(named=True)}
    won_Q = np.array([known[t.task_id]["successes"] if t.task_id in known else 0 for t in training], dtype=float)
    tried_Q = np.array([known[t.task_id]["attempts"] if t.task_id in known else 0 for t in training], dtype=float)
    prior_Q = kind_rates(won_Q, tried_Q, [t.family for t in training])
    after = posterior(won_Q, tried_Q, prior_Q)
    mean_Q, variance_Q = after.mean_Q, after.variance_Q
    region = [
        known[t.task_id]["region"] if t.task_id in known else _expected_region(m)
        for t, m in zip(training, mean_Q, strict=True)
    ]
    return pl.DataFrame(
        {
            "task_id": [t.task_id for t in training],
            "family": [t.family for t in training],
            "depth": [t.depth for t in training],
            "group": [t.group for t in training],
            "probed": tried_Q > 0,
            "mean": mean_Q,
            "variance": variance_Q,
            "lps": mean_Q * variance_Q,
            "region": region,
            "certain": certain(mean_Q),
        }
    )


def _require_one_key(frame: pl.DataFrame) -> None:
    if (keys := frame["key"].n_unique()) > 1:
        raise ValueError(f"probes of {keys} result keys cannot be mixed: probe again with one policy")


def _expected_region(mean: float) -> str:
    """The region of a task nobody tried, from the rate of its family."""
    if mean >= 0.95:
        return Region.TRIVIAL
    return Region.NOISE if mean <= 0.05 else Region.LEARNABLE


EVEN_SHARE = 0.5
"""Share of the RL queue that is spread evenly over task families, whatever their learnability; ours."""


def rl_queue(frontier: pl.DataFrame, tasks: Sequence[Task]) -> pl.DataFrame:
    """The RL training queue: every training task with its weight, by expected variance, no family left out.

    Half of the queue is spread evenly over the families, half in proportion to what each lets expect; inside a family
    tasks are drawn by their own expected variance. Without the even half, a small family that is nearly mastered
    (requests to refuse) is hardly ever drawn, and what the policy can do there is lost to what it learns elsewhere.
    """
    rows = frontier.sort("task_id")
    names, index_Q = np.unique(rows["family"].to_numpy(), return_inverse=True)
    variance_Q = rows["variance"].to_numpy()
    total_F = np.bincount(index_Q, weights=variance_Q, minlength=len(names))
    mean_F = total_F / np.bincount(index_Q, minlength=len(names))
    share_F = EVEN_SHARE / len(names) + (1 - EVEN_SHARE) * mean_F / mean_F.sum()
    weight_Q = len(rows) * (share_F / total_F)[index_Q] * variance_Q
    weights = dict(zip(rows["task_id"], weight_Q.tolist(), strict=True))
    chosen = [t for t in sorted(tasks, key=lambda t: t.task_id) if t.task_id in weights]
    return pl.DataFrame(
        {
            "task_id": [t.task_id for t in chosen],
            "task": [t.model_dump_json() for t in chosen],
            "weight": [weights[t.task_id] for t in chosen],
        }
    )
