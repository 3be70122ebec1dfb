"""Refusing everything earns nothing in desk: for each of its reasons, for all of them, and after every look."""

import pytest

from environments.episode import Attempt, Scored
from environments.gate.attack import material_of
from environments.gate.cheating import cheating
from environments.gate.finding import Status
from environments.gate.ground import Ground
from environments.policies.cheaters import cheaters
from environments.policies.looking import LooksThenRefuses
from environments.policies.refusing import AlwaysRefuse, blanket_refusals
from environments.policies.scripted import Gold
from environments.policy import Answer
from environments.tool import Effect
from environments.verifiers.outcome import OutcomeVerifier
from environments.worlds.desk.data_model import REFUSAL_CODES
from environments.worlds.desk.families import FAMILIES
from environments.worlds.desk.tasks import REFUSALS, pair
from environments.worlds.desk.world import DeskWorld
from tests.environments.worlds.desk.builders import rewards, task_of, verdict, world

PAIRS = [next(filter(None, (pair(family, "train", seed) for seed in range(9)))) for family in sorted(REFUSALS)]
REFUSED = [refused for refused, _ in PAIRS]
SOLVABLE = [*(twin for _, twin in PAIRS), *(task_of(family) for family in FAMILIES if family != "goodwill")]
GROUND = Ground.of(DeskWorld, OutcomeVerifier())
BLANKET = blanket_refusals(REFUSAL_CODES)


def test_what_is_refused_here_can_be_solved() -> None:
    assert {t.goal.reason for t in SOLVABLE} == {None}
    assert {t.goal.reason for t in REFUSED} == {*REFUSAL_CODES}
    assert set(rewards([*SOLVABLE, *REFUSED], Gold())) == {1.0}


@pytest.mark.parametrize("refuses", BLANKET, ids=lambda p: p.version)
def test_refusing_everything_for_one_reason_or_all_without_a_look_earns_nothing(refuses: AlwaysRefuse) -> None:
    assert set(rewards([*SOLVABLE, *REFUSED], refuses)) == {0.0}


@pytest.mark.parametrize("reason", REFUSAL_CODES)
def test_looking_at_everything_and_then_refusing_earns_nothing_where_it_can_be_solved(reason: str) -> None:
    harmless = {name for name, tool in world().tools().items() if tool.effect is Effect.READ}
    assert set(rewards(SOLVABLE, LooksThenRefuses(harmless, reason, codes=REFUSAL_CODES))) == {0.0}


def test_the_gate_refuses_everything_with_each_code_that_the_world_itself_names() -> None:
    desk = world()
    tried = [p for p in cheaters(desk.tools(), desk.refusal_codes) if isinstance(p, AlwaysRefuse)]
    assert {p.reasons for p in tried} == {*((code,) for code in desk.refusal_codes), tuple(desk.refusal_codes)}
    found = cheating(SOLVABLE, tried, GROUND)
    assert {f.status for own in found.values() for f in own} == {Status.PASSED}
    assert {len(own) for own in found.values()} == {len(tried)}


@pytest.mark.parametrize("policy", BLANKET[:-1], ids=lambda p: p.version)
def test_a_refusal_that_the_gate_tries_is_read_as_its_reason(policy: AlwaysRefuse) -> None:
    [code] = policy.reasons
    refused = next(t for t in REFUSED if t.goal.reason == code)
    action = policy.next(Attempt(refused, 0, 0))
    assert isinstance(action, Answer)
    found = verdict(refused, *refused.gold_calls, action)
    assert isinstance(found, Scored)
    assert found.cause != "wrong_reason"


def test_the_attacker_knows_the_codes_and_how_they_are_said() -> None:
    words = material_of(SOLVABLE[0], GROUND).literals
    assert {*REFUSAL_CODES, "I cannot do that. Reason: window_closed."} <= {*words}
