"""Episodes on disk as they finish: killed anywhere and resumed, the rows are the same and none is played twice."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from environments.episode import Attempt
from environments.policies.scripted import NoisyTeacher
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import WorldPool
from environments.worlds.atlas.world import AtlasWorld
from tests.training.builders import some_tasks
from training.journal import EPISODE_SCHEMA, claim, episodes_frame, read_segments, run_journalled

K, BATCH = 3, 15
"""Five tasks a segment: forty tasks are eight segments."""


class Killed(BaseException):
    """What ends a run between two segments."""


class Counting(NoisyTeacher):
    """A teacher that remembers which attempts it was asked to make."""

    def __init__(self, noise: float = 0.3) -> None:
        super().__init__(noise)
        self.begun: list[tuple[str, int]] = []

    def begin(self, attempts: Sequence[Attempt]) -> None:
        """Remember them."""
        super().begin(attempts)
        self.begun += [(a.task.task_id, a.number) for a in attempts]


def run(folder: Path, teacher: NoisyTeacher, *, stop_after: int | None = None, **changes: Any) -> pl.DataFrame:
    told: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        told.append((done, total))
        if len(told) == stop_after:
            raise Killed

    settings = {"k": K, "seed": 0, "batch": BATCH, **changes}
    tasks = settings.pop("tasks", some_tasks())
    found = run_journalled(
        tasks, teacher, WorldPool(AtlasWorld), OutcomeVerifier(), folder, progress=progress, **settings
    )
    assert told[-1] == (K * len(tasks), K * len(tasks))
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    return run(tmp_path_factory.mktemp("whole"), NoisyTeacher(0.3))


def test_rows_have_fixed_types_and_one_row_per_attempt(whole: pl.DataFrame) -> None:
    assert dict(whole.schema) == {n: t if isinstance(t, pl.DataType) else t() for n, t in EPISODE_SCHEMA.items()}
    assert len(whole) == K * len(some_tasks()) == whole["episode_id"].n_unique()
    assert whole["success"].sum() > 0 < (~whole["success"]).sum()


@pytest.mark.parametrize("stop_after", [1, 4, 7])
def test_killed_between_segments_and_resumed_the_rows_are_the_same_and_none_is_repeated(
    whole: pl.DataFrame, tmp_path: Path, stop_after: int
) -> None:
    before, after = Counting(), Counting()
    with pytest.raises(Killed):
        run(tmp_path, before, stop_after=stop_after)
    assert len(read_segments(tmp_path)) == stop_after * BATCH
    assert run(tmp_path, after).equals(whole)
    assert len(before.begun) == stop_after * BATCH
    assert not set(before.begun) & set(after.begun)
    assert len(before.begun) + len(after.begun) == len(whole)


def test_twenty_crashes_serve_every_attempt_once_whatever_its_length(whole: pl.DataFrame, tmp_path: Path) -> None:
    played: list[tuple[str, int]] = []
    for _ in range(20):
        teacher = Counting()
        with suppress(Killed):
            run(tmp_path, teacher, stop_after=len(list(tmp_path.glob("part-*"))) + 1, batch=6)
        played += teacher.begun
    found = run(tmp_path, NoisyTeacher(0.3), batch=6)
    assert len(played) == len(set(played)) == len(found)
    assert found.drop("key").equals(whole.drop("key"))


def test_a_torn_segment_is_ignored_and_redone(whole: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(Killed):
        run(tmp_path, NoisyTeacher(0.3), stop_after=2)
    (tmp_path / "part-00002.tmp").write_bytes(b"PAR1 half a segm")
    assert len(read_segments(tmp_path)) == 2 * BATCH
    assert run(tmp_path, NoisyTeacher(0.3)).equals(whole)


@pytest.mark.parametrize("bytes_left", [0, 40])
def test_a_segment_that_lost_its_bytes_in_a_power_cut_is_played_again(
    whole: pl.DataFrame, tmp_path: Path, bytes_left: int
) -> None:
    run(tmp_path, NoisyTeacher(0.3))
    segment = tmp_path / "part-00001.parquet"
    segment.write_bytes(segment.read_bytes()[:bytes_left])
    again = Counting()
    assert run(tmp_path, again).equals(whole)
    assert len(again.begun) == BATCH


@pytest.mark.parametrize(
    "changes", [{"k": 2}, {"seed": 1}, {"batch": 30}, {"tasks": some_tasks()[1:]}, {"tasks": some_tasks()[::-1]}]
)
def test_a_folder_of_another_run_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(Killed):
        run(tmp_path, NoisyTeacher(0.3), stop_after=1)
    with pytest.raises(ValueError, match="holds another run; delete it, or give this run a folder of its own"):
        run(tmp_path, NoisyTeacher(0.3), **changes)


def test_episodes_of_another_policy_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        run(tmp_path, NoisyTeacher(0.3), stop_after=1)
    with pytest.raises(ValueError, match="holds another run"):
        run(tmp_path, NoisyTeacher(0.2))


def test_a_folder_can_be_claimed_again_by_the_same_run(tmp_path: Path) -> None:
    claim(tmp_path / "new", {"b": 1, "a": 2})
    claim(tmp_path / "new", {"a": 2, "b": 1})
    with pytest.raises(ValueError, match="holds another run"):
        claim(tmp_path / "new", {"a": 2})


def test_a_folder_without_segments_is_an_empty_table_of_the_right_types(tmp_path: Path) -> None:
    assert read_segments(tmp_path).is_empty()
    assert read_segments(tmp_path).schema == episodes_frame([]).schema
