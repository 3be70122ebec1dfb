"""The registry on real databases: the same fact twice is one, two facts under one name are an error."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, text

from environments.episode import ResultKey, Scored
from resources.migrations import alembic_config
from resources.registry import WON, Artefact, Consumed, Outcome, Registry, RegistryError
from resources.schema import Base

RAW = Artefact("queries/raw_queries", "v1", "table", "/lake/raw", run_id="r1", numbers={"rows": 3})
POOL = Artefact("pool/lexical_survivors", "v1", "table", "/lake/pool")
SCORED = Outcome("frontier/seed_probes", "key", "task", 0, "p1", "scored", 0.5)
LOST = SCORED._replace(attempt=1, status="no_result", reward=None)
KEY = ResultKey(world="w", tools="t", verifier="v", sampler="s", template="c", policy="p1")
WINDOW = Consumed("sft/seed_policy@v1", 0, 9, ["a", "b"], "digest")


@pytest.fixture
def registry(registry_url: str) -> Registry:
    return Registry(url=registry_url)


def test_an_artefact_knows_what_it_is_made_from(registry: Registry) -> None:
    registry.record_artefact(RAW)
    registry.record_artefact(POOL, upstream=[("queries/raw_queries", "v1")])
    assert registry.made_from("pool/lexical_survivors", "v1") == [RAW]
    assert registry.made_into("queries/raw_queries", "v1") == [POOL]


def test_the_latest_version_answers_when_none_is_named(registry: Registry) -> None:
    later = RAW._replace(data_version="v2")
    registry.record_artefact(RAW)
    registry.record_artefact(later)
    registry.record_artefact(RAW)
    assert registry.artefact(RAW.key) == later
    assert registry.artefact(RAW.key, "v1") == RAW
    assert registry.artefact("queries/nothing") is None


def test_writing_the_same_twice_changes_nothing(registry: Registry) -> None:
    for new in (True, False):
        registry.record_artefact(RAW)
        assert registry.record_outcomes([SCORED, LOST]) == (2 if new else 0)
        assert registry.record_consumed([WINDOW]) == (1 if new else 0)
    assert registry.outcomes(SCORED.stage) == [SCORED, LOST]
    assert registry.consumed(WINDOW.checkpoint) == [WINDOW]


def test_an_input_nobody_recorded_is_an_error_and_leaves_nothing(registry: Registry) -> None:
    with pytest.raises(RegistryError, match="queries/raw_queries in version v9 was never recorded"):
        registry.record_artefact(POOL, upstream=[("queries/raw_queries", "v9")])
    assert registry.artefact(POOL.key) is None


def test_another_outcome_of_the_same_attempt_is_an_error_and_writes_nothing(registry: Registry) -> None:
    registry.record_outcomes([SCORED])
    with pytest.raises(RegistryError, match=r"attempt=0: reward 0.5 recorded, 1.0 given"):
        registry.record_outcomes([LOST, SCORED._replace(reward=1.0)])
    assert registry.outcomes(SCORED.stage) == [SCORED]


def test_outcomes_of_different_keys_never_mix(registry: Registry) -> None:
    other = SCORED._replace(result_key="other", reward=1.0)
    registry.record_outcomes([SCORED, other])
    assert registry.outcomes(SCORED.stage, "other") == [other]


def test_the_ledger_sums_attempts_by_key_and_task_over_stages(registry: Registry) -> None:
    won, lost = SCORED._replace(reward=1.0), LOST._replace(attempt=4)
    elsewhere = won._replace(stage="frontier/nightly_probes", attempt=7, result_key=KEY.digest)
    registry.record_result_key(KEY)
    registry.record_outcomes(
        [won, SCORED._replace(attempt=1), lost, elsewhere, elsewhere._replace(stage="x", attempt=2)]
    )
    known, unknown = sorted(registry.ledger(), key=lambda e: e.key is None)
    assert known[:5] == (KEY.digest, "task", 2, 2, 8)
    assert known.key == KEY
    assert unknown[:5] == ("key", "task", 2, 1, 5)
    assert (unknown.key, unknown.last < known.last) == (None, True)
    assert len(registry.outcomes(result_key=KEY.digest)) == 2
    assert len(registry.outcomes()) == 5


def test_a_success_is_what_an_episode_calls_one() -> None:
    for reward in (WON, 1.0, WON - 1e-9, 0.5):
        verdict = Scored(reward, reward, vetoed=False, cause="")
        assert verdict.success is (reward >= WON)


def test_a_digest_stands_for_one_key(registry: Registry) -> None:
    registry.record_result_key(KEY)
    registry.record_result_key(KEY)
    assert [e.key for e in registry.ledger()] == []


@pytest.mark.parametrize("table", ["episodes", "result_keys"])
@pytest.mark.parametrize("change", ["UPDATE {} SET policy = 'other'", "DELETE FROM {}"])
def test_the_database_itself_keeps_the_ledger_from_being_changed(registry: Registry, table: str, change: str) -> None:
    registry.record_outcomes([SCORED])
    registry.record_result_key(KEY)
    with pytest.raises(RegistryError, match="ledger only grows"), registry.session() as session:
        session.execute(text(change.format(table)))
    assert registry.outcomes() == [SCORED]


def test_a_registry_of_the_release_before_keeps_its_rows(registry_url: str) -> None:
    engine = create_engine(registry_url)
    with engine.begin() as connection:
        command.upgrade(alembic_config(connection), "0001")
        row = "'frontier/seed_probes', 'key', 'task', 0, 'p1', 'scored', 0.5"
        names = "stage, result_key, task_id, attempt, policy, status, reward"
        connection.execute(text(f"INSERT INTO episodes ({names}) VALUES ({row})"))
    engine.dispose()
    assert Registry(url=registry_url).outcomes() == [SCORED]


@pytest.mark.parametrize(
    "outcome",
    [
        LOST._replace(reward=0.0),
        SCORED._replace(reward=None),
        SCORED._replace(reward=1.5),
        SCORED._replace(status="lost"),  # type: ignore[arg-type]
    ],
    ids=["no result with a reward", "scored without one", "reward above 1", "unknown status"],
)
def test_the_database_itself_keeps_a_lost_attempt_out_of_every_mean(registry: Registry, outcome: Outcome) -> None:
    with pytest.raises(RegistryError, match="refused a row"):
        registry.record_outcomes([outcome])


def test_other_rows_in_a_window_are_an_error(registry: Registry) -> None:
    registry.record_consumed([WINDOW])
    with pytest.raises(RegistryError, match=r"first_step=0, last_step=9: row_ids \['a', 'b'\] recorded"):
        registry.record_consumed([WINDOW._replace(row_ids=["a", "c"])])


def test_thousands_of_outcomes_go_in_at_once(registry: Registry) -> None:
    many = [SCORED._replace(task_id=f"t{i:05}") for i in range(5_000)]
    assert registry.record_outcomes(many) == 5_000
    assert registry.outcomes(SCORED.stage) == many


def test_migrations_lead_to_the_declared_tables_and_back(registry_url: str) -> None:
    engine = create_engine(registry_url)
    with engine.begin() as connection:
        command.upgrade(alembic_config(connection), "head")
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
        constraints = inspect(connection).get_check_constraints("episodes")
        assert {c["name"] for c in constraints} == {
            "ck_episodes_status", "ck_episodes_only_scored_has_a_reward", "ck_episodes_reward_in_unit_interval",
        }  # fmt: skip
        command.downgrade(alembic_config(connection), "base")
        assert inspect(connection).get_table_names() == ["alembic_version"]
    engine.dispose()


def test_a_database_of_a_newer_release_is_refused(registry_url: str) -> None:
    Registry(url=registry_url).record_artefact(RAW)
    engine = create_engine(registry_url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    script = f"from resources.registry import Registry; Registry(url={registry_url!r}).artefact('queries/raw_queries')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "has schema 9999, newer than this code knows: update loopwright" in done.stderr


def test_processes_that_come_first_together_all_succeed(tmp_path: Path) -> None:
    script = f"""
from resources.registry import Outcome, Registry
import os
registry = Registry(url="sqlite:///{tmp_path}/registry.db")
registry.record_outcomes([Outcome("frontier/seed_probes", "key", "task", i, "p", "scored", 1.0) for i in range(50)])
"""
    together = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]
    assert [process.wait(60) for process in together] == [0, 0, 0]
    assert len(Registry(url=f"sqlite:///{tmp_path}/registry.db").outcomes("frontier/seed_probes")) == 50


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nonsense", "is not a database URL; allowed: sqlite:"),
        ("mysql://host/db", "does not know 'mysql'; allowed: sqlite:"),
        ("sqlite://", "names no file"),
        (
            "postgresql://loopwright:secret@127.0.0.1:1/db",
            r"loopwright:\*\*\*@127.0.0.1:1/db does not answer"
            if importlib.util.find_spec("psycopg2")
            else r'pip install "loopwright\[postgres\]"',
        ),
    ],
)
def test_a_bad_address_says_what_is_allowed_and_never_the_password(url: str, says: str) -> None:
    with pytest.raises(RegistryError, match=says) as caught:
        Registry(url=url).artefact("queries/raw_queries")
    assert "secret" not in str(caught.value)
