"""Stored episodes graded again by another verifier, judge or rubric, and what that changes in them.

Nothing is played anew: the recorded calls are made in a fresh world, the recorded answer is given, and the verdict is
reached under a new key. Tokens, seeds and numbers stay as they were. An attempt whose world answers differently now has
no result under the new key, and neither has one that failed for a reason of ours.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from environments.episode import Attempt, Episode, NoResult, ResultKey, verdict_columns
from environments.policies.replay import Recorded, RecordedUser, Replay
from environments.rollout import result_key, rollout
from environments.task import Task
from environments.verifier import Verifier
from environments.world import WorldPool
from training.journal import EPISODE_SCHEMA, Progress

WAYS = ("won_to_lost", "lost_to_won", "reward_moved", "to_no_result", "from_no_result", "same")
"""What may become of an attempt; `reward_moved` neither won nor lost by it."""
_AT_ONCE = 256


class Rescored(NamedTuple):
    """Episodes of one key, before and after."""

    before: pl.DataFrame
    after: pl.DataFrame
    """The same attempts in the same order, under the new key."""
    key: ResultKey
    """The new one."""


def rescored(
    before: pl.DataFrame,
    tasks: Mapping[str, Task],
    key: ResultKey,
    pool: WorldPool,
    verifier: Verifier,
    *,
    progress: Progress = lambda done, total: None,
) -> Rescored:
    """Grade episodes of one key again.

    Args:
        before: episodes (`training.journal.EPISODE_SCHEMA`), all of one key.
        tasks: by id; an attempt at a task that is gone has no result.
        key: what the episodes' key stands for.
        pool: sessions of their world.
        verifier: the one to grade by.
        progress: told done and total.

    Raises:
        ValueError: the episodes are of several keys, or of another than `key`.
    """
    if strange := sorted(set(before["key"]) - {key.digest}):
        raise ValueError(f"episodes of the keys {', '.join(strange)} among those of {key.digest}: re-score them apart")
    now = result_key(Replay([], key), pool, verifier).model_copy(update={"user": key.user})
    rows = before.rows(named=True)
    verdicts: list[dict[str, Any]] = []
    for start in range(0, len(rows), _AT_ONCE):
        verdicts += _graded(rows[start : start + _AT_ONCE], tasks, key, now, pool, verifier)
        progress(len(verdicts), len(rows))
    columns = {name: pl.Series(name, [v[name] for v in verdicts], dtype=EPISODE_SCHEMA[name]) for name in _REPLACED}
    return Rescored(before, before.with_columns(**columns).select(*EPISODE_SCHEMA), now)


_REPLACED = (
    "episode_id", "key", "status", "reward", "success", "vetoed", "cause", "evidence", "outcome", "rubric",
    "dimensions",
)  # fmt: skip


def _graded(
    rows: Sequence[dict[str, Any]], tasks: Mapping[str, Task], key: ResultKey, now: ResultKey, pool: WorldPool,
    verifier: Verifier,
) -> list[dict[str, Any]]:  # fmt: skip
    playable = [row for row in rows if row["task_id"] in tasks and row["ended"] != "failed"]
    records = [Recorded.of(row) for row in playable]
    attempts = [Attempt(tasks[row["task_id"]], row["attempt"], row["seed"]) for row in playable]
    user = RecordedUser({(a.task.task_id, a.number): r for a, r in zip(attempts, records, strict=True)}, key.user)
    played = rollout(attempts, Replay(records, key), pool, verifier, now, user=user)
    found = {id(row): _columns(e, r, now) for row, e, r in zip(playable, played, records, strict=True)}
    return [found.get(id(row)) or _without(row, now) for row in rows]


def _columns(episode: Episode, record: Recorded, now: ResultKey) -> dict[str, Any]:
    differs = record.differs(episode.steps)
    verdict = NoResult(f"replay: {differs}") if differs else episode.verdict
    return {"episode_id": episode.episode_id, "key": now.digest, **verdict_columns(verdict)}


def _without(row: Mapping[str, Any], now: ResultKey) -> dict[str, Any]:
    """An attempt that cannot be played: one that failed then, or one at a task that is gone."""
    cause = row["cause"] if row["ended"] == "failed" else "replay: the task is gone"
    made = Episode(row["task_id"], row["attempt"], row["seed"], now.digest, "", (), None, "failed", NoResult(cause))
    return {"episode_id": made.episode_id, "key": now.digest, **verdict_columns(made.verdict)}


def ways(found: Rescored) -> pl.Series:
    """What became of each attempt, one of `WAYS`."""
    old, new = (frame.select("status", "success", "reward").rows() for frame in (found.before, found.after))
    return pl.Series("way", [_way(a, b) for a, b in zip(old, new, strict=True)], dtype=pl.String)


def _way(old: tuple[str, bool | None, float | None], new: tuple[str, bool | None, float | None]) -> str:
    had, has = old[0] == "scored", new[0] == "scored"
    if had != has:
        return "to_no_result" if had else "from_no_result"
    if old[1:] == new[1:]:
        return "same"
    if old[1] == new[1]:
        return "reward_moved"
    return "won_to_lost" if old[1] else "lost_to_won"
