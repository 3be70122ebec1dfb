"""The admission gate on tau2's domains: what inaction earns there, what is wrong with the gold, what is left after."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assets.tasks.tau2_gate import Tau2Gate, gate_tau2
from environments.formats.tau2 import calls_of, read_domain
from environments.formats.tau2_score import changes_of, free_text_arguments, tau2_score
from environments.policies.looking import LooksThenRefuses
from environments.rollout import rollouts
from environments.task import Call
from environments.tool import Effect
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import WorldPool
from environments.worlds.airline.world import AirlineWorld
from environments.worlds.catalogue import world_maker
from environments.worlds.documents import canonical
from environments.worlds.retail.world import RetailWorld
from tests.environments.tau2_folders import raw, small_tau2

AIRLINE_NOTHING = [*map(str, (0, 1, 2, 4, 5, 6, 9, 10, 13, 26, 27, 28, 31, 34, 36, 38, 41, 43, *range(45, 50)))]
"""What doing nothing passes with nothing but the state and the strings scored."""
RETAIL_NOTHING = [*map(str, (10, 12, 25, 50, 57, 65))]
RETAIL_ERRORS = [*map(str, (2, 3, 4, 35, 37, 38, 39, 46, 47, 54, 55, 64, 67, 68, 105))]
NUMBERS_IN_TEXT = {"30", "31", "32", "43", "62", "63", "103", "104"}
"""Tasks whose answer states a number that the tools show inside a text: a parcel's, an address's, "20 hours"."""
WEIGHED = {"10", "31", "34"}
"""Refusals that turn on a price which the user weighs in the conversation."""


@pytest.fixture(scope="module")
def corpora() -> Path:
    root = Path(os.environ.get("LOOPWRIGHT_CORPORA", ""))
    if not (root / "tasks/tau2/retail/db.json").is_file():
        pytest.skip("tau2's domains: set LOOPWRIGHT_CORPORA to the folder that holds tasks/tau2")
    return root


@pytest.fixture(scope="module")
def airline(corpora: Path) -> Tau2Gate:
    return gate_tau2(corpora, "airline", OutcomeVerifier())


@pytest.fixture(scope="module")
def retail(corpora: Path) -> Tau2Gate:
    return gate_tau2(corpora, "retail", OutcomeVerifier())


@pytest.mark.corpora
def test_the_gold_actions_of_the_airline_replay_without_an_error(airline: Tau2Gate) -> None:
    assert (airline.actions, airline.imported.failed) == (142, [])
    assert airline.before.same_state == sorted([*AIRLINE_NOTHING, "3"], key=int)


@pytest.mark.corpora
def test_the_gold_actions_of_the_shop_replay_with_the_18_known_errors(retail: Tau2Gate) -> None:
    failed = retail.imported.failed
    assert (retail.actions, len(failed)) == (550, 18)
    assert sorted({f.name for f in failed}, key=int) == RETAIL_ERRORS
    assert [(f.name, f.call.name) for f in failed if f.writes] == [
        (name, "exchange_delivered_order_items") for name in ("64", "105")
    ]
    assert retail.before.same_state == sorted([*RETAIL_NOTHING, "24", "62", "67", "68", "105"], key=int)


@pytest.mark.corpora
def test_doing_nothing_passes_23_and_6_of_them_as_tau2_scores(airline: Tau2Gate, retail: Tau2Gate) -> None:
    assert airline.before.passed_by_nothing() == AIRLINE_NOTHING
    assert retail.before.passed_by_nothing() == RETAIL_NOTHING


@pytest.mark.corpora
def test_every_refusal_is_strengthened_or_set_aside_with_the_reason(airline: Tau2Gate, retail: Tau2Gate) -> None:
    ends = {f.name: f for f in airline.findings}
    assert {n for n in AIRLINE_NOTHING if ends[n].outcome == "set_aside"} == WEIGHED
    assert all(ends[n].check == "refusal" for n in set(AIRLINE_NOTHING) - WEIGHED)
    assert all(f.check == "refusal" for f in retail.findings if f.name in RETAIL_NOTHING)
    for gate in (airline, retail):
        admitted = {t.task_id: t for t in gate.examined.admitted}
        refusals = [t for t in admitted.values() if t.goal.reason]
        assert all(t.goal.seen and t.twin in admitted for t in refusals)
        assert all(admitted[t.twin or ""].goal.changes for t in refusals), "a twin is solved by a write"


@pytest.mark.corpora
def test_a_failing_gold_write_is_quarantined_by_the_action_that_fails(retail: Tau2Gate) -> None:
    ends = {f.name: f for f in retail.findings}
    assert {n for n, f in ends.items() if f.check == "gold_write_failed"} == {"64", "105"}
    assert ends["64"].evidence.startswith("exchange_delivered_order_items #W7464385: ")
    assert "gift_card_too_small" in ends["105"].evidence
    assert not any(t.query_id in ("tau2:retail:64", "tau2:retail:105") for t in retail.imported.tasks)


@pytest.mark.corpora
def test_after_the_gate_neither_inaction_nor_refusing_everything_earns(airline: Tau2Gate, retail: Tau2Gate) -> None:
    for gate in (airline, retail):
        assert set(gate.earned.values()) == {0.0}
        assert gate.examined.exploits == 0
        assert not [r for r in gate.examined.rejected if r.check != "gold"]


@pytest.mark.corpora
def test_gold_passes_our_verifier_or_is_quarantined_for_what_it_says(airline: Tau2Gate, retail: Tau2Gate) -> None:
    assert airline.outcomes() == {"taken_over": 21, "strengthened": 26, "set_aside": 3}
    assert airline.examined.rejected == []
    lost = [f for f in retail.findings if f.check == "gold"]
    assert {f.name for f in lost} <= NUMBERS_IN_TEXT
    assert all("hallucination" in f.evidence for f in lost), "the states all are reached"


@pytest.mark.corpora
def test_strings_of_one_or_two_characters_are_typed(airline: Tau2Gate, retail: Tau2Gate) -> None:
    facts = [f for gate in (airline, retail) for t in gate.imported.tasks for f in t.goal.required]
    short = {(f.value, f.kind, f.unit) for f in facts if len(f.value) < 3}
    assert short == {
        ("4", "number", "bags"), ("10", "number", "options"), ("60", "number", "dollars"), ("20", "number", "hours"),
        ("IL", "name", None),
    }  # fmt: skip
    assert not [a for gate in (airline, retail) for a in gate.imported.aside if a.cause == "short_fact"]


@pytest.mark.corpora
def test_where_the_parts_of_tau2s_reward_disagree_is_reported(airline: Tau2Gate, retail: Tau2Gate) -> None:
    paid = [n for n, score in airline.before.no_op.items() if score.paid_without_action]
    assert paid == [n for n in AIRLINE_NOTHING if n not in ("0", "10", "26", "28", "31", "34", "46")]
    unpaid = [n for n, score in airline.before.silent.items() if score.unpaid_with_all_actions]
    assert unpaid == ["3", "7", "11", "14", "18", "23"]
    assert all(score.reward == 1 for gate in (airline, retail) for score in gate.before.gold.values())
    assert {action for gate in (airline, retail) for _, action, _ in gate.free_text} == {"calculate"}
    assert len(retail.free_text) == 13


@pytest.mark.corpora
@pytest.mark.parametrize("name", ["airline", "retail"])
def test_refusing_after_a_look_pays_on_refusals_and_never_on_their_twins(
    name: str, corpora: Path, request: pytest.FixtureRequest
) -> None:
    gate: Tau2Gate = request.getfixturevalue(name)
    maker = world_maker(name, folder=corpora)
    harmless = {n for n, t in maker().tools().items() if t.effect is Effect.READ} | {"transfer_to_human_agents"}
    tasks = gate.examined.admitted
    refusals = {t.task_id for t in tasks if t.goal.reason}
    played = rollouts(tasks, LooksThenRefuses(harmless), WorldPool(maker), OutcomeVerifier(), k=1, seed=0)
    paid = {e.task_id for batch in played for e in batch if getattr(e.verdict, "reward", 0) > 0}
    assert paid == refusals


@pytest.mark.corpora
def test_recorded_calls_of_the_airline_come_back_as_they_were_recorded(corpora: Path) -> None:
    """200 recorded conversations with tau-bench's first airline, whose three known faults are left out.

    There a changed cabin was not written, a connection over midnight showed the seats of the day before, and a user's
    profile had no id.
    """
    file = corpora / "audit/tau_bench_gpt-4o_airline_trajectories.json"
    episodes = json.loads(file.read_text(encoding="utf-8"))
    world, compared = AirlineWorld(corpora), 0
    for episode in episodes:
        world.reset()
        for name, arguments, recorded in recorded_calls(episode["traj"]):
            ours = world.call(name, arguments)
            failed = isinstance(ours, dict) and "error" in ours
            assert failed == recorded.startswith("Error"), (name, arguments, ours, recorded)
            if not failed:
                compared += 1
                assert comparable(ours) == comparable(json.loads(recorded)), (name, arguments)
    assert compared > 800


def recorded_calls(messages: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The calls of one conversation with what came back, in order; certificates had numbers by chance there."""
    due: list[tuple[str, dict[str, Any]]] = []
    for message in messages:
        calls = [c["function"] for c in message.get("tool_calls") or ()]
        due += [(c["name"], json.loads(c["arguments"])) for c in calls]
        if message["role"] == "tool":
            name, arguments = due.pop(0)
            if name not in ("think", "transfer_to_human_agents", "list_all_airports", "send_certificate"):
                yield name, arguments, str(message["content"])


def comparable(value: Any) -> Any:
    """A result without what is known to differ."""
    if isinstance(value, int | float):
        return {"result": canonical(float(value))}
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [canonical(pair) for pair in value if "+1" not in pair[0]["scheduled_arrival_time_est"]]
    if isinstance(value, dict):
        left = {k: v for k, v in value.items() if k not in ("cabin", "user_id", "address")}
        if value.get("reservation_id") == "Z7GOZK":  # its ends were mended later
            left = {k: v for k, v in left.items() if k not in ("destination", "flight_type")}
        return canonical(left)
    return canonical(value)


def test_the_gate_names_the_domains_that_have_a_world(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no tau2 domain 'telecom' has a world; there are: airline, retail"):
        gate_tau2(tmp_path, "telecom", OutcomeVerifier())


def test_a_small_domain_goes_through_the_gate(tmp_path: Path) -> None:
    gate = gate_tau2(small_tau2(tmp_path), "retail", OutcomeVerifier())
    assert [(f.name, f.outcome, f.check) for f in gate.findings] == [
        ("r1", "strengthened", "facts"),
        ("r2", "quarantined", "nothing_to_check"),
        ("r3", "quarantined", "gold_write_failed"),
    ]
    assert gate.before.passed_by_nothing() == ["r2", "r3"]
    assert [t.query_id for t in gate.examined.admitted] == ["tau2:retail:r1"]


def test_tau2s_parts_are_scored_as_tau2_scores_them(tmp_path: Path) -> None:
    folder = small_tau2(tmp_path)
    world = RetailWorld(folder)
    task = read_domain(folder, "retail").tasks[0]
    calls = calls_of(task)
    gold = changes_of(calls, world)

    def scored(calls: list[Call], said: str) -> tuple[bool, bool, int, float]:
        score = tau2_score(task, gold, changes_of(calls, world), calls, [said], asserted=False)
        return score.state, score.said, len(score.missing), score.reward

    assert scored(calls, "You get back 38.25.") == (True, True, 0, 1.0)
    assert scored(calls[2:], "You get back $138.25!") == (True, True, 2, 1.0), (
        "a substring, and reads are not asked for"
    )
    assert scored(calls, "") == (True, False, 0, 0.0)
    assert scored([], "38.25") == (False, True, 3, 0.0)


def test_free_text_of_a_gold_action_is_told_unless_it_is_not_compared() -> None:
    handover = ("transfer_to_human_agents", {"summary": "as I put it"})
    strict = raw("x", "", [handover, ("calculate", {"expression": "1 + 1"})])
    assert free_text_arguments(strict) == [("transfer_to_human_agents", "summary"), ("calculate", "expression")]
    for action in strict["evaluation_criteria"]["actions"]:
        action["compare_args"] = []
    assert free_text_arguments(strict) == []
