"""Verified trajectories as rows: what SFT reads, whatever policy wrote them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from environments.episode import Exchange, Step, exchanges_in
from environments.task import Call, Task
from environments.world import World
from training.chat import signature


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One finished conversation that may be learned from."""

    trajectory_id: str
    task_id: str
    instruction: str
    tools: tuple[str, ...]
    steps: tuple[Step, ...]
    answer: str
    exchanges: tuple[Exchange, ...] = ()
    """The conversation with the user, where there was one."""


def read_trajectories(path: Path) -> list[Trajectory]:
    """Every trajectory of a Parquet file, in order of id.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a column is missing, or there is no row.
    """
    if not path.exists():
        raise FileNotFoundError(f"no trajectories at {path}: materialize trajectories first")
    frame = pl.read_parquet(path)
    wanted = ("trajectory_id", "task_id", "instruction", "tools", "steps", "answer")
    if missing := [c for c in wanted if c not in frame.columns]:
        raise ValueError(f"{path} lacks the columns {', '.join(missing)}; it has {', '.join(frame.columns)}")
    if frame.is_empty():
        raise ValueError(f"{path} holds no trajectory: nothing passed the verifier, look at the stage before")
    return [_trajectory(row) for row in frame.sort("trajectory_id").iter_rows(named=True)]


def _trajectory(row: dict[str, Any]) -> Trajectory:
    steps = tuple(Step(Call(name=n, arguments=a), seen) for n, a, seen in json.loads(row["steps"]))
    said = (row["trajectory_id"], row["task_id"], row["instruction"], tuple(row["tools"]))
    exchanges = exchanges_in(row.get("exchanges"))
    return Trajectory(*said, steps=steps, answer=row["answer"], exchanges=exchanges)


def read_tasks(path: Path) -> list[Task]:
    """Every task of a Parquet file with a `task` column of JSON, in the order of the file."""
    if not path.exists():
        raise FileNotFoundError(f"no tasks at {path}: materialize tasks first")
    return [Task.model_validate_json(text) for text in pl.read_parquet(path, columns=["task"])["task"]]


_TEXTS = ("task_id", "family", "split", "leaf", "query_id", "group", "twin", "instruction", "task")


def tasks_frame(tasks: Sequence[Task]) -> pl.DataFrame:
    """Tasks as a table: the columns that people filter by, and the whole task as JSON."""
    return pl.DataFrame(
        {
            "task_id": [t.task_id for t in tasks],
            "family": [t.family for t in tasks],
            "depth": [t.depth for t in tasks],
            "split": [t.split for t in tasks],
            "leaf": [t.leaf for t in tasks],
            "query_id": [t.query_id for t in tasks],
            "group": [t.group for t in tasks],
            "twin": [t.twin for t in tasks],
            "instruction": [t.instruction for t in tasks],
            "task": [t.model_dump_json() for t in tasks],
        },
        schema_overrides={"depth": pl.Int64, **dict.fromkeys(_TEXTS, pl.String)},
    )


def signatures_of(world: World) -> dict[str, str]:
    """Each tool of `world` as the system turn shows it."""
    return {name: signature(tool) for name, tool in world.tools().items()}


def words_of(trajectories: Iterable[Trajectory]) -> list[str]:
    """Everything people or tools said in `trajectories` as plain text, for learning merges."""
    spoken = (text for t in trajectories for text in (t.instruction, t.answer, *_values(t), *_talk(t)))
    return list(spoken)


def _talk(trajectory: Trajectory) -> list[str]:
    return [text for e in trajectory.exchanges for text in (e.said, e.reply)]


def _values(trajectory: Trajectory) -> list[str]:
    return [str(v) for s in trajectory.steps for v in (*_scalars(s.call.arguments), *_scalars(s.observation))]


def _scalars(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [x for v in value.values() for x in _scalars(v)]
    if isinstance(value, list):
        return [x for v in value for x in _scalars(v)]
    return [value]
