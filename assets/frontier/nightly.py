"""What a night of probing says: every training task with its interval and region, what moved, and alarms.

Everything here is about one result key: the same policy, world, verifier and sampler. Attempts of a night that raised
an alarm stay in the ledger and in the regions, but no later night is measured against them: an alarm does not become
the new normal by itself.

Shapes: Q tasks.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from environments.task import Task
from resources.registry import WON, LedgerEntry, Outcome
from training.curriculum import HOPELESS_BELOW, Region
from training.drift import DRAWS, Move, Tried, moves
from training.reprobing import LEDGER_SCHEMA, PARTS, belief, counts_of, decided_regions, interval

TABLE: Final = "frontier/nightly_probes"
MOVES: Final = "frontier/nightly_moves"
DOUBTED: Final = "frontier/nightly_doubted"
ATTEMPT: Final = ("result_key", "task_id", "attempt")
DOUBTED_SCHEMA: Final = {"result_key": pl.String, "task_id": pl.String, "attempt": pl.Int64}
STILL: Final = 1e-3
"""Variance of the rewards below which a task that is never solved is always equally partly right."""


class Night(NamedTuple):
    """What came of a night."""

    table: pl.DataFrame
    """One row per training task."""
    moves: list[Move]
    """Pass rates that moved by themselves."""
    doubted: pl.DataFrame
    """Attempts of alarmed groups, of this night and of earlier ones (`DOUBTED_SCHEMA`)."""


def ledger_frame(entries: Sequence[LedgerEntry]) -> pl.DataFrame:
    """The ledger as the process that probes reads it."""
    rows = [
        (*entry[:6], *((getattr(entry.key, part) if entry.key else None) for part in (*PARTS, "policy")))
        for entry in entries
    ]
    return pl.DataFrame(rows, schema=LEDGER_SCHEMA, orient="row")


def attempts_frame(outcomes: Iterable[Outcome]) -> pl.DataFrame:
    """Graded attempts on record: result_key, task_id, attempt, reward, won."""
    scored = [(o.result_key, o.task_id, o.attempt, o.reward) for o in outcomes if o.status == "scored"]
    schema = {**DOUBTED_SCHEMA, "reward": pl.Float64}
    return pl.DataFrame(scored, schema=schema, orient="row").with_columns(won=pl.col("reward") >= WON)


def night_of(
    tasks: Sequence[Task],
    attempts: pl.DataFrame,
    tonight: pl.DataFrame,
    doubted: pl.DataFrame,
    *,
    level: float,
    draws: int = DRAWS,
) -> Night:
    """Regions after the night, and what moved in it.

    Args:
        tasks: training tasks.
        attempts: `attempts_frame` of everything under the policy's key, tonight included.
        tonight: result_key, task_id, attempt of this night's.
        doubted: attempts of nights that raised an alarm.
        level: see `training.drift.moves`.
        draws: likewise.

    Raises:
        ValueError: the attempts are of several result keys.
    """
    ordered = sorted(tasks, key=lambda t: t.task_id)
    earlier = attempts.join(tonight, on=ATTEMPT, how="anti")
    compared = _tried(ordered, earlier.join(doubted, on=ATTEMPT, how="anti"), attempts, tonight)
    found = moves(compared, level=level, draws=draws)
    named = {(m.kind, m.name) for m in found}
    shaken = [t.task_id for t in compared if {("family", t.family), ("pool", t.pool)} & named]
    more = tonight.filter(pl.col("task_id").is_in(shaken)).select(ATTEMPT)
    return Night(_table(ordered, earlier, attempts, tonight), found, pl.concat([doubted, more]).unique().sort(ATTEMPT))


def _sums(attempts: pl.DataFrame) -> pl.DataFrame:
    """Graded and perfect attempts by task, with mean and variance of the rewards."""
    return attempts.group_by("result_key", "task_id").agg(
        scored=pl.len().cast(pl.Int64),
        won=pl.col("won").sum().cast(pl.Int64),
        reward=pl.col("reward").mean(),
        spread=pl.col("reward").var(ddof=0),
    )


def _regions(tasks: Sequence[Task], sums: pl.DataFrame) -> list[Region]:
    """The region of each task; a plateau where it is never solved and always equally partly right."""
    partly = sums.filter((pl.col("won") == 0) & (pl.col("reward") > HOPELESS_BELOW) & (pl.col("spread") < STILL))
    flat = set(partly.filter(pl.col("scored") > 1)["task_id"])
    decided = decided_regions(belief(counts_of(sums, tasks), [t.family for t in tasks]))
    return [Region.PLATEAU if t.task_id in flat else r for t, r in zip(tasks, decided, strict=True)]


def _tried(tasks: Sequence[Task], calm: pl.DataFrame, attempts: pl.DataFrame, tonight: pl.DataFrame) -> list[Tried]:
    before, now = _sums(calm), _sums(attempts.join(tonight, on=ATTEMPT, how="semi"))
    was, seen, pools = counts_of(before, tasks), counts_of(now, tasks), _regions(tasks, before)
    columns = zip(tasks, pools, was.tried_Q, was.won_Q, seen.tried_Q, seen.won_Q, strict=True)
    return [Tried(t.task_id, t.family, str(pool), *(int(n) for n in counts)) for t, pool, *counts in columns]


def _table(tasks: Sequence[Task], earlier: pl.DataFrame, attempts: pl.DataFrame, tonight: pl.DataFrame) -> pl.DataFrame:
    before, after = _sums(earlier), _sums(attempts)
    counts = counts_of(after, tasks)
    known = belief(counts, [t.family for t in tasks])
    low_Q, high_Q = interval(known)
    was, now = _regions(tasks, before), _regions(tasks, after)
    known_before_Q = counts_of(before, tasks).tried_Q > 0
    moved = [str(a) if k and a != b else None for a, b, k in zip(was, now, known_before_Q, strict=True)]
    tried = set(tonight["task_id"])
    return pl.DataFrame(
        {
            "task_id": [t.task_id for t in tasks],
            "family": [t.family for t in tasks],
            "region": [str(r) for r in now],
            "moved_from": pl.Series(moved, dtype=pl.String),
            "mean": known.mean_Q,
            "variance": known.variance_Q,
            "lps": known.mean_Q * known.variance_Q,
            "low": low_Q,
            "high": high_Q,
            "n": counts.tried_Q.astype(np.int64),
            "won": counts.won_Q.astype(np.int64),
            "tonight": [t.task_id in tried for t in tasks],
        }
    )


def moves_frame(found: Sequence[Move]) -> pl.DataFrame:
    """Alarms as a table, the most certain first."""
    schema = {
        "kind": pl.String, "name": pl.String, "tasks": pl.Int64, "attempts": pl.Int64, "before": pl.Float64,
        "expected": pl.Float64, "tonight": pl.Float64, "probability": pl.Float64,
    }  # fmt: skip
    return pl.DataFrame(found, schema=schema, orient="row")
