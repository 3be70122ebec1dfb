"""What a night says: regions by interval, tasks that move both ways, one policy at a time, and alarms that stay."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assets.frontier.checks import (
    nightly_probes_are_of_one_policy_and_hold_every_training_task,
    no_pass_rate_moved_by_itself,
)
from assets.frontier.nightly import (
    ATTEMPT,
    DOUBTED_SCHEMA,
    MOVES,
    TABLE,
    Night,
    attempts_frame,
    ledger_frame,
    moves_frame,
    night_of,
)
from environments.episode import ResultKey
from environments.seeds import unit_hash
from environments.task import Task
from environments.worlds.atlas.tasks import fresh_tasks
from resources.lake import Lake
from resources.registry import Outcome, Registry
from training.drift import Move
from training.reprobing import kin_rows, night_plan, own_rows
from training.trajectories import tasks_frame

TASKS = sorted(fresh_tasks(40, "train", 5), key=lambda t: t.task_id)
EASY = {t.task_id for t in TASKS[::2]}
Rate = Callable[[Task], float]


class Nights:
    """Nights of simulated policies on one registry: a policy is a success rate for each task."""

    def __init__(self, folder: Path) -> None:
        self.registry = Registry(url=f"sqlite:///{folder}/registry.db")
        self.doubted = pl.DataFrame(schema=DOUBTED_SCHEMA)

    def key(self, policy: str) -> ResultKey:
        """Same world, verifier and sampler for all of them."""
        return ResultKey(world="w", tools="t", verifier="v", sampler="s", template="c", policy=policy)

    def night(self, policy: str, rate: Rate, *, attempts: int = 320, k: int = 8, watch: float = 0.25) -> Night:
        """Plan, play, record, and say what came of it."""
        key = self.key(policy)
        ledger = ledger_frame(self.registry.ledger())
        plan = night_plan(TASKS, own_rows(ledger, key), kin_rows(ledger, key), attempts=attempts, k=k, watch=watch,
                          kin_weight=2.0)  # fmt: skip
        by_id = {t.task_id: t for t in TASKS}
        played = [
            Outcome(TABLE, key.digest, i, n, policy, "scored", float(unit_hash(policy, i, n) < rate(by_id[i])))
            for i, first in plan.select("task_id", "first").iter_rows()
            for n in range(first, first + k)
        ]
        self.registry.record_result_key(key)
        assert self.registry.record_outcomes(played) == len(played), "no attempt is repeated"
        attempts_so_far = attempts_frame(self.registry.outcomes(result_key=key.digest))
        tonight = attempts_frame(played).select(ATTEMPT)
        found = night_of(TASKS, attempts_so_far, tonight, self.doubted, level=0.001, draws=40_000)
        self.doubted = found.doubted
        return found


def weak(task: Task) -> float:
    return 0.0


def strong(task: Task) -> float:
    return 1.0


def mixed(task: Task) -> float:
    return 1.0 if task.task_id in EASY else 0.0


def regions(night: Night) -> dict[str, str]:
    return dict(night.table.select("task_id", "region").iter_rows())


def test_of_three_policies_tasks_move_both_ways_and_none_is_read_as_anothers(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    last: dict[str, Night] = {}
    for policy, rate in (("A", weak), ("B", strong), ("C", mixed)):
        last[policy] = [nights.night(policy, rate) for _ in range(4)][-1]
        assert last[policy].table["n"].sum() == 4 * 320, "only this policy's attempts are counted"
        assert sorted(last[policy].table["task_id"]) == [t.task_id for t in TASKS], "no task leaves for good"
    assert set(regions(last["A"]).values()) == {"noise"}
    assert set(regions(last["B"]).values()) == {"trivial"}
    moved_down = {i for i, r in regions(last["C"]).items() if r != "trivial"}
    assert moved_down >= {t.task_id for t in TASKS} - EASY, "what B solved and C does not is no longer mastered"
    assert {i for i, r in regions(last["C"]).items() if r == "trivial"} <= EASY
    assert len({i for i, r in regions(last["C"]).items() if r == "trivial"}) > len(EASY) / 2
    again = nights.night("A", weak)
    assert again.table["n"].sum() == 5 * 320
    assert set(regions(again).values()) == {"noise"}, "a policy that comes back finds its own probes"
    assert not any(n.moves for n in (*last.values(), again)), "another policy is no move of a pass rate"


def test_a_fresh_policy_is_undecided_whatever_the_one_before_it_was(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    for _ in range(4):
        nights.night("A", weak)
    first = nights.night("B", strong, attempts=40)
    untried = first.table.filter(pl.col("n") == 0)
    assert len(untried) == 35
    assert "noise" not in set(untried["region"])
    assert first.table["moved_from"].null_count() == len(TASKS)


def test_an_interval_decides_and_evidence_moves_a_task_both_ways_under_one_key() -> None:
    task = TASKS[0]
    rows = [(1.0, 40), (0.0, 40), (1.0, 400)]
    told: list[tuple[str, str | None]] = []
    attempts = attempts_frame([])
    for reward, count in rows:
        start = len(attempts)
        more = attempts_frame(Outcome("s", "k", task.task_id, start + n, "p", "scored", reward) for n in range(count))
        attempts = pl.concat([attempts, more])
        night = night_of([task], attempts, more.select(ATTEMPT), pl.DataFrame(schema=DOUBTED_SCHEMA), level=1e-9)
        [row] = night.table.iter_rows(named=True)
        assert row["low"] < row["mean"] < row["high"]
        assert row["n"] == len(attempts)
        told.append((row["region"], row["moved_from"]))
    assert told == [("trivial", None), ("learnable", "trivial"), ("trivial", "learnable")]


def test_a_task_that_is_always_equally_partly_right_is_a_plateau() -> None:
    half = attempts_frame(Outcome("s", "k", TASKS[0].task_id, n, "p", "scored", 0.5) for n in range(8))
    night = night_of(TASKS, half, half.select(ATTEMPT), pl.DataFrame(schema=DOUBTED_SCHEMA), level=0.001)
    assert regions(night)[TASKS[0].task_id] == "plateau"


def test_lost_attempts_are_in_no_rate() -> None:
    lost = [Outcome("s", "k", TASKS[0].task_id, n, "p", "no_result") for n in range(8)]
    assert attempts_frame(lost).is_empty()


def test_a_world_that_changed_unseen_raises_an_alarm_every_night_until_it_is_mended(tmp_path: Path) -> None:
    nights = Nights(tmp_path)

    def good(task: Task) -> float:
        """The policy as it is."""
        return 0.8

    def broken(task: Task) -> float:
        """The same policy where a tool fails unseen."""
        return 0.1

    calm = [nights.night("A", good, watch=1.0) for _ in range(3)]
    assert not any(night.moves for night in calm)
    for _ in range(3):
        night = nights.night("A", broken, watch=1.0)
        assert {m.kind for m in night.moves} == {"family", "pool"}, "an alarm does not become the new normal"
        assert all(m.tonight < m.expected for m in night.moves)
    assert not nights.night("A", good, watch=1.0).moves
    assert night.table["n"].sum() == 6 * 320, "the ledger keeps all of it"


def test_the_alarm_is_a_check_that_fails_with_its_evidence(tmp_path: Path) -> None:
    lake = Lake(root=str(tmp_path))
    lake.write(MOVES, moves_frame([]))
    assert no_pass_rate_moved_by_itself(lake).passed
    lake.write(MOVES, moves_frame([Move("family", "weather", 9, 72, 0.8, 0.79, 0.1, 1e-4)]))
    result = no_pass_rate_moved_by_itself(lake)
    assert not result.passed
    assert "| family | weather | 9 | 72 | 0.8 |" in str(result.metadata["evidence"].value)


@pytest.mark.parametrize(("keys", "kept", "holds"), [("aa", 2, True), ("ab", 2, False), ("a", 1, False)])
def test_a_table_of_two_policies_or_without_a_task_is_refused(
    tmp_path: Path, keys: Sequence[str], kept: int, *, holds: bool
) -> None:
    lake = Lake(root=str(tmp_path))
    lake.write("tasks/admitted_tasks", tasks_frame([*TASKS[:2], *fresh_tasks(1, "hidden", 0)]))
    lake.write(TABLE, pl.DataFrame({"task_id": [t.task_id for t in TASKS[:kept]], "key": list(keys)}))
    assert nightly_probes_are_of_one_policy_and_hold_every_training_task(lake).passed is holds


def test_the_ledger_of_two_keys_is_refused() -> None:
    two = attempts_frame(Outcome("s", k, TASKS[0].task_id, 0, "p", "scored", 1.0) for k in "ab")
    with pytest.raises(ValueError, match="2 result keys"):
        night_of(TASKS, two, two.select(ATTEMPT), pl.DataFrame(schema=DOUBTED_SCHEMA), level=0.001)


def test_budgets_follow_what_nights_found(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    for _ in range(3):
        nights.night("A", lambda t: 0.6 if t.task_id in EASY else 0.0)
    tonight = nights.night("A", lambda t: 0.6 if t.task_id in EASY else 0.0, attempts=80, watch=0.0)
    tried = set(tonight.table.filter(pl.col("tonight"))["task_id"])
    assert len(tried & EASY) / len(tried) > 0.9
    assert np.isfinite(tonight.table["lps"].to_numpy()).all()
