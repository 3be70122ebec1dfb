"""`loopwright taxonomy` with a teacher, over real HTTP: what it names, what it costs, what happens where it fails."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from click.testing import Result
from typer.testing import CliRunner

from assets.taxonomy.drafts import leaves_of, read_branches
from assets.taxonomy.proposals import read_proposals
from dagster_project.commands import app
from dagster_project.commands.growth_teacher import UNUSABLE
from resources.lake import Lake
from tests.environments.servers import served
from tests.taxonomy.growth import queries
from tests.taxonomy.test_expansion import hash_of, tree_in

Typed = Callable[..., Result]
MISBEHAVES = {"timeout": 0.05, "broken": 0.1, "busy": 0.1, "cut": 0.1, "wrong": 0.1}


@pytest.fixture
def typed(tmp_path: Path) -> Typed:
    """The command in this process on a log of four intents, with a profile whose teacher is at `url`."""
    texts = sorted(text for text, _ in queries())
    rows = pl.DataFrame({"query_id": [hash_of(text) for text in texts], "text": texts, "support": [1] * len(texts)})
    Lake(root=str(tmp_path / "lake")).write("queries/distinct_queries", rows)

    def run(*arguments: str, url: str = "", more: str = "", **environment: str) -> Result:
        section = f'base_url = "{url}"\nmodel = "stand-in"\nusd_per_million_in = 10.0\n{more}\n' if url else ""
        profile = tmp_path / "own.toml"
        profile.write_text(f'description = "own"\n[teacher]\n{section}')
        own = {"LOOPWRIGHT_HOME": str(tmp_path), "LOOPWRIGHT_PROFILE": str(profile), **environment}
        return CliRunner().invoke(app, ["taxonomy", *arguments], env=own)

    return run


def names_in(folder: Path) -> dict[str, str]:
    """English name of each leaf of a tree's folder."""
    return {dotted: leaf.name_en for dotted, leaf in leaves_of(read_branches(folder)).items()}


def test_a_tree_is_named_and_arranged_by_the_teacher_and_a_second_run_makes_no_call(
    typed: Typed, tmp_path: Path
) -> None:
    with served(tmp_path, rule="teacher", key="secret", faults=MISBEHAVES, stall_s=1.5) as server:
        more = 'api_key_variable = "LOOPWRIGHT_TEST_KEY"\ntimeout_s = 1.0\nattempts = 9\nfirst_wait_s = 0.01'
        key = {"LOOPWRIGHT_TEST_KEY": "secret"}
        done = typed("induce", str(tmp_path / "first"), "--teacher", url=server.url, more=more, **key)
        assert done.exit_code == 0, done.output
        names, calls = names_in(tmp_path / "first"), len(server.lines)
        assert {dotted.partition(".")[0] for dotted in names} == {"everyday"}
        assert all(name.startswith("Taught ") for name in names.values()), names
        assert {line.get("fault") or line["outcome"] for line in server.lines} > {"429", "broken"}
        done = typed("induce", str(tmp_path / "second"), "--teacher", url=server.url, more=more, **key)
        assert "0 calls, 0 tokens in, 0 out, 0.0000 USD" in done.stdout
        assert len(server.lines) == calls
    assert names_in(tmp_path / "second") == names


def test_money_spent_is_told_as_the_server_counted_it(typed: Typed, tmp_path: Path) -> None:
    with served(tmp_path, rule="teacher") as server:
        done = typed("induce", str(tmp_path / "tree"), "--teacher", url=server.url)
        sent, came = (sum(line[name] for line in server.lines) for name in ("prompt_tokens", "completion_tokens"))
    leaves = len(names_in(tmp_path / "tree"))
    usd = f"{sent * 10 / 1e6:.4f}"
    told = f"teacher: {leaves + 1} questions, 0 known, {leaves + 1} calls, {sent:,} tokens in, {came:,} out, {usd} USD"
    assert told in done.stdout
    assert usd != "0.0000"


def test_where_every_answer_is_broken_the_embedded_names_stay_and_it_is_said(typed: Typed, tmp_path: Path) -> None:
    assert typed("induce", str(tmp_path / "embedded")).exit_code == 0
    with served(tmp_path, rule="teacher", faults={"broken": 1.0}) as server:
        done = typed("induce", str(tmp_path / "taught"), "--teacher", url=server.url)
    assert done.exit_code == 0, done.output
    assert names_in(tmp_path / "taught") == names_in(tmp_path / "embedded")
    lost = Lake(root=str(tmp_path / "lake")).read(UNUSABLE, "induce")
    assert lost["what"].to_list() == [*names_in(tmp_path / "taught"), "level 1"]
    for what, fault, answer in lost.iter_rows():
        assert f"no use of the teacher for {what!r}, what stood there stays: {fault}; it answered" in done.stdout
        assert answer.startswith("{")


def test_a_spent_budget_leaves_the_rest_embedded_and_more_money_goes_on_from_there(
    typed: Typed, tmp_path: Path
) -> None:
    with served(tmp_path, rule="teacher") as server:
        done = typed("induce", str(tmp_path / "short"), "--teacher", url=server.url, more="budget_calls = 2")
        assert len(server.lines) == 2
        assert "no answer: a call of up to" in done.stdout
        assert sum(name.startswith("Taught ") for name in names_in(tmp_path / "short").values()) == 2
        done = typed("induce", str(tmp_path / "more"), "--teacher", url=server.url, more="budget_calls = 50")
        assert ", 2 known, " in done.stdout
        prompts = [line["prompt"] for line in server.lines]
        assert len(set(prompts)) == len(prompts)


@pytest.mark.parametrize(
    ("url", "more", "said"),
    [
        ("", "", "profile own names no teacher: set base_url and model under [teacher]"),
        ("http://127.0.0.1:1/v1", "", "the teacher answered nothing"),
        ("http://127.0.0.1:1/v1", 'api_key_variable = "LOOPWRIGHT_NO_KEY"', "LOOPWRIGHT_NO_KEY, which is not set"),
    ],
)
def test_without_a_teacher_there_is_one_clear_line_and_no_tree(
    typed: Typed, tmp_path: Path, url: str, more: str, said: str
) -> None:
    done = typed("induce", str(tmp_path / "tree"), "--teacher", url=url, more=f"attempts = 1\n{more}")
    assert done.exit_code == 2
    assert said in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "tree").exists()


def test_a_wrong_key_ends_it_at_once_with_one_line(typed: Typed, tmp_path: Path) -> None:
    with served(tmp_path, key="secret") as server:
        done = typed("induce", str(tmp_path / "tree"), "--teacher", url=server.url)
        assert (done.exit_code, len(server.lines)) == (1, 1)
    assert "the API key is missing or wrong" in done.stderr
    assert done.stderr.count("\n") == 1


def test_proposals_carry_the_teacher_s_names(typed: Typed, tmp_path: Path) -> None:
    rows = [(hash_of(text), "kitchen.other") for text, _ in queries("songs", "alarms")]
    lake = Lake(root=str(tmp_path / "lake"))
    lake.write("labels/query_labels", pl.DataFrame(rows, schema=["query_id", "primary"], orient="row"))
    tree = tree_in(tmp_path / "tree")
    with served(tmp_path, rule="teacher") as server:
        done = typed("expand", "--teacher", "--least", "12", "--tree", str(tree), url=server.url)
    assert done.exit_code == 0, done.output
    found = read_proposals(tmp_path / "taxonomy/proposals")
    assert len(found) == 2
    assert all(one.id.startswith("taught_") and one.definition.startswith("On taught") for one in found)
    assert "teacher: 2 questions" in done.stdout


def test_a_tree_is_refined_by_the_teacher_s_labels_and_what_is_new_in_it_is_named(typed: Typed, tmp_path: Path) -> None:
    typed("induce", str(tmp_path / "draft"), "--most", "2")
    before = names_in(tmp_path / "draft")
    tagged = tmp_path / "tagged.csv"
    lines = [f"{text},{intent},ann" for text, intent in queries()[::2]]
    tagged.write_text("\n".join(["query,tags,annotator", *lines]))
    with served(tmp_path, rule="teacher") as server:
        arguments = ("--teacher", "--tree", str(tmp_path / "draft"), "--expert", str(tagged))
        done = typed("refine", str(tmp_path / "tree"), *arguments, url=server.url)
        assert done.exit_code == 0, done.output
        calls = len(server.lines)
        again = typed("refine", str(tmp_path / "again"), *arguments, url=server.url)
        assert len(server.lines) == calls > len(queries())
    assert "0 calls" in again.stdout
    after = names_in(tmp_path / "tree")
    new = set(after) - set(before)
    assert new
    assert {after[leaf] for leaf in new} & {name for name in after.values() if name.startswith("Taught ")}, after
    assert names_in(tmp_path / "again") == after


def test_a_dead_endpoint_labels_nothing_and_says_so(typed: Typed, tmp_path: Path) -> None:
    typed("induce", str(tmp_path / "draft"))
    with served(tmp_path, status=500) as server:
        arguments = ("--teacher", "--tree", str(tmp_path / "draft"))
        done = typed("refine", str(tmp_path / "tree"), *arguments, url=server.url, more="attempts = 1")
    assert done.exit_code == 2
    assert "nothing is concluded from that" in done.stderr
    assert not (tmp_path / "tree").exists()
