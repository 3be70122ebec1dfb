"""The nightly asset from one night to the next: real weights, a real process, a real registry."""

from pathlib import Path

import dagster as dg
import pytest

from assets.frontier.assets import nightly_probes
from assets.frontier.checks import (
    nightly_probes_are_of_one_policy_and_hold_every_training_task,
    no_pass_rate_moved_by_itself,
)
from assets.frontier.nightly import TABLE
from environments.worlds.atlas.tasks import fresh_tasks
from resources.trainer import Trainer
from tests.frontier.builders import admit, opened, register_policy

pytestmark = pytest.mark.slow
CHECKS = [no_pass_rate_moved_by_itself, nightly_probes_are_of_one_policy_and_hold_every_training_task]
SETTINGS = {"ops": {"frontier__nightly_probes": {"config": {"attempts": 12, "k": 3, "batch": 6}}}}


def night(home: Path) -> dg.ExecuteInProcessResult:
    lake, registry = opened(home)
    resources = {"lake": lake, "registry": registry, "trainer": Trainer()}
    return dg.materialize([nightly_probes, *CHECKS], resources=resources, run_config=SETTINGS)


def test_nights_go_on_from_each_other_and_a_new_policy_begins_anew(tmp_path: Path) -> None:
    admit(tmp_path, [*fresh_tasks(10, "train", 0), *fresh_tasks(5, "hidden", 0)])
    lake, registry = opened(tmp_path)
    assert night(tmp_path).success
    assert not lake.exists(TABLE), "without a policy nothing is made, and nothing fails"
    first = register_policy(tmp_path, "sft/seed_policy", 0)
    for nights in (1, 2):
        result = night(tmp_path)
        assert [e.passed for e in result.get_asset_check_evaluations()] == [True, True]
        recorded = registry.outcomes(TABLE)
        assert len(recorded) == 12 * nights, "appended, nothing repeated"
        assert {o.policy for o in recorded} == {first}
    table = lake.read(TABLE)
    assert table["task_id"].to_list() == sorted(t.task_id for t in fresh_tasks(10, "train", 0))
    assert table["n"].sum() == 24
    assert table["tonight"].sum() == 4
    numbers = {t: sorted(o.attempt for o in recorded if o.task_id == t) for t in {o.task_id for o in recorded}}
    assert all(taken == list(range(len(taken))) for taken in numbers.values()), "attempt numbers go on"
    [key] = {o.result_key for o in recorded}
    assert {e.key.policy for e in registry.ledger() if e.key} == {first}
    second = register_policy(tmp_path, "policy/rl_policy", 1)
    assert night(tmp_path).success
    table = lake.read(TABLE)
    assert table["policy"].unique().to_list() == [second]
    assert table["n"].sum() == 12, "what the first policy did is not this one's"
    assert len(registry.outcomes(TABLE, key)) == 24
