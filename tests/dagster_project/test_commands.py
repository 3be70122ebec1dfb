"""The `loopwright` command as a user types it: real processes, plain errors."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from assets import keys
from assets.pool.assets import with_distance
from assets.pool.survival import DROPPED_SCHEMA
from dagster_project.commands.materialize import failures, run, selected
from dagster_project.commands.ui import PortInUseError, require_free
from resources.lake import Lake
from tests.pool.builders import queries
from tests.pool.test_preview import made_of

LOOPWRIGHT = [sys.executable, "-c", "from dagster_project.commands import app; app()"]


def loopwright(*arguments: str, home: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run the command with a state folder of its own."""
    place = {**os.environ, "LOOPWRIGHT_HOME": str(home), "PYTHONWARNINGS": "default", "COLUMNS": "200", **environment}
    return subprocess.run([*LOOPWRIGHT, *arguments], capture_output=True, text=True, check=False, env=place)


@pytest.mark.parametrize("name", ["micro", "gpu"])
def test_a_profile_prints_what_it_resolves_to(tmp_path: Path, name: str) -> None:
    done = loopwright("profile", "show", name, home=tmp_path)
    assert done.stdout.startswith(f"# profile {name}:"), done.stderr
    assert f'home = "{tmp_path}"' in done.stdout
    assert "[trainer]" in done.stdout


def test_the_profile_list_marks_the_active_one(tmp_path: Path) -> None:
    done = loopwright("profile", "list", home=tmp_path, LOOPWRIGHT_PROFILE="small")
    assert [line.split()[:2] for line in done.stdout.splitlines() if line.startswith("*")] == [["*", "small"]]


@pytest.mark.parametrize("command", [("profile", "show"), ("materialize", "*"), ("ui",)])
def test_a_typo_in_the_profile_is_one_clear_line(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = loopwright(*command, home=tmp_path, LOOPWRIGHT_PROFILE="nanno")
    assert done.returncode == 2
    assert done.stderr.startswith("loopwright: LOOPWRIGHT_PROFILE='nanno' is not a profile; allowed: micro, nano,")
    assert len(done.stderr.splitlines()) == 1


def test_a_registry_password_is_never_printed(tmp_path: Path) -> None:
    place = "postgresql://loopwright:secret@db/registry"
    done = loopwright("profile", "show", home=tmp_path, LOOPWRIGHT_REGISTRY_URL=place)
    assert 'registry = "postgresql://loopwright:***@db/registry"' in done.stdout, done.stderr


def test_a_port_in_use_is_named_with_another_to_take() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortInUseError, match=rf"port {port} on 127\.0\.0\.1 is in use .* --port {port + 1}"):
            require_free("127.0.0.1", port)


@dg.asset(key=keys.RAW_QUERIES, group_name="queries")
def raw() -> None: ...


@dg.asset(key=keys.LEXICAL_SURVIVORS, group_name="pool", deps=[raw])
def broken() -> None:
    raise FileNotFoundError("no log at /nowhere")


DEFS = dg.Definitions(assets=[raw, broken], jobs=[dg.define_asset_job("factory", selection=dg.AssetSelection.all())])


@pytest.mark.parametrize(
    ("selection", "names"),
    [
        ("queries/raw_queries", [keys.RAW_QUERIES]),
        ("group:pool", [keys.LEXICAL_SURVIVORS]),
        ("+pool/lexical_survivors", [keys.LEXICAL_SURVIVORS, keys.RAW_QUERIES]),
    ],
)
def test_a_selection_names_assets(selection: str, names: list[dg.AssetKey]) -> None:
    assert selected(DEFS, selection) == names


@pytest.mark.parametrize("selection", ["pool/nope", "group:nope", "a b ("])
def test_a_selection_of_nothing_is_an_error_that_helps(selection: str) -> None:
    with pytest.raises(ValueError, match=r"selection .* (for example|there are)"):
        selected(DEFS, selection)


def test_a_failed_asset_is_one_line_with_its_cause() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        result = run(DEFS, [keys.RAW_QUERIES, keys.LEXICAL_SURVIVORS], instance, log_level="CRITICAL")
    assert failures(result) == ["pool__lexical_survivors failed: FileNotFoundError: no log at /nowhere"]


def test_the_story_of_an_unknown_query_is_one_clear_line(tmp_path: Path) -> None:
    done = loopwright("dropped", "q1", home=tmp_path)
    assert done.returncode == 2
    assert "queries/distinct_queries[all] is not at" in done.stderr
    lake = Lake(root=str(tmp_path / "lake"))
    lake.write("queries/distinct_queries", queries(["weather in rome"]).with_columns(text=pl.col("normal")))
    done = loopwright("dropped", "weather in oslo", home=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "loopwright: no distinct query has the id or the text 'weather in oslo'; ids are in queries/distinct_queries\n"
    )
    lake.write("pool/dropped", with_distance(pl.DataFrame(schema=DROPPED_SCHEMA)))
    lake.write("pool/candidate_pool", pl.DataFrame({"query_id": ["q1"]}))
    done = loopwright("dropped", "weather in rome", home=tmp_path)
    assert done.returncode == 2
    assert "the pool was made before query q00000 came: materialize" in done.stderr
    lake.write("pool/candidate_pool", pl.DataFrame({"query_id": ["q00000"]}))
    done = loopwright("dropped", "weather in rome", home=tmp_path)
    assert done.stdout.splitlines() == [
        "q00000  weather in rome  (said once)",
        "  lexical    kept", "  semantic   kept", "  geometric  kept", "in the pool",
    ]  # fmt: skip


def test_a_preview_is_a_plain_table_and_a_threshold_below_the_floor_one_clear_line(tmp_path: Path) -> None:
    done = loopwright("pool", "preview", "--lexical", "0.85", home=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("loopwright: there is no pool yet")
    made_of(
        tmp_path / "lake", ["weather in rome", "weather in rome!", "museum in oslo"], ["weather", "weather", "museum"]
    )
    done = loopwright("pool", "preview", "--lexical", "0.95", "--semantic", "0.9", home=tmp_path)
    assert done.returncode == 0, done.stderr
    title, *table = done.stdout.splitlines()[:5]
    assert title == "LEXICAL LAYER at 0.95 (now 0.75): queries kept, by leaf"
    assert [line.split() for line in table] == [
        ["now", "would", "be", "difference", "not", "labelled", "yet"],
        ["museum", "1", "1", "0"],
        ["weather", "1", "2", "+1", "1"],
        ["all", "leaves", "2", "3", "+1", "1"],
    ]
    assert "SEMANTIC LAYER at 0.9 (now 0.93)" in done.stdout
    assert done.stdout.endswith("Left out of the semantic layer's table, for they have no label yet: 1\n")
    done = loopwright("pool", "preview", "--semantic", "0.5", home=tmp_path)
    assert done.returncode == 2
    assert "below 0.85" in done.stderr
    assert len(done.stderr.splitlines()) == 1
