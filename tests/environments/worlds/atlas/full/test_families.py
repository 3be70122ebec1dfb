"""Families of the full form: gold earns 1, cheats earn 0, in two languages and three splits, and none is nano's."""

import random
import re
from pathlib import Path

import pytest

from environments.policies.scripted import CHEATERS, AlwaysRefuse, Gold, NoOp, OneLook
from environments.task import Call, Task
from environments.world import WorldPool
from environments.worlds.atlas.full.families import FAMILIES, REAL_FAMILIES, REFUSAL_FAMILIES
from environments.worlds.atlas.full.slots import draw_slots
from environments.worlds.atlas.full.tasks import fresh_tasks, phrasings, tasks_of, wordings
from environments.worlds.atlas.tasks import SHARES
from environments.worlds.atlas.world import AtlasWorld
from tests.environments.builders import Script, played
from tests.environments.places_folder import small_places

POOL = WorldPool(lambda: AtlasWorld(brief=False))
TASKS = [t for split in ("train", "hidden") for t in fresh_tasks(88, split, 3)]  # type: ignore[arg-type]


def rewards(policy: object, tasks: list[Task], k: int = 1) -> list[float]:
    return [e.verdict.reward for e in played(tasks, policy, pool=POOL, k=k)]  # type: ignore[arg-type,union-attr]


def test_every_family_has_tasks_in_both_languages_and_none_is_in_the_mixture_of_the_nano_policy() -> None:
    assert {t.family for t in TASKS} == {*FAMILIES, "missing_tool"}
    assert {t.world for t in TASKS} == {"atlas_full"}
    chinese = {t.family for t in TASKS if re.search("[一-鿿]", t.instruction)}
    assert (
        chinese == {t.family for t in TASKS if not re.search("[一-鿿]", t.instruction)} == {*FAMILIES, "missing_tool"}
    )
    assert not (set(FAMILIES) - set(REFUSAL_FAMILIES)) & set(SHARES)
    assert len(set(FAMILIES) - set(REFUSAL_FAMILIES)) >= 6
    assert {c.name for t in TASKS for c in t.gold_calls} == set(AtlasWorld(brief=False).tools()), "every tool is needed"


def test_gold_scores_1_three_times_at_every_task() -> None:
    assert set(rewards(Gold(), TASKS, k=3)) == {1.0}


@pytest.mark.parametrize("cheater", CHEATERS, ids=lambda c: c.version)
def test_cheating_scores_0_at_everything_that_can_be_solved(cheater: type) -> None:
    solvable = [t for t in TASKS if t.goal.reason is None and (cheater is not OneLook or len(t.gold_calls) > 1)]
    assert set(rewards(cheater(), solvable)) == {0.0}


def test_nothing_but_the_right_refusal_scores_at_what_must_be_refused() -> None:
    refused = [t for t in TASKS if t.goal.reason is not None]
    assert {t.family for t in refused} == set(REFUSAL_FAMILIES)
    for cheater in set(CHEATERS) - {AlwaysRefuse, OneLook}:
        assert set(rewards(cheater(), refused)) == {0.0}
    by_id = {t.task_id: t for t in TASKS}
    assert all(by_id[t.twin or ""].goal.reason is None for t in refused), "each beside a twin that can be solved"


def test_the_second_best_is_a_wrong_answer() -> None:
    wrong = [t for t in TASKS if t.goal.reason is None and any(f.kind == "name" for f in t.goal.forbidden)]
    assert len({t.family for t in wrong}) >= 8
    for task in wrong[:40]:
        right = next(f for f in task.goal.required if f.kind == "name")
        other = next(f for f in task.goal.forbidden if f.kind == "name")
        answer = task.gold_answer.replace(right.value, other.value)
        [episode] = played([task], Script(*task.gold_calls, answer), pool=POOL)
        assert episode.verdict.reward == 0.0  # type: ignore[union-attr]


def test_another_way_of_asking_the_tools_is_as_good() -> None:
    task = next(t for t in TASKS if t.family == "cheapest_train_day" and t.split == "train")
    ends, first = task.gold_calls[0].arguments, int(task.gold_calls[0].arguments["date"][-2:])
    days = [
        Call(name="travel_search_trains", arguments={**ends, "date": f"2026-06-{first + i:02d}", "days": 0})
        for i in range(ends["days"] + 1)
    ]
    generous = task.model_copy(update={"max_calls": 12})
    [episode] = played([generous], Script(*days, task.gold_answer), pool=POOL)
    assert episode.verdict.reward == 1.0  # type: ignore[union-attr]
    [partial] = played([generous], Script(*days[:-1], task.gold_answer), pool=POOL)
    assert partial.verdict.reward == 0.0, "a comparison with one side unseen"  # type: ignore[union-attr]


def test_only_the_asked_booking_is_made() -> None:
    task = next(t for t in TASKS if t.family == "book_by")
    assert len(task.goal.bookings) == 1
    [episode] = played([task], Script(*task.gold_calls, task.gold_calls[-1], task.gold_answer), pool=POOL)
    assert episode.verdict.reward == 0.0, "booked twice"  # type: ignore[union-attr]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_wordings_fill_the_slots_of_their_family_and_differ_between_splits(language: str) -> None:
    said = wordings(language)  # type: ignore[arg-type]
    assert set(said) == {*FAMILIES, *REAL_FAMILIES}
    for family, by_split in said.items():
        slots = (FAMILIES.get(family) or REAL_FAMILIES[family]).slots
        assert set(by_split) == {"train", "dev", "hidden"}
        for template in (t for templates in by_split.values() for t in templates):
            named = set(re.findall(r"\{(\w+)\}", template)) - {"money"}
            assert named <= set(slots), f"{family}: {template}"
            assert named >= set(slots) - set("lxwkh" if family == "no_origin" else "lxw"), f"{family}: {template}"
        texts = [t for templates in by_split.values() for t in templates]
        assert len(set(texts)) == len(texts)


def test_a_task_has_many_wordings_and_the_same_goal_for_each() -> None:
    rng = random.Random(5)
    slots = draw_slots("open_best", "train", "en", rng)
    assert len(set(phrasings("open_best", slots, "train", "en", 40, rng))) == 40
    [task] = tasks_of("open_best", 1, "train", "zh", 5, attempts=4)
    assert len({task.instruction, *task.wordings}) == 4


def test_a_family_without_tasks_says_so() -> None:
    with pytest.raises(ValueError, match=r"book_by gives only \d+ of 100000 tasks in dev"):
        import environments.worlds.atlas.full.tasks as module

        kept = module.TRIES
        module.TRIES = -40 * 100000 + 3
        try:
            tasks_of("book_by", 100000, "dev", "en", 1)
        finally:
            module.TRIES = kept


def test_doing_nothing_is_the_goal_of_no_task() -> None:
    assert set(rewards(NoOp(), TASKS)) == {0.0}


def test_tasks_over_a_folder_are_of_its_world(tmp_path: Path) -> None:
    folder = small_places(tmp_path / "places")
    [task] = tasks_of("station", 1, "train", "zh", 2, places=folder)
    assert task.world == "atlas_places"
    [episode] = played([task], Gold(), pool=WorldPool(lambda: AtlasWorld(places=folder)))
    assert episode.verdict.reward == 1.0  # type: ignore[union-attr]
