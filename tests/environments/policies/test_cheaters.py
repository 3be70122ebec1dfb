"""Every way to cheat earns nothing: on each family of tasks, with the verifier that trains."""

from collections import Counter

import pytest

from environments.gate.cheating import cheating
from environments.gate.finding import Status
from environments.gate.ground import Ground
from environments.policies.cheaters import cheaters
from environments.policies.scripted import AlwaysRefuse
from environments.verifiers.outcome import REFUSALS, OutcomeVerifier
from environments.worlds.atlas.tasks import fresh_tasks
from environments.worlds.atlas.world import AtlasWorld
from tests.environments.builders import played, task_of

POLICIES = cheaters(AtlasWorld().tools(), AtlasWorld.refusal_codes)
TASKS = fresh_tasks(90, "train", 12)
GROUND = Ground.of(AtlasWorld, OutcomeVerifier())


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.version)
def test_cheating_earns_nothing_and_is_tried_somewhere(policy: object) -> None:
    found = cheating(TASKS, [policy], GROUND)  # type: ignore[list-item]
    states = Counter(f.status for findings in found.values() for f in findings)
    assert states.total() > 0, "a cheater that applies nowhere tests nothing"
    assert set(states) <= {Status.PASSED, Status.EARNED}


def test_there_is_one_of_each_kind_and_a_refusal_for_each_reason_and_for_all() -> None:
    versions = [p.version for p in POLICIES]
    assert len(set(versions)) == len(versions)
    assert sum("always-refuse" in v for v in versions) == len(REFUSALS) + 1


def test_garbage_earns_nothing_anywhere_and_a_refusal_only_where_it_is_the_right_one() -> None:
    by_version = {p.version: p for p in POLICIES}
    refusals = [t for t in TASKS if t.goal.reason is not None]
    assert refusals
    for name in ("garbage-1", "unparsable-1", "no-op-1", "hang-1", "immediate-stop-1"):
        assert {r.verdict.reward for r in played(TASKS, by_version[name])} == {0.0}, name  # type: ignore[union-attr]
    won = {e.task_id for e in played(TASKS, AlwaysRefuse()) if e.verdict.reward > 0}  # type: ignore[union-attr]
    assert won == {t.task_id for t in refusals if t.goal.reason == "no_tool"}
    assert all(t.twin is not None for t in refusals), "each of which stands beside a twin that it fails"


def test_a_hanging_policy_is_a_scored_zero_and_no_lost_attempt() -> None:
    by_version = {p.version: p for p in POLICIES}
    [episode] = played([task_of("route")], by_version["hang-1"])
    assert episode.ended == "budget"
    assert episode.verdict.reward == 0.0  # type: ignore[union-attr]


def test_writing_twice_and_writing_more_are_tried_for_real() -> None:
    by_version = {p.version: p for p in POLICIES}
    task = task_of("book_flight").model_copy(update={"max_calls": 4})
    for name, writes in (("duplicate-writer-1", 2), ("over-writer-1", 2)):
        [episode] = played([task], by_version[name])
        done = [s for s in episode.steps if "booked" in s.observation]
        assert len(done) == writes, name
        assert episode.verdict.cause == "unasked_write", name  # type: ignore[union-attr]
