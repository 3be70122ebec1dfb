"""Which tasks a night of probing tries again: where an attempt is expected to tell most about what can be learned.

Two beliefs are kept apart. What is *known* of a task is a Beta posterior over its own attempts under one result key
(policy, world, verifier, sampler), with the rate of its family under that key as prior; its interval decides the
region, so one 0/8 decides nothing. What is *expected* adds the probes of the newest other policy in the same world, as
a prior that is worth a stated number of attempts: it steers the budget and is never read as this policy's.

Score of a task = expected information of K more attempts x learnability. Both are ours: the AMAP report gives no rule
for probing again. Information is how much K attempts are expected to shrink the variance of the success rate,
`Var(p) K / (n + K)` with n the attempts that the belief is worth (exact for Beta and Bernoulli); learnability is the
report's LPS, mean x expected variance. No score is ever zero: no task leaves for good.

Shapes: Q tasks, F families.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import numpy as np
import polars as pl
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from environments.episode import ResultKey
from environments.seeds import stable_hash
from environments.task import Task
from training.curriculum import HOPELESS_BELOW, MASTERED_ABOVE, Floats, Posterior, Region
from training.runs import Run

STRENGTH: Final = 2.0
"""Attempts that the rate of a task's family is worth; ours, as for the frontier."""
SURE: Final = 0.8
"""Share of the posterior inside the interval that decides a region; ours."""
PARTS: Final = ("world", "tools", "verifier", "judge", "rubric")
"""Parts of a result key that must agree before another policy's probes say anything about this one."""
COUNTS: Final = {"result_key": pl.String, "task_id": pl.String, "scored": pl.Int64, "won": pl.Int64}
LEDGER_SCHEMA: Final = {
    **COUNTS, "next_attempt": pl.Int64, "last": pl.Int64, **dict.fromkeys((*PARTS, "policy"), pl.String),
}  # fmt: skip
"""The ledger as a night reads it: one row per result key and task; the key's parts are null where nobody noted them."""


class NightRun(Run):
    """One night of probing: a budget of attempts, spent by one process that loads the policy once."""

    tasks: Path
    """Parquet of the training tasks: task_id, task (JSON)."""
    ledger: Path
    """Parquet of what is on record (`LEDGER_SCHEMA`)."""
    policy: Path
    """Folder of the model."""
    version: str
    """Hash under which its results are kept."""
    threads: PositiveInt
    """CPU threads of torch."""
    attempts: PositiveInt
    """Budget of the night."""
    k: PositiveInt
    """Attempts at each task that is tried."""
    temperature: PositiveFloat = 1.0
    batch: PositiveInt = 192
    """Attempts side by side."""
    watch: Annotated[float, Field(ge=0, le=1)]
    """Share of the budget for tasks that are known, evenly over families."""
    kin_weight: NonNegativeFloat
    """Attempts that the probes of another policy are worth."""


class Counts(NamedTuple):
    """Graded attempts at each task and the perfect ones among them."""

    won_Q: Floats
    tried_Q: Floats


def counts_of(rows: pl.DataFrame, tasks: Sequence[Task]) -> Counts:
    """The counts of `tasks`, in their order; zero where there is no row.

    Raises:
        ValueError: the rows are of several result keys; results of different keys never mix.
    """
    if (keys := rows["result_key"].n_unique()) > 1:
        raise ValueError(f"attempts under {keys} result keys cannot be read as one policy's: choose one key")
    known = {row["task_id"]: (row["won"], row["scored"]) for row in rows.iter_rows(named=True)}
    table = np.array([known.get(t.task_id, (0, 0)) for t in tasks], dtype=float).reshape(-1, 2)
    return Counts(table[:, 0], table[:, 1])


def own_rows(ledger: pl.DataFrame, key: ResultKey) -> pl.DataFrame:
    """What was recorded under this very key."""
    return ledger.filter(pl.col("result_key") == key.digest)


def kin_rows(ledger: pl.DataFrame, key: ResultKey) -> pl.DataFrame:
    """What was recorded last of another policy in the same world, with the same tools, verifier, judge and rubric."""
    same = pl.all_horizontal(pl.col(part) == getattr(key, part) for part in PARTS)
    others = ledger.filter(same & (pl.col("policy") != key.policy))
    if others.is_empty():
        return others
    newest = others.sort("last", "result_key")["result_key"][-1]
    return others.filter(pl.col("result_key") == newest)


def belief(own: Counts, families: Sequence[str], kin: Counts | None = None, kin_weight: float = 0.0) -> Posterior:
    """Posterior of each task's success rate.

    The prior is the rate of the *other* tasks of its family, drawn towards one half by one success and one failure:
    with its own attempts in there too, one 0/8 would count twice.

    Args:
        own: attempts under the key in question.
        families: of each task.
        kin: attempts of another policy, if they may speak at all.
        kin_weight: attempts that they are worth at a task, and once more in the rate of a family.
    """
    names, family_Q = np.unique(np.array(families, dtype=str), return_inverse=True)

    def per_family(values_Q: Floats) -> Floats:
        """Sum over the family of each task."""
        sums_F: Floats = np.bincount(family_Q, weights=values_Q, minlength=len(names)).astype(np.float64)
        return sums_F[family_Q]

    others_won_Q = per_family(own.won_Q) - own.won_Q + 1
    others_tried_Q = per_family(own.tried_Q) - own.tried_Q + 2
    alpha_Q, beta_Q = own.won_Q, own.tried_Q - own.won_Q
    if kin is not None:
        rate_Q, there_Q = _rate(per_family(kin.won_Q), per_family(kin.tried_Q))
        others_won_Q, others_tried_Q = others_won_Q + kin_weight * rate_Q, others_tried_Q + kin_weight * there_Q
        rate_Q, there_Q = _rate(kin.won_Q, kin.tried_Q)
        alpha_Q, beta_Q = alpha_Q + kin_weight * rate_Q, beta_Q + kin_weight * (there_Q - rate_Q)
    prior_Q = others_won_Q / others_tried_Q
    return Posterior(alpha_Q + STRENGTH * prior_Q, beta_Q + STRENGTH * (1 - prior_Q))


def _rate(won_Q: Floats, tried_Q: Floats) -> tuple[Floats, Floats]:
    """Success rate where there are attempts, else 0; and whether there are."""
    return won_Q / np.maximum(tried_Q, 1), (tried_Q > 0).astype(float)


def interval(known: Posterior, sure: float = SURE) -> tuple[Floats, Floats]:
    """The middle `sure` of each posterior: lower and upper ends."""
    from scipy.special import betaincinv

    low_Q: Floats = betaincinv(known.alpha_Q, known.beta_Q, (1 - sure) / 2)
    high_Q: Floats = betaincinv(known.alpha_Q, known.beta_Q, (1 + sure) / 2)
    return low_Q, high_Q


def decided_regions(known: Posterior) -> list[Region]:
    """The region of each task: learnable until its whole interval lies beyond a cut-off."""
    low_Q, high_Q = interval(known)
    found = np.where(low_Q >= MASTERED_ABOVE, Region.TRIVIAL, Region.LEARNABLE)
    return [Region(r) for r in np.where(high_Q <= HOPELESS_BELOW, Region.NOISE, found)]


def score(expected: Posterior, k: int) -> Floats:
    """Expected information of `k` attempts x learnability, for each task; always above zero."""
    worth_Q = expected.alpha_Q + expected.beta_Q
    spread_Q = expected.alpha_Q * expected.beta_Q / (worth_Q**2 * (worth_Q + 1))
    return spread_Q * k / (worth_Q + k) * expected.mean_Q * expected.variance_Q


def night_plan(
    tasks: Sequence[Task],
    own: pl.DataFrame,
    kin: pl.DataFrame,
    *,
    attempts: int,
    k: int,
    watch: float,
    kin_weight: float,
) -> pl.DataFrame:
    """Which tasks the night tries, `k` attempts each, and from which attempt number on; by task id.

    A share of the budget watches what is known, evenly over families, tasks tried longest ago first: only they can
    show that a pass rate moved by itself. The rest goes by score. Ties are broken by a hash that changes from night
    to night.

    Args:
        tasks: training tasks.
        own: rows of the ledger under this policy's key.
        kin: rows of another policy (`kin_rows`).
        attempts: budget; at least one task is tried.
        k: attempts at each.
        watch: share of the budget for tasks tried before.
        kin_weight: see `belief`.

    Returns:
        task_id, first (attempt number), why (`watch` or `score`), score.
    """
    ordered = sorted(tasks, key=lambda t: t.task_id)
    mine, room = counts_of(own, ordered), max(1, attempts // k)
    expected = belief(mine, [t.family for t in ordered], counts_of(kin, ordered), kin_weight)
    night = int(own["next_attempt"].sum())
    begun, last = (dict(own.select("task_id", name).iter_rows()) for name in ("next_attempt", "last"))
    rows = pl.DataFrame(
        {
            "task_id": [t.task_id for t in ordered],
            "family": [t.family for t in ordered],
            "first": [begun.get(t.task_id, 0) for t in ordered],
            "last": [last.get(t.task_id, 0) for t in ordered],
            "score": score(expected, k),
            "lot": [stable_hash("night", night, t.task_id) for t in ordered],
        },
        schema_overrides={
            "task_id": pl.String,
            "family": pl.String,
            "first": pl.Int64,
            "last": pl.Int64,
            "lot": pl.UInt64,
        },
    )
    turn = pl.int_range(pl.len()).over("family")
    known = rows.filter(pl.col("first") > 0).sort("last", "lot").with_columns(turn=turn).sort("turn", "lot")
    watched = known.head(round(watch * room)).drop("turn")
    rest = rows.join(watched, on="task_id", how="anti").sort("score", "lot", descending=[True, False])
    chosen = [
        watched.with_columns(why=pl.lit("watch")),
        rest.head(room - len(watched)).with_columns(why=pl.lit("score")),
    ]
    return pl.concat(chosen).select("task_id", "first", "why", "score").sort("task_id")
