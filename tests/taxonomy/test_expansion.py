"""What gathers in Others becomes proposals, people decide on them, and what was refused stays refused."""

import difflib
import hashlib
import json
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
import yaml
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from assets.taxonomy import tree as default_tree
from assets.taxonomy.drafts import leaves_of, read_branches
from assets.taxonomy.expansion import Expansion, expand, size_interval
from assets.taxonomy.grafting import graft, graft_accepted
from assets.taxonomy.proposals import (
    Proposal,
    ProposalError,
    Status,
    decide,
    overlap,
    read_proposals,
    sketch,
    write_proposal,
)
from assets.taxonomy.teacher import Unusable, namer
from assets.taxonomy.tree import load_taxonomy
from dagster_project.commands.taxonomy import app
from resources.embedder import Embedder
from resources.lake import Lake
from tests.taxonomy.growth import BRANCH, queries


def others(*intents: str, node: str = "kitchen.other") -> pl.DataFrame:
    texts = [text for text, _ in queries(*intents)]
    return pl.DataFrame({"query_id": [f"{hash_of(t)}" for t in texts], "text": texts, "leaf": [node] * len(texts)})


def hash_of(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()


def expanded(rows: pl.DataFrame, before: list[Proposal] | None = None, total: int = 1000) -> Expansion:
    vectors = Embedder().embed(rows["text"].to_list())
    return expand(rows, vectors, taken=["kitchen.recipes"], before=before or [], total=total, least_queries=12)


def tree_in(folder: Path, text: str = BRANCH) -> Path:
    folder.mkdir()
    (folder / "kitchen.yaml").write_text(text)
    return folder


def test_two_intents_in_an_other_become_two_proposals_and_a_few_oddities_none() -> None:
    odd = pl.DataFrame({"query_id": ["x1", "x2"], "text": ["zebra", "quantum"], "leaf": ["kitchen.other"] * 2})
    found = expanded(pl.concat([others("songs", "alarms"), odd]))
    assert len(found.proposals) == 2
    assert {one.parent for one in found.proposals} == {"kitchen"}
    assert all(one.expected.low < one.expected.queries < one.expected.high for one in found.proposals)
    intents = dict(queries("songs", "alarms"))
    assert all(len({intents.get(text) for text in one.examples}) == 1 for one in found.proposals)


def test_a_teacher_s_names_are_taken_and_where_it_fails_the_words_stand() -> None:
    unusable: list[Unusable] = []

    def ask(prompt: str) -> str:
        fields = {"id": "Music Wanted", "name_en": "Music", "name_zh": "音乐", "definition": "Wants to hear music."}
        return json.dumps(fields) if "mozart" in prompt else "no idea"

    rows = others("songs", "alarms")
    vectors = Embedder().embed(rows["text"].to_list())
    found = expand(rows, vectors, taken=[], total=100, least_queries=12, name=namer(ask, unusable))
    named = {one.id: one.name.zh for one in found.proposals}
    assert named["music_wanted"] == "音乐"
    assert len(named) == 2
    assert [one.answer for one in unusable] == ["no idea"]


def test_each_other_is_looked_at_by_itself() -> None:
    rows = pl.concat([others("songs", "alarms"), others("balance", "recipes", node="other")])
    assert {one.parent for one in expanded(rows).proposals} == {"kitchen", ""}


@settings(max_examples=3, deadline=None)
@given(st.permutations(range(48)))
def test_the_order_of_the_rows_changes_no_proposal(order: list[int]) -> None:
    rows = others("songs", "alarms")
    assert expanded(rows[order]) == expanded(rows)


def test_a_refused_proposal_stays_refused_also_when_its_cluster_has_grown(tmp_path: Path) -> None:
    first = expanded(others("songs", "alarms")[::2])
    for one in first.proposals:
        write_proposal(tmp_path, one)
    decide(tmp_path, [one.key for one in first.proposals], Status.REFUSED)
    again = expanded(others("songs", "alarms"), read_proposals(tmp_path))
    assert again.proposals == ()
    assert {status for _, status in again.known} == {Status.REFUSED}
    other = expanded(others("balance", "recipes"), read_proposals(tmp_path))
    assert len(other.proposals) == 2


def test_overlap_is_the_share_of_the_smaller_cluster() -> None:
    ids = [hash_of(str(i)) for i in range(3000)]
    assert overlap(sketch(ids[:1000]), sketch(ids[:1000])) == 1.0
    assert overlap(sketch(ids[:1000]), sketch(ids)) == 1.0
    assert overlap(sketch(ids[:1000]), sketch(ids[1000:])) == 0.0
    assert overlap(sketch(ids[:2000]), sketch(ids[1000:])) == pytest.approx(0.5, abs=0.12)
    assert overlap((), sketch(ids)) == 0.0


def test_an_expected_size_has_wilson_s_interval() -> None:
    expected = size_interval(50, 1000)
    assert (expected.queries, expected.low, expected.high, expected.of) == (50, 38, 66, 1000)


def test_a_proposal_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    [first, *_] = expanded(others("songs", "alarms")).proposals
    write_proposal(tmp_path, first)
    assert read_proposals(tmp_path) == [first]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"status": "maybe"}, "status: Input should be 'proposed', 'accepted' or 'refused'"),
        ({"examples": ["one"]}, "examples: Tuple should have at least 6 items"),
        ({"idd": "x"}, "idd: Extra inputs are not permitted"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_line_and_field(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    path = write_proposal(tmp_path, expanded(others("songs", "alarms")).proposals[0])
    path.write_text(yaml.dump(yaml.safe_load(path.read_text()) | change))
    with pytest.raises(ProposalError) as caught:
        read_proposals(tmp_path)
    names = [line.partition(":")[0] for line in path.read_text().splitlines()]
    [field] = change
    line = names.index(field) + (2 if field == "examples" else 1)  # a list begins on the line after its name
    assert f"{path.name}:{line}: {said}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", ":1: not YAML"),
        ("\na: " + "[" * 2000, ":2: nested deeper than 50 levels"),
        ("? [a]\n: b", ":1: not YAML: found unhashable key"),
        ("key: 2026-99-99", ": month must be in 1..12"),
    ],
)
def test_a_file_that_is_no_proposal_is_named(tmp_path: Path, text: str, said: str) -> None:
    tmp_path.joinpath("one.yaml").write_text(text)
    with pytest.raises(ProposalError, match=f"one.yaml{re.escape(said)}"):
        read_proposals(tmp_path)


def test_an_accepted_leaf_is_added_and_nothing_else_in_the_file_changes(tmp_path: Path) -> None:
    tree, folder = tree_in(tmp_path / "tree"), tmp_path / "proposals"
    one = expanded(others("songs", "alarms")).proposals[0]
    one = one.model_copy(update={"synonyms": ("no", "12:30", "song")})
    write_proposal(folder, one)
    decide(folder, [one.key], Status.ACCEPTED)
    assert [done.key for done in graft_accepted(folder, tree).done] == [one.key]
    after = (tree / "kitchen.yaml").read_text()
    changed = [line for line in difflib.ndiff(BRANCH.splitlines(), after.splitlines()) if line[0] == "-"]
    assert changed == []
    assert after.startswith(BRANCH.rstrip("\n").rsplit("\n", 1)[0])
    leaf = leaves_of(read_branches(tree))[one.key]
    assert (leaf.examples, leaf.synonyms) == (one.examples, ("no", "12:30", "song"))
    assert graft_accepted(folder, tree) == ([], {})


def test_every_file_of_the_default_tree_keeps_its_words_and_comments(tmp_path: Path) -> None:
    source = Path(default_tree.__file__).parent / "tree"
    for path in source.glob("*.yaml"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    before = load_taxonomy(tmp_path)
    one = expanded(others("songs", "alarms", node="discovery.poi_search.other")).proposals[0]
    names = {"id": "songs", "counter_examples": ("x",)}
    path = graft(one.model_copy(update=names), tmp_path)
    after = load_taxonomy(tmp_path)
    assert {leaf.id for leaf in after.leaves} - {leaf.id for leaf in before.leaves} == {"discovery.poi_search.songs"}
    meanings = {leaf.id: leaf.meaning for leaf in before.real()}
    assert {leaf.id: leaf.meaning for leaf in after.real() if leaf.id in meanings} == meanings
    comments = [line for line in (source / path.name).read_text().splitlines() if line.lstrip().startswith("#")]
    assert comments == [line for line in path.read_text().splitlines() if line.lstrip().startswith("#")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"parent": "garden"}, "no file of .* is the branch 'garden'"),
        ({"parent": "kitchen.garden"}, "the branch has no node 'kitchen.garden'"),
        ({"parent": "kitchen.recipes"}, "'kitchen.recipes' is a leaf"),
        ({"id": "recipes"}, "has a child 'recipes' already"),
        (
            {"examples": ("how do i cook rice", "recipe for eggs", "a", "b", "c", "d")},
            "2 of its examples are examples of",
        ),
    ],
)
def test_what_cannot_be_written_changes_no_file(tmp_path: Path, change: dict[str, object], said: str) -> None:
    tree = tree_in(tmp_path / "tree")
    one = expanded(others("songs", "alarms")).proposals[0].model_copy(update=change)
    with pytest.raises(ProposalError, match=said):
        graft(one, tree)
    assert (tree / "kitchen.yaml").read_text() == BRANCH
    assert sorted(path.name for path in tree.iterdir()) == ["kitchen.yaml"]


def test_a_proposal_without_a_parent_becomes_a_branch(tmp_path: Path) -> None:
    tree = tree_in(tmp_path / "tree")
    one = expanded(others("songs", "alarms", node="other")).proposals[0]
    assert graft(one, tree).name == f"{one.id}.yaml"
    assert f"{one.id}.{one.id}" in {leaf.id for leaf in load_taxonomy(tree).real()}


def test_the_command_proposes_reviews_and_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_HOME", str(tmp_path))

    def loopwright(*arguments: str, said: str = "") -> Result:
        return CliRunner().invoke(app, arguments, input=said)

    tree, lake = tree_in(tmp_path / "tree"), Lake(root=str(tmp_path / "lake"))
    rows = pl.concat([others("songs", "alarms"), others("balance", "recipes", node="kitchen.recipes")])
    lake.write("labels/query_labels", rows.select("query_id", primary="leaf"))
    lake.write("queries/distinct_queries", rows.select("query_id", "text"))
    done = loopwright("expand", "--least", "12", "--tree", str(tree))
    assert done.exit_code == 0, done.stderr
    folder = tmp_path / "taxonomy/proposals"
    first, second = (one.key for one in read_proposals(folder))
    typo = loopwright("review", "--accept", "nothing", "--tree", str(tree))
    assert (typo.exit_code, f"there are: {first}, {second}" in typo.stderr) == (2, True)
    done = loopwright("review", "--refuse", first, "--tree", str(tree))
    assert "1 proposals wait" in done.stdout, done.stderr
    path = folder / f"{second}.yaml"
    path.write_text(path.read_text().replace("status: proposed", "status: accepted"))
    done = loopwright("review", "--interactive", "--tree", str(tree), said="l\n")
    assert f"written into the tree: {second}" in done.stdout, done.stderr
    assert second in {leaf.id for leaf in load_taxonomy(tree).real()}
    done = loopwright("expand", "--least", "12", "--tree", str(tree))
    assert done.stdout.startswith("0 proposals"), done.stderr
    assert f"{first} gathers again: refused" in done.stdout


def proposal(parent: str, ident: str) -> Proposal:
    said = [f"{ident} {text}" for text in ("on", "off", "louder", "again", "for me", "tomorrow")]
    fields = {"status": "proposed", "parent": parent, "id": ident, "name": {"en": ident, "zh": ident}}
    size = {"queries": 6, "low": 3, "high": 12, "of": 40}
    beside = {"counter_examples": ["else"], "synonyms": [f"my {ident}"], "definition": f"Asks for {ident}."}
    return Proposal.model_validate({**fields, **beside, "expected": size, "examples": said})


@pytest.mark.parametrize(
    ("blocked", "told", "first"),
    [
        ("tree/kitchen.tmp", "kitchen.radio is accepted and not in the tree", Status.ACCEPTED),
        ("proposals/kitchen.radio.tmp", "the decision on kitchen.radio could not be kept", Status.PROPOSED),
        (
            "",
            "kitchen.radio is accepted and not in the tree, the next review tries it again: [Errno 27]",
            Status.ACCEPTED,
        ),
    ],
)
def test_what_a_review_cannot_write_is_named_costs_no_other_answer_and_is_offered_again(
    tmp_path: Path, blocked: str, told: str, first: Status
) -> None:
    tree, folder = tree_in(tmp_path / "tree"), tmp_path / "proposals"
    for one in (proposal("kitchen", "radio"), proposal("", "lamps")):
        write_proposal(folder, one)

    def review(said: str) -> Result:
        given = ("--folder", str(folder), "--tree", str(tree), "--interactive")
        return CliRunner().invoke(app, ["review", *given], input=said)

    if blocked:
        (tmp_path / blocked).mkdir()
        done = review("a\na\n")
    else:  # a proposal fits on the disk, a branch with a leaf more does not
        with no_file_longer_than(len(BRANCH)):
            done = review("a\na\n")
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1), done.output
    assert told in done.stderr
    assert "written into the tree: lamps" in done.stdout
    states = {one.key: (one.status, one.written) for one in read_proposals(folder)}
    assert states == {"kitchen.radio": (first, False), "lamps": (Status.ACCEPTED, True)}
    assert (tree / "kitchen.yaml").read_text() == BRANCH
    if blocked:
        (tmp_path / blocked).rmdir()
    done = review("a\n")
    assert (done.exit_code, "written into the tree: kitchen.radio" in done.stdout) == (0, True), done.output
    assert {"kitchen.radio", "lamps.lamps"} <= {leaf.id for leaf in load_taxonomy(tree).real()}


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """For this process, as on a disk that is nearly full."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


def test_a_leaf_that_stands_in_the_tree_is_marked_as_written_after_its_mark_was_lost(tmp_path: Path) -> None:
    tree, folder = tree_in(tmp_path / "tree"), tmp_path / "proposals"
    for one in (proposal("kitchen", "radio"), proposal("", "lamps")):
        write_proposal(folder, one.model_copy(update={"status": Status.ACCEPTED}))
        (folder / f"{one.key}.tmp").mkdir()
    assert list(graft_accepted(folder, tree).failed) == ["kitchen.radio", "lamps"]
    texts = {path.name: path.read_text() for path in tree.iterdir()}
    assert sorted(texts) == ["kitchen.yaml", "lamps.yaml"]
    for scratch in folder.glob("*.tmp"):
        scratch.rmdir()
    assert [one.key for one in graft_accepted(folder, tree).done] == ["kitchen.radio", "lamps"]
    assert all(one.written for one in read_proposals(folder))
    assert {path.name: path.read_text() for path in tree.iterdir()} == texts


def test_the_commands_lead_from_a_log_to_a_refined_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_HOME", str(tmp_path))
    lake = Lake(root=str(tmp_path / "lake"))
    rows = others("songs", "alarms", "recipes", "balance")
    lake.write("queries/distinct_queries", rows.select("query_id", "text", support=pl.lit(1)))
    sheet, tagged = tmp_path / "seeds.csv", tmp_path / "tagged.csv"
    done = CliRunner().invoke(app, ["seeds", str(sheet), "--size", "40"])
    assert done.exit_code == 0, done.stderr
    intents = dict(queries())
    seeds = pl.read_csv(sheet)
    seeds.with_columns(tags=pl.Series([intents[q] for q in seeds["query"]]), annotator=pl.lit("ann")).write_csv(tagged)
    assert "40 answers on 40 queries" in CliRunner().invoke(app, ["experts", str(tagged)]).stdout
    done = CliRunner().invoke(app, ["induce", str(tmp_path / "draft")])
    assert done.exit_code == 0, done.stderr
    assert {"alarms", "balance", "recipes", "songs"} <= {
        leaf.id.rpartition(".")[2] for leaf in load_taxonomy(tmp_path / "draft").real()
    }
    done = CliRunner().invoke(app, ["refine", str(tmp_path / "tree"), "--tree", str(tmp_path / "draft")])
    assert done.exit_code == 0, done.stderr
    assert "converged" in done.stdout
    assert len(load_taxonomy(tmp_path / "tree").real()) == len(load_taxonomy(tmp_path / "draft").real())
