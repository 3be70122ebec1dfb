"""`loopwright taxonomy` as a user types it: an edit of the tree drafted, confirmed, priced, applied and undone."""

import json
import subprocess
from pathlib import Path

import dagster as dg
import polars as pl
import pytest
from click.testing import Result
from typer.testing import CliRunner

from assets.labels import checks as label_checks
from assets.labels.assets import irrelevance_set, query_labels
from assets.labels.table import LABEL_SCHEMA
from assets.taxonomy.approval import approved
from assets.taxonomy.assets import IntentTaxonomyConfig, intent_taxonomy
from assets.taxonomy.stored import version_of
from assets.taxonomy.tree import load_taxonomy
from dagster_project import tree_changes
from dagster_project.commands import app
from dagster_project.leaves import materialize_leaves
from resources.endpoints import ChatEndpoint
from resources.lake import Lake
from tests.dagster_project.test_commands import loopwright
from tests.labels.test_table import queries
from tests.taxonomy.folders import INTO, WEATHER, copied, with_branches, with_weather_renamed, with_weather_split


def typed(*arguments: str, home: Path) -> Result:
    """The command in this process, on a state folder of its own."""
    return CliRunner().invoke(app, ["taxonomy", *arguments], env={"LOOPWRIGHT_HOME": str(home)})


CHECKS = [value for value in vars(label_checks).values() if isinstance(value, dg.AssetChecksDefinition)]


def labelled(lake: Lake, folder: Path) -> dict[str, object]:
    """The queries labelled under the tree of a folder, checks asked; the numbers of the labels."""
    config = dg.RunConfig({"taxonomy__intent_taxonomy": IntentTaxonomyConfig(folder=str(folder))})
    resources = {"lake": lake, "teacher": ChatEndpoint()}
    stages = [intent_taxonomy, query_labels, irrelevance_set, *CHECKS]
    done = materialize_leaves(stages, str(folder), resources=resources, run_config=config)
    assert all(e.passed for e in done.get_asset_check_evaluations())
    shown = done.asset_materializations_for_node("labels__query_labels")[-1].metadata
    return {name: value.value for name, value in shown.items()}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A state with fifty queries in the lexical pool, labelled under the default tree."""
    lake = Lake(root=str(tmp_path / "lake"))
    lake.write("queries/distinct_queries", queries())
    lake.write("pool/lexical_survivors", queries().select("query_id"))
    first = labelled(lake, copied(tmp_path / "before"))
    assert (first["way"], first["calls"], first["labelled_now"]) == ("everything", 50, 50)
    return tmp_path


def with_queries(home: Path) -> Path:
    """A state folder with fifty queries."""
    Lake(root=str(home / "lake")).write("queries/distinct_queries", queries().with_columns(support=pl.lit(1)))
    return home


def test_a_split_is_drafted_confirmed_planned_and_carried_out_and_the_way_back_costs_nothing(home: Path) -> None:
    lake, before = Lake(root=str(home / "lake")), home / "before"
    tree = with_weather_split(copied(home / "after"))
    old = lake.read("labels/query_labels")
    carrying = old.filter((pl.col("primary") == WEATHER) | (pl.col("secondary") == WEATHER))
    drafted = typed("diff", str(before), str(tree), "--write", home=home)
    assert f"not confirmed as split {WEATHER}" in drafted.stdout, drafted.stderr
    file = tree / "migrations" / "0001.yaml"
    file.write_text(file.read_text().replace("confirmed: false", "confirmed: true"))
    told = typed("plan", "", str(tree), "--json", home=home)
    plan = json.loads(told.stdout)
    assert plan["price"]["calls"] == len(carrying) > 0
    assert [change["kind"] for change in plan["changes"]] == ["split"]
    given = typed("apply", str(tree), "--approve-only", home=home)
    assert f"plan {plan['plan']} approved: {len(carrying)} calls" in given.stdout, given.stderr
    agreed = approved(lake)
    assert agreed is not None
    assert agreed.plan == plan["plan"]
    done = labelled(lake, tree)
    assert (done["calls"], done["labelled_now"]) == (len(carrying), len(carrying))
    assert str(done["way"]).startswith("planned from ")
    assert f"| split {WEATHER} -> {', '.join(INTO)} | {len(carrying)} |" in str(done["note"])
    new = lake.read("labels/query_labels")
    assert new.join(carrying, on="query_id", how="anti").equals(old.join(carrying, on="query_id", how="anti"))
    told = typed("plan", "", str(before), home=home)
    assert "are in the book and are taken up again" in told.stdout
    assert "price: 0 calls" in told.stdout
    back = labelled(lake, before)
    assert (back["way"], back["calls"]) == ("kept", 0)
    assert lake.read("labels/query_labels").equals(old)
    assert json.loads(typed("plan", "", str(tree), "--json", home=home).stdout)["moved"] > 0


def test_a_run_that_ended_between_the_book_and_the_labels_leaves_a_plan_that_takes_them_up(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, tree = Lake(root=str(home / "lake")), with_weather_renamed(copied(home / "after"))
    monkeypatch.setattr(tree_changes, "configured_folder", lambda: tree)
    old, made_for = lake.read("labels/query_labels"), tree_changes.what_a_plan_is_for(lake)

    def killed(_labels: pl.DataFrame) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as before_the_labels:
        before_the_labels.setattr("assets.labels.assets.difficulty_figure", killed)
        with pytest.raises(RuntimeError, match="killed"):
            labelled(lake, tree)
    assert lake.read("labels/query_labels").equals(old)
    assert tree_changes.what_a_plan_is_for(lake) != made_for, "the sensor shows the plan anew"
    told = typed("plan", "", str(tree), home=home).stdout
    assert f"rename {WEATHER} -> " in told
    assert "are in the book and are taken up again" in told
    assert labelled(lake, tree)["calls"] == 0
    moved = lake.read("taxonomy/changes")
    assert moved["from"].to_list() == [WEATHER] * (old["primary"] == WEATHER).sum() != []
    assert moved["to"].unique().to_list() == [WEATHER.replace("realtime_weather", "weather_now")]
    assert "nothing changed" in typed("plan", "", str(tree), home=home).stdout
    assert labelled(lake, tree)["calls"] == 0
    assert lake.read("taxonomy/changes").equals(moved), "a run that changes nothing tells of the last change still"
    [in_force] = [line for line in typed("versions", home=home).stdout.splitlines() if line.endswith("in force")]
    assert in_force.startswith(version_of(load_taxonomy(tree)))


def test_a_tree_of_too_many_branches_is_refused_by_the_plan_as_by_what_would_carry_it_out(tmp_path: Path) -> None:
    lake, tree = Lake(root=str(tmp_path / "lake")), with_branches(tmp_path / "wide", 98)
    lake.write("queries/distinct_queries", queries())
    lake.write("pool/lexical_survivors", queries().select("query_id"))
    lake.write("taxonomy/intent_taxonomy", load_taxonomy().table())
    lake.write("labels/query_labels", pl.DataFrame(schema=LABEL_SCHEMA))
    told = [typed(*said, str(tree), home=tmp_path) for said in (("plan", ""), ("apply",))]
    assert [done.exit_code for done in told] == [2] * len(told), told[0].output
    assert {done.output for done in told} == {
        "loopwright: the tree has 98 level-1 branches; at most 97 can be told apart: join some\n"
    }
    assert approved(lake) is None
    (tree / "b97.yaml").unlink()
    assert typed("plan", "", str(tree), home=tmp_path).exit_code == 0


def test_a_draft_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    tree = with_weather_split(copied(tmp_path / "after"))
    command = ("diff", str(copied(tmp_path / "before")), str(tree), "--write")
    assert "wrote " in typed(*command, home=tmp_path).stdout
    [file] = (tree / "migrations").iterdir()
    text = file.read_text()
    again = typed(*command, home=tmp_path)
    assert f"1 to confirm are in {file.parent} already (0001.yaml:5)" in again.stdout, again.stderr
    assert [(path, path.read_text()) for path in file.parent.iterdir()] == [(file, text)]
    file.write_text(text.replace("confirmed: false", "confirmed: true"))
    assert "nothing to confirm" in typed(*command, home=tmp_path).stdout
    assert len(list(file.parent.iterdir())) == 1


@pytest.mark.slow
def test_a_rename_applied_from_the_command_line_asks_nothing_and_both_versions_stay(home: Path) -> None:
    tree = with_weather_renamed(copied(home / "after"))
    done = loopwright("taxonomy", "apply", str(tree), home=home)
    assert done.returncode == 0, done.stderr
    assert "approved: 0 calls" in done.stdout
    assert "made labels/query_labels" in done.stdout
    labels = Lake(root=str(home / "lake")).read("labels/query_labels")
    count = labels["primary"].str.ends_with("weather_now").sum()
    versions = [line.split()[0] for line in typed("versions", home=home).stdout.splitlines()]
    assert len(versions) == 2
    for version, leaf in zip(versions, (WEATHER, WEATHER.replace("realtime_weather", "weather_now")), strict=True):
        shown = typed("show", version[:6], leaf, home=home)
        assert f"{count} labels" in shown.stdout.splitlines()[0], shown.stderr


def test_a_tree_is_named_by_folder_revision_or_version_and_anything_else_is_one_clear_line(tmp_path: Path) -> None:
    tree = copied(tmp_path / "repository" / "tree")
    git = ["git", "-C", str(tree), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    with_weather_renamed(tree)
    done = typed("diff", f"HEAD:{tree}", str(tree), home=tmp_path)
    assert done.stdout.startswith(f"rename {WEATHER} -> dynamic_information.weather_now"), done.stderr
    done = typed("diff", "nowhere", str(tree), home=tmp_path)
    assert done.exit_code == 2
    assert "'nowhere' is no tree: name a folder, a git revision of one" in done.stderr
    for name in ("", " "):  # not the folder that one happens to stand in, nor the only version there is
        done = typed("diff", name, str(tree), home=tmp_path)
        assert (done.exit_code, done.stdout) == (2, "")
        assert f"{name!r} is no tree: name a folder" in done.stderr
    done = typed("seeds", str(tree / "discovery.yaml" / "seeds.csv"), home=with_queries(tmp_path))
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1), "what the system says is one line too"
    assert "loopwright: [Errno" in done.stderr
    (tree / "migrations" / "notes.yaml").mkdir(parents=True)
    (tree / "migrations" / "0001.yaml").write_text("from: a\nto: b\nchanges: []\n")
    done = typed("diff", str(tree), str(tree), home=tmp_path)
    assert done.exit_code == 2
    assert "0001.yaml:3: changes: must be a list with at least one item" in done.stderr
