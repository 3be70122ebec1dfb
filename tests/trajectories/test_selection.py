"""Which tasks the teacher solves: a share of groups for the warm-up, then certain tasks by learnability."""

from collections import Counter

import polars as pl
import pytest

from assets.trajectories.selection import adaptive_plan, in_warm_up, not_held_back, warm_up
from environments.worlds.atlas.tasks import fresh_tasks

TASKS = fresh_tasks(300, "train", 12)


def regions(**columns: list[object]) -> pl.DataFrame:
    return pl.DataFrame({"task_id": [f"t{i:03d}" for i in range(len(columns["lps"]))], **columns})


def test_the_warm_up_is_a_share_by_group_whatever_else_there_is() -> None:
    chosen = warm_up(TASKS, 0.4)
    assert len(chosen) / len(TASKS) == pytest.approx(0.4, abs=0.08)
    assert [t.task_id for t in chosen] == sorted(t.task_id for t in chosen)
    assert warm_up(TASKS[::-1], 0.4) == chosen
    assert {t.task_id for t in warm_up(TASKS[:50], 0.4)} <= {t.task_id for t in chosen}
    assert {t.task_id for t in chosen} <= {t.task_id for t in warm_up(TASKS, 0.6)}


def test_a_group_is_in_the_warm_up_as_a_whole() -> None:
    varied = [t.model_copy(update={"group": f"g{i // 5}", "instruction": str(i)}) for i, t in enumerate(TASKS)]
    sizes = Counter(t.group for t in warm_up(varied, 0.5))
    assert set(sizes.values()) == {5}
    assert all(in_warm_up(group, 0.5) for group in sizes)


def test_an_empty_warm_up_says_what_to_change() -> None:
    with pytest.raises(ValueError, match="none of 300 training tasks falls into a warm-up share of 1e-09"):
        warm_up(TASKS, 1e-9)


def test_only_certain_and_learnable_tasks_get_a_teacher_and_the_more_learnable_more_attempts() -> None:
    frame = regions(lps=[0.12, 0.06, 0.0, 0.12, 0.015], certain=[True, True, True, False, True])
    assert adaptive_plan(frame, 10, 8, 0) == {"t000": 8, "t001": 4, "t004": 1}


def test_a_plan_draws_by_learnability_and_by_seed() -> None:
    frame = regions(lps=[0.10] * 100 + [0.01] * 100, certain=[True] * 200)
    drawn = Counter(int(i[1:]) < 100 for seed in range(20) for i in adaptive_plan(frame, 30, 8, seed))
    assert drawn[True] > 5 * drawn[False] > 0
    assert adaptive_plan(frame, 30, 8, 1) == adaptive_plan(frame.sample(fraction=1, shuffle=True, seed=2), 30, 8, 1)
    assert adaptive_plan(frame, 30, 8, 1) != adaptive_plan(frame, 30, 8, 2)


def test_tiny_learnabilities_are_drawn_by_weight_and_not_by_name() -> None:
    frame = regions(lps=[1e-6] * 200, certain=[True] * 200)
    chosen = [int(i[1:]) for i in adaptive_plan(frame, 50, 8, 0)]
    assert 60 < sum(chosen) / len(chosen) < 140


def test_a_share_of_whole_groups_is_held_back_for_probes() -> None:
    frame = pl.DataFrame({"task_id": [f"t{i:03d}" for i in range(300)], "group": [f"g{i // 3}" for i in range(300)]})
    kept = not_held_back(frame, 0.2)
    assert len(kept) / 300 == pytest.approx(0.8, abs=0.1)
    assert set(Counter(kept["group"]).values()) == {3}
    assert set(not_held_back(frame, 0.4)["group"]) <= set(kept["group"])
    assert not_held_back(frame, 0.0).equals(frame)


def test_nothing_learnable_is_an_empty_plan() -> None:
    assert adaptive_plan(regions(lps=[0.0, 0.1], certain=[True, False]), 10, 8, 0) == {}
