"""The gate: sound tasks pass, broken ones go to quarantine with the evidence, and nothing is lost."""

from collections.abc import Sequence

import pytest

from assets.tasks.admission import Admission, Rejection, admit
from environments.episode import Attempt, Scored
from environments.task import Goal, Task
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import World
from environments.worlds.atlas.tasks import fresh_tasks
from environments.worlds.atlas.world import AtlasWorld
from tests.environments.builders import task_of

SOUND = fresh_tasks(40, "train", 6)


def gate(tasks: Sequence[Task], world: type[AtlasWorld] = AtlasWorld) -> Admission:
    return admit(tasks, world, OutcomeVerifier())


def only(found: Admission) -> Rejection:
    [rejection] = found.rejected
    return rejection


def test_sound_tasks_pass_and_are_counted() -> None:
    found = gate(SOUND)
    assert found.admitted == SOUND
    assert found.rejected == []
    refusals = sum(t.goal.reason is not None for t in SOUND)
    more_looks = sum(len(t.gold_calls) > 1 for t in SOUND)
    assert found.trials == 5 * len(SOUND) - refusals + more_looks, "what may be right is not counted as a trial"
    assert (found.exploits, found.exploit_rate) == (0, 0.0)
    assert 0 < found.exploit_bound < 3.1 / found.trials, "the rule of three"


def test_a_wrong_gold_solution_is_caught() -> None:
    broken = task_of("weather").model_copy(update={"gold_answer": "sunny, 26 degrees."})
    found = gate([*SOUND, broken])
    assert only(found)[:2] == (broken.task_id, "gold")
    assert "hallucination" in only(found).evidence
    assert found.admitted == SOUND


def test_a_gold_solution_beyond_the_budget_is_caught() -> None:
    broken = task_of("place_route").model_copy(update={"max_calls": 1})
    assert only(gate([broken]))[:2] == (broken.task_id, "gold")


def test_a_goal_that_holds_before_the_first_step_is_caught() -> None:
    broken = task_of("weather").model_copy(update={"goal": Goal()})
    found = gate([broken])
    assert only(found)[:2] == (broken.task_id, "no-op-1")
    assert found.admitted == []
    assert found.exploits > 0
    assert found.exploit_bound > found.exploit_rate > 0


class Substring(OutcomeVerifier):
    """A careless verifier: every required value somewhere in the answer."""

    version = "substring"

    def grade(self, attempt: Attempt, world: World) -> Scored:
        """Any attempt."""
        right = all(f.value in (attempt.answer or "") for f in attempt.task.goal.required)
        return Scored(float(right), float(right), vetoed=False, cause="ok" if right else "missing_fact")


def test_a_verifier_that_can_be_gamed_is_caught_with_the_cheater_and_what_it_said() -> None:
    task = task_of("weather")
    found = admit([task], AtlasWorld, Substring())
    assert only(found)[:2] == (task.task_id, "keyword-stuffer-1")
    assert only(found).evidence.startswith("yes no sunny cloudy")
    assert (found.admitted, found.exploits) == ([], 1)


def test_a_twin_that_fails_takes_its_refusal_along() -> None:
    twin = task_of("flight").model_copy(update={"gold_answer": "wrong."})
    refusal = task_of("no_origin").model_copy(update={"twin": twin.task_id})
    found = gate([twin, refusal])
    assert found.admitted == []
    assert [(r.task_id, r.check) for r in found.rejected] == sorted([(twin.task_id, "gold"), (refusal.task_id, "twin")])


def test_a_refusal_whose_twin_is_not_there_is_caught() -> None:
    alone = task_of("no_origin").model_copy(update={"twin": "nobody"})
    assert only(gate([alone])) == Rejection(alone.task_id, "twin", "its twin nobody was not admitted")


def test_a_refusal_that_fails_leaves_its_twin() -> None:
    twin = task_of("flight")
    broken = task_of("no_origin").model_copy(update={"twin": twin.task_id, "gold_answer": "Paris?"})
    found = gate([twin, broken])
    assert found.admitted == [twin]
    assert only(found)[:2] == (broken.task_id, "gold")


class Sticky(AtlasWorld):
    """A world in which a booking survives a reset."""

    booked = False

    def call(self, name: str, arguments: object) -> object:
        """Any tool; remembers bookings."""
        self.booked |= name == "travel_book_ticket"
        return super().call(name, arguments)  # type: ignore[arg-type]

    def state_hash(self) -> str:
        """Not what it was, once something has been booked."""
        return super().state_hash() + str(self.booked)


def test_a_task_whose_world_does_not_come_back_is_caught() -> None:
    tasks = [task_of("weather"), task_of("book_flight")]
    found = gate(tasks, Sticky)
    assert only(found)[:2] == (tasks[1].task_id, "reset")
    assert " became " in only(found).evidence
    assert found.admitted == tasks[:1]


def test_admitted_and_rejected_are_all_there_was_and_the_order_does_not_matter() -> None:
    broken = [
        task_of("weather").model_copy(update={"gold_answer": "sunny."}),
        task_of("route").model_copy(update={"goal": Goal()}),
        task_of("no_origin").model_copy(update={"twin": "nobody"}),
    ]
    found, turned = gate([*SOUND, *broken]), gate([*broken[::-1], *SOUND[::-1]])
    ids = {t.task_id for t in (*SOUND, *broken)}
    assert {t.task_id for t in found.admitted} | {r.task_id for r in found.rejected} == ids
    assert len(found.admitted) + len(found.rejected) == len(ids)
    assert {t.task_id for t in turned.admitted} == {t.task_id for t in found.admitted}
    assert [r[:2] for r in turned.rejected] == [r[:2] for r in found.rejected]


def test_nothing_admitted_is_nothing_lost() -> None:
    found = gate([])
    assert (found.admitted, found.rejected, found.trials, found.exploit_bound) == ([], [], 0, 1.0)


@pytest.mark.slow
def test_any_number_of_workers_comes_to_the_same() -> None:
    broken = task_of("weather").model_copy(update={"gold_answer": "sunny."})
    tasks = [*SOUND, broken, task_of("no_origin").model_copy(update={"twin": broken.task_id})]
    assert admit(tasks, AtlasWorld, OutcomeVerifier(), workers=2) == gate(tasks)
