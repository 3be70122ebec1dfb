"""The gate: sound tasks pass, broken ones go to quarantine with the evidence, and nothing is lost."""

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from assets.tasks.admission import (
    WAITS,
    Admission,
    Rejection,
    admit,
    gate_numbers,
    known_frame,
    quarantine_frame,
    report_frame,
)
from environments.episode import Attempt, Scored
from environments.gate.broken import Sticky
from environments.gate.finding import Bound, Kind
from environments.gate.labelled import Known, TurnedDown
from environments.gate.run import Setting, Thoroughness
from environments.rollout import MakeWorld
from environments.task import Goal, Task
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import World, WorldFailure
from environments.worlds.atlas.tasks import fresh_tasks
from environments.worlds.atlas.world import AtlasWorld
from environments.worlds.catalogue import world_maker
from tests.environments.builders import task_of

SOUND = fresh_tasks(40, "train", 6)


def gate(
    tasks: Sequence[Task], make_world: Callable[[str], MakeWorld] = world_maker, store: Path | None = None
) -> Admission:
    return admit(tasks, Setting(OutcomeVerifier(), store, None, make_world), Thoroughness(sample=0))


def only(found: Admission) -> Rejection:
    [rejection] = found.rejected
    return rejection


def test_sound_tasks_pass_and_what_was_tried_is_counted() -> None:
    found = gate(SOUND)
    assert found.admitted == SOUND
    assert found.rejected == []
    tried = sum(f.kind is Kind.CHEAT for findings in found.findings.values() for f in findings)
    assert found.exploits == found.exploits_left == Bound(0, tried)
    assert tried > 10 * len(SOUND)
    assert 0 < found.exploits.upper < 3.1 / tried, "the rule of three"


def test_a_wrong_gold_solution_is_caught() -> None:
    broken = task_of("weather").model_copy(update={"gold_answer": "sunny, 26 degrees."})
    found = gate([*SOUND, broken])
    assert only(found)[:2] == (broken.task_id, "gold")
    assert "hallucination" in only(found).evidence
    assert found.admitted == SOUND


def test_a_goal_that_holds_before_the_first_step_is_caught() -> None:
    broken = task_of("weather").model_copy(update={"goal": Goal()})
    found = gate([broken])
    assert only(found)[:2] == (broken.task_id, "no-op-1")
    assert "the goal asks for nothing" in only(found).evidence
    assert found.admitted == []
    assert found.exploits.upper > found.exploits.rate > 0
    assert found.exploits_left == Bound(0, 0)


def test_a_twin_that_fails_takes_its_refusal_along() -> None:
    twin = task_of("flight").model_copy(update={"gold_answer": "wrong."})
    refusal = task_of("no_origin").model_copy(update={"twin": twin.task_id})
    found = gate([twin, refusal])
    assert found.admitted == []
    assert [(r.task_id, r.check) for r in found.rejected] == sorted([(twin.task_id, "gold"), (refusal.task_id, "twin")])


def test_a_refusal_whose_twin_is_not_there_is_caught_and_one_that_names_none() -> None:
    lost = task_of("no_origin").model_copy(update={"twin": "nobody"})
    assert only(gate([lost])) == Rejection(lost.task_id, "twin", "its twin nobody was not admitted")
    alone = task_of("no_origin")
    blanket = only(gate([alone]))
    assert blanket.check == "always-refuse-missing-origin-1", "refusing everything would pay"
    assert blanket.evidence.startswith("a refusal that stands beside no solvable twin")


def test_a_refusal_that_fails_leaves_its_twin() -> None:
    twin = task_of("flight")
    broken = task_of("no_origin").model_copy(update={"twin": twin.task_id, "gold_answer": "Paris?"})
    found = gate([twin, broken])
    assert found.admitted == [twin]
    assert only(found)[:2] == (broken.task_id, "gold")


def test_tasks_of_several_worlds_are_examined_each_in_its_own() -> None:
    tasks = [task_of("weather"), task_of("book_flight").model_copy(update={"world": "sticky"})]
    found = gate(tasks, lambda name: Sticky if name == "sticky" else AtlasWorld)
    assert only(found)[:2] == (tasks[1].task_id, "reset")
    assert " became " in only(found).evidence
    assert found.admitted == tasks[:1]


class Lost(AtlasWorld):
    """A world that cannot be called."""

    def call(self, name: str, arguments: object) -> object:
        """Nothing."""
        raise WorldFailure("no world today")


def test_a_task_that_we_could_not_examine_waits_and_passes_when_we_can(tmp_path: Path) -> None:
    task = task_of("weather")
    found = gate([task], lambda name: Lost, tmp_path / "f.db")
    assert only(found) == Rejection(task.task_id, WAITS, "gold: no world today")
    assert gate([task], store=tmp_path / "f.db").admitted == [task]


def test_a_hidden_task_that_was_trained_on_is_caught_and_the_training_task_stays() -> None:
    known = task_of("weather")
    again = task_of("weather", "Tell me how Paris looks on June 12").model_copy(update={"split": "hidden"})
    found = gate([known, again])
    assert only(found) == Rejection(again.task_id, "not_in_training", "a training task has the same solution")
    assert found.admitted == [known]


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
    assert turned.rejected == found.rejected


def test_nothing_admitted_is_nothing_lost() -> None:
    found = gate([])
    assert (found.admitted, found.rejected, found.exploits, found.exploits.upper) == ([], [], Bound(0, 0), 1.0)


def test_the_report_has_a_row_for_each_check_and_the_quarantine_what_it_turned_down() -> None:
    tasks = [*SOUND[:3], task_of("weather").model_copy(update={"gold_answer": "sunny."})]
    found = gate(tasks)
    report = report_frame(tasks, found.findings)
    assert len(report) == sum(map(len, found.findings.values()))
    assert report.filter(pl.col("status") == "failed")["task_id"].unique().to_list() == [tasks[3].task_id]
    assert report["task_id"].is_sorted()
    quarantine = quarantine_frame(tasks, found.rejected)
    assert quarantine.select("task_id", "check", "family").rows() == [(tasks[3].task_id, "gold", "weather")]
    assert quarantine_frame(tasks, []).columns == quarantine.columns


class ReadsReward(OutcomeVerifier):
    """A verifier that believes a reward that stands in the answer."""

    version = "reads-reward"

    def grade(self, attempt: Attempt, world: World) -> Scored:
        """Any attempt."""
        graded = super().grade(attempt, world)
        return Scored(1.0, 1.0, vetoed=False, cause="ok") if '"reward": 1.0' in (attempt.answer or "") else graded


def test_writing_the_reward_is_flagged_with_the_task_on_the_report() -> None:
    tasks = [task_of("weather"), task_of("train")]
    found = admit(tasks, Setting(ReadsReward()), Thoroughness(everything=True, budget=16))
    report = report_frame(tasks, found.findings).filter(pl.col("status") == "failed")
    for check in ("garbage-1", "reward-writer-1"):
        assert set(report.filter(pl.col("check") == check)["task_id"]) == {t.task_id for t in tasks}
    assert found.admitted == []


def test_the_numbers_tell_of_the_tasks_and_of_the_gate_itself() -> None:
    gate_itself = Known(Bound(2, 100), [TurnedDown("weather, chatty", "Sunny!", "missing_fact")], Bound(13, 14), ["a"])
    numbers = gate_numbers(gate(SOUND[:4]), gate_itself)
    assert (numbers["compiled"], numbers["quarantined"], numbers["admission_yield"]) == (4, 0, 1.0)
    assert (numbers["false_rejection_rate"], numbers["broken_caught"]) == (0.02, 13 / 14)
    assert known_frame(gate_itself).rows() == [
        ("turned down", "weather, chatty", "Sunny!", "missing_fact"),
        ("let through", "a", "", ""),
    ]
