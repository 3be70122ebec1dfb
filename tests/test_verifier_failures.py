"""A stage over whose episodes a verifier stumbled is held back by a blocking check, whichever stage it is."""

from pathlib import Path

import pytest

from assets.checks import FAILURES, NO_VERIFIER_FAILED, STAGES, keep_failures
from environments.episode import Episode, Scored
from environments.verifier import failed_to_grade
from resources.lake import Lake
from training.journal import episodes_frame


def episode(verdict: Scored, number: int) -> Episode:
    return Episode("t", number, 0, "key", "?", (), "!", "answered", verdict)


@pytest.mark.parametrize(("check", "table"), list(zip(NO_VERIFIER_FAILED, STAGES, strict=True)), ids=list(STAGES))
def test_a_stumble_over_one_episode_fails_the_blocking_check_of_its_stage(
    check: object, table: str, tmp_path: Path
) -> None:
    lake = Lake(root=str(tmp_path))
    right = episode(Scored(1.0, 1.0, False, "ok"), 0)
    wrong = episode(Scored(0.0, 0.0, False, "missing_fact"), 1)
    assert keep_failures(lake, table, episodes_frame([right, wrong])) == {"verifier_failed": 0}
    assert check(lake).passed  # type: ignore[operator]
    stumbled = episode(failed_to_grade(KeyError("price")), 2)
    assert keep_failures(lake, table, episodes_frame([right, stumbled])) == {"verifier_failed": 1}
    result = check(lake)  # type: ignore[operator]
    assert not result.passed
    assert "KeyError: 'price'" in result.metadata["evidence"].value
    [spec] = check.check_specs  # type: ignore[attr-defined]
    assert spec.blocking
    assert lake.read(FAILURES.format(table))["attempt"].to_list() == [2]


def test_every_stage_has_its_check_where_dagster_looks() -> None:
    from dagster_project.definitions import defs

    graph = defs.resolve_asset_graph()
    held = {key.asset_key for key in graph.asset_check_keys if key.name == "no_verifier_failed"}
    assert held == set(STAGES.values())
