"""Episodes on disk as they finish: one Parquet segment per batch, written whole or not at all.

A batch is a fixed slice of the task list, so a run that was killed skips the segments it has and redoes at most one
batch; the folder carries a fingerprint of everything that decides the rows, and another run refuses to write into it.
"""

import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from environments.episode import Episode
from environments.policy import Policy
from environments.rollout import SCRIPTED_USER, attempts_at, result_key, rollout
from environments.seeds import stable_hash
from environments.task import Task
from environments.user import User
from environments.verifier import VERIFIER_FAILED, Verifier
from environments.world import WorldPool
from training.durable import replace_durably

FINGERPRINT = "fingerprint.json"
EPISODE_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "episode_id": pl.String,
    "task_id": pl.String,
    "attempt": pl.Int64,
    "seed": pl.Int64,
    "key": pl.String,
    "instruction": pl.String,
    "steps": pl.String,
    "exchanges": pl.String,
    "answer": pl.String,
    "ended": pl.String,
    "status": pl.String,
    "reward": pl.Float64,
    "success": pl.Boolean,
    "vetoed": pl.Boolean,
    "cause": pl.String,
    "evidence": pl.String,
    "nearest": pl.String,
    "outcome": pl.Float64,
    "rubric": pl.Float64,
    "dimensions": pl.String,
    "token_ids": pl.List(pl.Int32),
    "generated": pl.List(pl.Int8),
    "logprobs": pl.List(pl.Float32),
    "prompt_length": pl.Int64,
}

Progress = Callable[[int, int], None]


class Share(NamedTuple):
    """Which segments this process plays: every `of`-th, from `first`; `offset` counts those of the runs before."""

    first: int = 0
    of: int = 1
    offset: int = 0

    def holds(self, number: int) -> bool:
        """Whether segment `number` is ours."""
        return (self.offset + number) % self.of == self.first


WHOLE = Share()


def episodes_frame(episodes: Sequence[Episode]) -> pl.DataFrame:
    """Episodes as a table with fixed column types."""
    return pl.DataFrame([e.row() for e in episodes], schema=EPISODE_SCHEMA)


def write_segment(folder: Path, number: int, episodes: Sequence[Episode]) -> None:
    """Write one segment; a reader sees all of it or nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    scratch = folder / f"part-{number:05d}.tmp"
    episodes_frame(episodes).write_parquet(scratch, compression="zstd")
    replace_durably(scratch, folder / f"part-{number:05d}.parquet")


def read_segments(folder: Path) -> pl.DataFrame:
    """Every finished episode of a folder, in order; empty where there is none yet, and columns since added null."""
    parts = sorted(folder.glob("part-*.parquet"))
    return pl.concat([pl.DataFrame(schema=EPISODE_SCHEMA), *map(pl.read_parquet, parts)], how="diagonal")


def verifier_failures(episodes: pl.DataFrame) -> pl.DataFrame:
    """The episodes over which a verifier ended in an exception, by id, with the traceback as evidence."""
    failed = episodes.filter(pl.col("cause") == VERIFIER_FAILED)
    return failed.select("episode_id", "task_id", "attempt", "key", "evidence").sort("episode_id")


def run_journalled(
    tasks: Sequence[Task],
    policy: Policy,
    pool: WorldPool,
    verifier: Verifier,
    folder: Path,
    *,
    k: int,
    seed: int,
    batch: int,
    progress: Progress,
    share: Share = WHOLE,
    user: User = SCRIPTED_USER,
) -> pl.DataFrame:
    """`k` attempts at each task, journalled in `folder`; finished batches are read back instead of repeated.

    Several processes may play shares of the same run side by side: a segment depends on its number alone. Returns
    every episode that is there when this share is done.

    Raises:
        ValueError: the folder holds episodes of another policy, task list or setting.
    """
    key = result_key(policy, pool, verifier, user)
    listed = f"{stable_hash(*(t.task_id for t in tasks)):016x}"
    claim(folder, {"key": key.model_dump(), "tasks": listed, "k": k, "seed": seed, "batch": batch})
    per = max(1, batch // k)
    for number in filter(share.holds, range(segment_count(len(tasks), k, batch))):
        if not is_whole(folder / f"part-{number:05d}.parquet"):
            chosen = tasks[number * per : (number + 1) * per]
            played = rollout(attempts_at(chosen, k, seed), policy, pool, verifier, key, user=user)
            write_segment(folder, number, played)
        written = sum(1 for _ in folder.glob("part-*.parquet"))
        progress(k * min(written * per, len(tasks)), k * len(tasks))
    return read_segments(folder)


def is_whole(segment: Path) -> bool:
    """Whether a segment is there and can be read; a torn one is played again."""
    try:
        return segment.exists() and pl.read_parquet_schema(segment) is not None
    except pl.exceptions.ComputeError:
        return False


def segment_count(tasks: int, k: int, batch: int) -> int:
    """How many segments a run of `tasks` tasks has."""
    return math.ceil(tasks / max(1, batch // k))


def claim(folder: Path, fingerprint: dict[str, object]) -> None:
    """Make `folder` the home of one run, or check that it already is.

    Raises:
        ValueError: it belongs to another run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FINGERPRINT
    text = json.dumps(fingerprint, sort_keys=True)
    if not path.exists():
        scratch = path.with_suffix(f".{os.getpid()}.tmp")  # each process of the run claims it
        scratch.write_text(text, encoding="utf-8")
        replace_durably(scratch, path)
    elif path.read_text(encoding="utf-8") != text:
        raise ValueError(f"{folder} holds another run; delete it, or give this run a folder of its own")
