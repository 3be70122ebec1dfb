"""What the gate finds of a task: sound ones pass every check, and each hole is found by what is there for it."""

from collections import Counter
from typing import Any

import pytest

from environments.episode import Attempt, Scored
from environments.gate.audit import unearned
from environments.gate.broken import BROKEN
from environments.gate.examine import Depth, examined, gate_version
from environments.gate.finding import Bound, Finding, Kind, Status, broke_the_verifier, exploits_among, first_failure
from environments.gate.ground import Ground
from environments.gate.labelled import broken_tasks, caught_by, good_tasks, known, right_answers
from environments.gate.witness import Plan
from environments.task import Goal, Task
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import World, WorldFailure
from environments.worlds.atlas.world import AtlasWorld
from tests.environments.builders import flights, forecast, task_of


def ground(verifier: Any = None, world: type[AtlasWorld] = AtlasWorld) -> Ground:
    return Ground.of(world, verifier or OutcomeVerifier())


def failed(task: Task, *, verifier: Any = None, deep: bool = False, world: type[AtlasWorld] = AtlasWorld) -> list[str]:
    found = examined([task], ground(verifier, world), Depth(deep=deep, budget=60))[task.task_id]
    return [f.check for f in found if f.failed]


def test_a_sound_task_of_each_family_passes_plainly_and_deeply() -> None:
    tasks = good_tasks()
    found = examined(tasks, ground(), Depth(deep=True, budget=40))
    assert {t.task_id: first_failure(found[t.task_id]) for t in tasks} == {t.task_id: None for t in tasks}
    kinds = Counter(f.kind for findings in found.values() for f in findings)
    assert {Kind.SOUND, Kind.CHEAT, Kind.ATTACK, Kind.CHANGED} <= set(kinds)
    checks = {f.check for findings in found.values() for f in findings if f.kind is Kind.CHANGED}
    assert {"framed", "reordered", "looked_twice", "renamed", "renamed_and_spoiled"} <= checks
    assert {"wrong_number", "missing_fact", "extra_claim", "swapped_entity", "missing_look", "missing_write"} <= checks


@pytest.mark.parametrize("kind", BROKEN)
def test_every_kind_of_broken_task_is_caught_by_the_check_for_it(kind: str) -> None:
    broken = broken_tasks()[kind]
    check = caught_by(broken, OutcomeVerifier())
    assert check is not None
    assert check.startswith(broken.broken.check)


def test_the_labelled_set_is_large_and_the_gate_knows_it() -> None:
    answers = list(right_answers())
    assert len(answers) + len(good_tasks()) >= 150
    assert len({a.text for a in answers}) > 130
    assert {a.task.family for a in answers} >= {t.family for t in good_tasks()} - {"missing_tool"}
    found = known(OutcomeVerifier())
    assert found.caught == Bound(len(BROKEN), len(BROKEN))
    assert found.false_rejections.rate < 0.03, found.turned_down
    assert not [d for d in found.turned_down if d.what == "task"], "no good task is turned down"


class Substring(OutcomeVerifier):
    """A careless verifier: every required value somewhere in the answer, and it says which is missing."""

    version = "substring"

    def grade(self, attempt: Attempt, world: World) -> Scored:
        """Any attempt."""
        missing = [f.value for f in attempt.task.goal.required if f.value not in (attempt.answer or "")]
        right = not missing
        return Scored(float(right), float(right), False, "ok" if right else "missing_fact", "".join(missing[:1]))


class Forgetful(OutcomeVerifier):
    """A verifier that says something else each time."""

    version = "forgetful"
    asked = 0

    def grade(self, attempt: Attempt, world: World) -> Scored:
        """Any attempt."""
        Forgetful.asked += 1
        return Scored(1.0, 1.0, False, "ok", str(Forgetful.asked))


def test_a_verifier_that_can_be_gamed_is_caught_plainly_and_by_the_attacker_that_reads_its_verdicts() -> None:
    task = task_of("warmer")
    assert {"hedger-1", "no-look-1"} <= set(failed(task, verifier=Substring()))
    from environments.gate.attack import attacked

    found = attacked(task, ground(Substring()), budget=300)
    assert found.failed
    assert "never saw anything" in found.evidence


def test_a_verifier_that_contradicts_itself_is_caught() -> None:
    found = examined([task_of("weather")], ground(Forgetful()), Depth())
    [bad] = [f for f in next(iter(found.values())) if f.check == "gold"]
    assert bad.failed
    assert "two verdicts on one attempt" in bad.evidence


def test_a_broken_verifier_does_not_stop_the_other_tasks() -> None:
    sound = task_of("weather")
    broken = BROKEN["the verifier breaks"].make(task_of("route"))
    found = examined([sound, broken], ground(), Depth())
    assert first_failure(found[sound.task_id]) is None
    [gold] = [f for f in found[broken.task_id] if f.check == "gold"]
    assert gold.evidence.startswith("the verifier broke: ValueError: could not convert string to float: 'some'")


class Touchy(OutcomeVerifier):
    """A verifier that stumbles over an answer without a letter, as cheating policies give."""

    version = "touchy"

    def grade(self, attempt: Attempt, world: World) -> Scored:
        """Any attempt."""
        first = next(c for c in attempt.answer or "" if c.isalpha())
        return super().grade(attempt, world) if first else Scored(0.0, 0.0, False, "empty")


def test_a_cheat_that_makes_the_verifier_stumble_keeps_the_task_out_and_is_counted() -> None:
    task = task_of("weather")
    found = examined([task], ground(Touchy()), Depth())[task.task_id]
    broke = broke_the_verifier(found)
    assert {f.kind for f in broke} == {Kind.CHEAT}
    assert first_failure(found) == broke[0]
    assert "StopIteration" in broke[0].evidence


class Lost(AtlasWorld):
    """A world whose forecasts are down."""

    def call(self, name: str, arguments: Any) -> Any:
        """Any tool but one."""
        if name == "weather_forecast_days":
            raise WorldFailure("the forecast server is down")
        return super().call(name, arguments)


def test_our_own_failure_is_no_finding_against_a_task() -> None:
    task = task_of("weather")
    found = examined([task], ground(world=Lost), Depth())[task.task_id]
    assert not any(f.failed for f in found)
    gold = next(f for f in found if f.check == "gold")
    assert (gold.status, gold.evidence) == (Status.NO_RESULT, "the forecast server is down")


def audit(task: Task, plan: Plan) -> str | None:
    own = ground()
    [episode] = own.run(task, [plan])
    return unearned(task, episode, own)


def test_a_score_is_earned_by_the_work_whatever_the_words_and_the_order() -> None:
    task = task_of("warmer")
    assert audit(task, Plan(task.gold_calls[::-1], f"It is {task.gold_answer}")) is None
    assert audit(task, Plan((*task.gold_calls, flights()), task.gold_answer)) is None


def test_a_score_is_not_earned_without_looks_writes_or_a_clean_answer() -> None:
    task, book = task_of("warmer"), task_of("book_flight")
    told = {
        "1 of 2 needed results never seen": (task, Plan(task.gold_calls[:1], task.gold_answer)),
        "it never saw anything of what the gold solution saw": (task, Plan((), task.gold_answer)),
        "the answer lacks": (task, Plan(task.gold_calls, "warm.")),
        "the answer also says": (task, Plan(task.gold_calls, f"{task.gold_answer} or Paris or Lyon.")),
        "nobody gave the number 777": (task, Plan(task.gold_calls, f"{task.gold_answer} 777")),
        "writes {} instead of": (book, Plan(book.gold_calls[:1], book.gold_answer)),
        "writes {'travel_book_ticket': 2} instead": (
            book,
            Plan((*book.gold_calls, book.gold_calls[1]), book.gold_answer),
        ),
    }
    for why, (asked, plan) in told.items():
        assert (audit(asked, plan) or "").startswith(why), why
    nothing = task.model_copy(update={"goal": Goal()})
    assert audit(nothing, Plan(task.gold_calls, "")) == "the goal asks for nothing"


def test_a_refusal_is_earned_by_its_investigation_beside_a_twin() -> None:
    lost = task_of("unknown_place", "Weather in Qxanadu?", c="Qxanadu")
    looked = Plan(lost.gold_calls, lost.gold_answer)
    assert audit(lost, looked) == "a refusal that stands beside no solvable twin"
    beside = lost.model_copy(update={"twin": "t"})
    assert audit(beside, looked) is None
    unseen = audit(beside, Plan((forecast(),), lost.gold_answer))
    assert unseen == "refused without having met unknown_place"


def test_bounds_are_clopper_pearson() -> None:
    assert Bound(0, 60).upper == pytest.approx(0.0487, abs=1e-4)
    assert Bound(3, 3).upper == Bound(0, 0).upper == 1.0
    tried = [Finding(Kind.CHEAT, "a", s) for s in (Status.PASSED, Status.FAILED, Status.EARNED, Status.NO_RESULT)]
    assert exploits_among([*tried, Finding(Kind.SOUND, "gold", Status.FAILED)]) == Bound(1, 3)


def test_the_version_of_the_gate_is_of_all_its_code() -> None:
    assert gate_version() == gate_version()
    assert gate_version().startswith("gate-")
