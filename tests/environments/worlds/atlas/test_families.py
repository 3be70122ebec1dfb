"""Task families: each builds where the world gives one clear answer, and not where it does not."""

import json
import random
import re
from collections import Counter

import pytest

from environments.episode import Attempt
from environments.policies.scripted import CHEATERS, AlwaysRefuse, Gold, NoOp, OneLook
from environments.policy import Action, Answer
from environments.task import Task
from environments.verifiers.veto import UNIT_OF
from environments.worlds.atlas.families import FAMILIES, REFUSAL_FAMILIES, plan_of
from environments.worlds.atlas.tasks import SHARES, draw_slots, fresh_tasks, solvable
from tests.environments.builders import SLOTS, Script, flights, played, task_of

SOLVABLE = sorted(set(FAMILIES) - set(REFUSAL_FAMILIES))


def tasks_of_every_family() -> list[Task]:
    return [*fresh_tasks(150, "train", 3), *fresh_tasks(80, "dev", 3), *fresh_tasks(80, "hidden", 3)]


TASKS = tasks_of_every_family()


def rewards(policy: object, tasks: list[Task], k: int = 1) -> list[float]:
    return [e.verdict.reward for e in played(tasks, policy, k=k)]  # type: ignore[arg-type,union-attr]


@pytest.mark.parametrize("family", SOLVABLE)
def test_every_family_builds_tasks_in_every_split(family: str) -> None:
    for split in ("train", "dev", "hidden"):
        rng = random.Random(7)
        made = [solvable(family, draw_slots(family, split, rng), "?", rng) for _ in range(12)]  # type: ignore[arg-type]
        assert sum(t is not None for t in made) >= 3, f"{family} on {split}"


def test_fresh_tasks_have_the_stated_mixture() -> None:
    counts = Counter(t.family for t in fresh_tasks(1500, "train", 4) if t.twin is not None or t.depth > 0)
    assert set(counts) == set(SHARES)
    refusals = sum(counts[f] for f in REFUSAL_FAMILIES)
    assert 0.05 < refusals / counts.total() < 0.2
    assert {t.depth for t in TASKS} == {0, 1, 2, 3, 4}


def test_gold_scores_1_three_times_at_every_task() -> None:
    assert set(rewards(Gold(), TASKS, k=3)) == {1.0}


@pytest.mark.parametrize("cheater", CHEATERS, ids=lambda c: c.version)
def test_cheating_scores_0_at_everything_that_can_be_solved(cheater: type) -> None:
    solvable_ones = [t for t in TASKS if t.goal.reason is None and (cheater is not OneLook or len(t.gold_calls) > 1)]
    assert set(rewards(cheater(), solvable_ones)) == {0.0}


def test_nothing_but_the_right_refusal_scores_at_what_must_be_refused() -> None:
    refused = [t for t in TASKS if t.goal.reason is not None]
    assert len(refused) > 20
    for cheater in set(CHEATERS) - {AlwaysRefuse, OneLook}:  # one look is all that a lost place takes
        assert set(rewards(cheater(), refused)) == {0.0}
    blanket = dict(zip((t.family for t in refused), rewards(AlwaysRefuse(), refused), strict=True))
    assert blanket == {"missing_tool": 1.0, "out_of_scope": 1.0, "no_origin": 0.0, "unknown_place": 0.0}


def test_every_refusal_stands_beside_a_solvable_twin_of_its_split() -> None:
    by_id = {t.task_id: t for t in TASKS}
    refused = [t for t in TASKS if t.family in REFUSAL_FAMILIES]
    for task in refused:
        assert task.twin is not None
        twin = by_id[task.twin]
        assert twin.goal.reason is None
        assert twin.split == task.split
    assert all(t.twin is None for t in TASKS if t.goal.reason is None)


def test_a_missing_tool_is_the_one_thing_that_differs_from_the_twin() -> None:
    by_id = {t.task_id: t for t in TASKS}
    pairs = [(t, by_id[t.twin or ""]) for t in TASKS if t.family == "missing_tool"]
    assert pairs
    for task, twin in pairs:
        assert task.instruction == twin.instruction
        assert {c.name for c in twin.gold_calls} - set(task.tools)
        assert task.goal.reason == "no_tool"


def test_an_unknown_place_differs_from_its_twin_in_the_place() -> None:
    by_id = {t.task_id: t for t in TASKS}
    for task in (t for t in TASKS if t.family == "unknown_place"):
        assert task.goal.evidence_error == "unknown_place"
        assert [c.name for c in task.gold_calls] == ["weather_forecast_days"]
        assert by_id[task.twin or ""].family == "weather"


def test_the_tools_on_offer_hold_what_the_gold_solution_needs() -> None:
    for task in TASKS:
        assert {c.name for c in task.gold_calls} <= set(task.tools)
        assert task.max_calls == len(task.gold_calls) + 1
        assert len(task.tools) == len(set(task.tools)) >= 3


@pytest.mark.parametrize(
    ("family", "slots"),
    [
        ("weather", {"c": "Parlin"}),
        ("weather", {"d": "on 2026-07-30"}),
        ("flight", {"b": "Versailles"}),
        ("route", {"b": "Tokyo", "m": "on foot"}),
        ("budget", {"p": "153"}),
        ("faster", {"n": "by car"}),
        ("warmer", {"b": "Paris"}),
        ("no_origin", {"b": "Parlin"}),
        ("unknown_place", {"c": "Paris"}),
        ("place", {"k": "pub"}),
        ("place_route", {"k": "pub"}),
        ("train", {"b": "Tokyo"}),
        ("flight_weather", {"b": "Parlin"}),
        ("premise", {"c": "Parlin"}),
        ("fly_or_train", {"b": "Tokyo"}),
        ("warm_flight", {"c": "Parlin", "b": "Oslo"}),
        ("book_flight", {"b": "Parlin"}),
    ],
)
def test_no_task_where_the_world_gives_no_clear_answer(family: str, slots: dict[str, str]) -> None:
    assert plan_of(family, {**SLOTS, **slots}) is None


def test_differences_too_small_to_argue_about_make_no_task() -> None:
    fares = {p: plan_of("budget", {**SLOTS, "p": str(p)}) for p in range(140, 165)}
    assert [p for p, plan in fares.items() if plan is None] == list(range(148, 157)), "the fare is 152 euros"
    said = {p: plan.answer.split(",")[0] for p, plan in fares.items() if plan}
    assert (said[147], said[157]) == ("no", "yes")


def test_comparisons_name_the_better_one_whichever_comes_first() -> None:
    assert task_of("warmer").gold_answer == task_of("warmer", a="Lyon", b="Paris").gold_answer == "Paris, 26 degrees."
    ways = {"m": "by public transport", "n": "by car"}
    assert task_of("faster").gold_answer == task_of("faster", **ways).gold_answer == "driving, 358 minutes."


def test_a_true_premise_is_confirmed_and_a_false_one_corrected() -> None:
    assert task_of("premise", s="sunny").gold_answer == "no, cloudy, 26 degrees."
    assert task_of("premise", s="cloudy").gold_answer == "yes, cloudy, 26 degrees."


def test_a_booking_task_ends_with_exactly_one_booking() -> None:
    for family in ("book_flight", "book_train"):
        [booking] = task_of(family).goal.bookings
        assert (booking.kind, booking.origin, booking.destination) == (family[5:], "Paris", "Lyon")


class ReadsBack(Gold):
    """Makes the right calls, then says everything that came back, each number with its unit."""

    version = "reads-back"

    def next(self, attempt: Attempt) -> Action:
        """A gold call, or all there is."""
        action = super().next(attempt)
        seen = json.dumps([s.observation for s in attempt.steps])
        for field, unit in UNIT_OF.items():
            seen = re.sub(rf'"{field}": ([\d.]+)', rf"\1 {unit}" if field != "rating" else r"rated \1", seen)
        return Answer(f"yes, {seen}") if isinstance(action, Answer) else action


def test_saying_everything_that_came_back_earns_nothing_where_there_is_a_choice() -> None:
    one_fact = {"weather", "route", "book_flight", "book_train", *REFUSAL_FAMILIES}
    choices = [t for t in TASKS if t.family not in one_fact and not t.gold_answer.startswith("yes")]
    assert len({t.family for t in choices}) >= 10
    assert set(rewards(ReadsBack(), choices)) == {0.0}


def test_doing_nothing_is_not_the_goal_of_any_task() -> None:
    assert set(rewards(NoOp(), TASKS)) == {0.0}


def test_a_search_alone_solves_no_task() -> None:
    assert set(rewards(Script(flights(), ""), TASKS)) == {0.0}
