"""The book of labels: every version of the tree stays as it was, at the cost of what differs."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assets.labels.book import LEAVES, PAGES, PIECES, BookError, LabelBook, kinds
from assets.labels.relabel import Relabelled, labels_under, moved_note
from assets.labels.table import LABEL_SCHEMA
from assets.taxonomy.diff import diff
from assets.taxonomy.plan import plan_back
from assets.taxonomy.stored import taxonomy_of, version_of
from assets.taxonomy.tree import Taxonomy, load_taxonomy
from resources.lake import Lake
from tests.taxonomy.builders import Counting, Edited, edits, migration, taxonomy, trees

FEW = settings(max_examples=12, deadline=None)


def asked(count: int, first: int = 0) -> pl.DataFrame:
    """Queries without a context."""
    numbers = range(first, first + count)
    return pl.DataFrame(
        {"query_id": [f"q{i:03}" for i in numbers], "text": [f"say {i}" for i in numbers], "context": [None] * count},
        schema_overrides={"context": pl.String},
    )


class Day:
    """One lake, and what is labelled in it."""

    def __init__(self, folder: Path, annotator: str = "counting") -> None:
        self.lake = Lake(root=str(folder))
        self.book = LabelBook(self.lake, annotator)
        self.pick = 0

    def under(
        self, tree: Taxonomy, queries: pl.DataFrame, *edited: tuple[Taxonomy, Edited], in_lake: Taxonomy | None = None
    ) -> tuple[Relabelled, Counting]:
        """Labels of the queries under a tree, reached from others by edits, and who was asked."""
        told_from = version_of(in_lake) if in_lake else None
        annotator = Counting(self.pick, tree)
        said = [migration(version_of(before), version_of(tree), what) for before, what in edited]
        done = labels_under(
            tree.table(), queries, self.book, annotator.rows, migrations=said, near_below=0.5, in_lake=told_from,
            rows_at_a_time=7,
        )  # fmt: skip
        return done, annotator


def bytes_of(lake: Lake) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(lake.folder(LEAVES).glob("*.parquet"))}


def test_a_tree_comes_back_from_its_table_with_the_same_meanings() -> None:
    tree = load_taxonomy()
    again = taxonomy_of(tree.table())
    assert {leaf.id: leaf.meaning for leaf in again.leaves} == {leaf.id: leaf.meaning for leaf in tree.leaves}
    assert version_of(again) == version_of(tree)


@FEW
@given(trees(), st.data())
def test_going_to_another_tree_and_back_gives_the_labels_of_before_without_a_call(
    before: dict[str, tuple[str, ...]], data: st.DataObject
) -> None:
    edited = data.draw(edits(before))
    old, new = taxonomy(before), taxonomy(edited.tree)
    with TemporaryDirectory() as folder:
        day = Day(Path(folder))
        first, annotator = day.under(old, asked(25))
        assert len(annotator.asked) == first.calls == 25
        files = bytes_of(day.lake)
        second, annotator = day.under(new, asked(25), (old, edited))
        assert len(annotator.asked) == second.calls == (second.plan.calls if second.plan else 0)
        planned = plan_back(diff(new, old), second.labels, first.labels)
        back, annotator = day.under(old, asked(25))
        assert annotator.asked == []
        assert planned.calls == 0
        assert back.moved.select("query_id", "from", "to").equals(planned.moved.select("query_id", "from", "to"))
        assert back.labels.equals(first.labels)
        parts = planned.partitions
        differing = set(
            second.labels.join(back.labels, on=back.labels.columns, how="anti", nulls_equal=True)["primary"]
        )
        assert differing <= {*parts.changed, *parts.appear, *parts.vanish}
        assert {name: bytes_of(day.lake)[name] for name in files} == files
        assert day.book.versions()[-1] == version_of(old)


@FEW
@given(trees(), st.data())
def test_along_a_chain_of_trees_only_the_planned_rows_are_asked_and_a_day_between_is_added(
    before: dict[str, tuple[str, ...]], data: st.DataObject
) -> None:
    one = data.draw(edits(before))
    two = data.draw(edits(one.tree))
    trees_ = [taxonomy(before), taxonomy(one.tree), taxonomy(two.tree)]
    with TemporaryDirectory() as folder:
        day = Day(Path(folder))
        day.under(trees_[0], asked(15))
        day.under(trees_[1], asked(15), (trees_[0], one))
        _, annotator = day.under(trees_[1], asked(20))
        assert annotator.asked == [f"q{i:03}" for i in range(15, 20)]
        last, annotator = day.under(trees_[2], asked(20), (trees_[1], two))
        assert len(annotator.asked) == (last.plan.calls if last.plan else 0)
        known = {leaf.id for leaf in trees_[2].leaves}
        assert set(last.labels["primary"]) <= known
        assert last.labels["query_id"].to_list() == asked(20)["query_id"].to_list()


SMALL = {"a.x": ("1", "2"), "a.y": ("3", "4"), "b.z": ("5", "6")}


def test_what_did_not_change_is_the_same_file_under_both_trees(tmp_path: Path) -> None:
    day = Day(tmp_path)
    day.under(taxonomy(SMALL), asked(40))
    before = bytes_of(day.lake)
    day.under(taxonomy({**SMALL, "b.z": ("7",)}), asked(40))
    pages = {v: dict(day.book.page(v).select("leaf", "content").iter_rows()) for v in day.book.versions()}
    old, new = pages.values()
    assert {leaf for leaf in old if old[leaf] != new.get(leaf)} <= {"b.z", "b.other"}
    assert old["a.x"] == new["a.x"]
    assert len(bytes_of(day.lake)) <= len(before) + 2


def test_labels_are_the_same_in_pieces_of_any_size_and_nothing_of_a_piece_stays(tmp_path: Path) -> None:
    day = Day(tmp_path)
    whole, _ = day.under(taxonomy(SMALL), asked(40))
    for rows in (1, 6, 40, 500):
        pieces = list(whole.pieces(rows))
        assert [len(piece) for piece in pieces[:-1]] == [rows] * (len(pieces) - 1)
        assert pl.concat(pieces).equals(whole.labels)
    assert not list(day.lake.folder(PIECES).iterdir())
    none, _ = day.under(taxonomy(SMALL), asked(1)[:0])
    assert [len(piece) for piece in none.pieces()] == [0]
    assert none.labels.columns == [*LABEL_SCHEMA]


def test_a_run_in_which_nothing_changed_writes_nothing(tmp_path: Path) -> None:
    day = Day(tmp_path)
    day.under(taxonomy(SMALL), asked(40))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    done, _ = day.under(taxonomy(SMALL, names=" anew"), asked(40))
    assert (done.way, done.calls) == ("kept", 0)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == before


def test_a_query_that_says_something_else_is_labelled_again_and_one_that_left_is_kept_for_later(tmp_path: Path) -> None:
    day = Day(tmp_path)
    day.under(taxonomy(SMALL), asked(5))
    other = asked(5).with_columns(
        text=pl.when(pl.col("query_id") == "q002").then(pl.lit("new words")).otherwise("text")
    )
    assert day.under(taxonomy(SMALL), other)[1].asked == ["q002"]
    assert day.under(taxonomy(SMALL), asked(3)[:1])[1].asked == []
    assert day.under(taxonomy(SMALL), other)[1].asked == []


def test_another_annotator_has_a_book_of_its_own(tmp_path: Path) -> None:
    Day(tmp_path).under(taxonomy(SMALL), asked(5))
    assert len(Day(tmp_path, "teacher/gpt-4.1").under(taxonomy(SMALL), asked(5))[1].asked) == 5
    assert kinds(Lake(root=str(tmp_path))) == ["counting", "teacher_gpt-4.1"]


@pytest.mark.parametrize(("table", "lost"), [(LEAVES, "labels of .* under tree .* are lost"), (PAGES, "made again")])
def test_a_torn_file_is_set_aside_with_what_it_held_and_the_next_run_makes_that_again(
    tmp_path: Path, table: str, lost: str
) -> None:
    day = Day(tmp_path)
    first, _ = day.under(taxonomy(SMALL), asked(40))
    torn = min(day.lake.folder(table).glob("*.parquet"))
    torn.write_bytes(torn.read_bytes()[:100])
    with pytest.raises(BookError, match=lost):
        day.under(taxonomy(SMALL), asked(40))
    assert torn.with_suffix(".torn").exists()
    again, annotator = day.under(taxonomy(SMALL), asked(40))
    assert 0 < len(annotator.asked) <= 40
    assert again.labels.equals(first.labels)


KILLED = """
import os, signal, sys
from pathlib import Path
import resources.lake
from tests.labels.test_book import Day, asked, SMALL, taxonomy
left = int(sys.argv[2])
write = resources.lake.replace_durably
def dies(scratch, final):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    write(scratch, final)
resources.lake.replace_durably = dies
Day(Path(sys.argv[1])).under(taxonomy({**SMALL, "b.z": ("7",)}), asked(40))
"""


@pytest.mark.parametrize("writes", [0, 2, 7])
def test_killed_while_it_writes_the_book_holds_what_it_held_or_the_new_version_whole(
    tmp_path: Path, writes: int
) -> None:
    day = Day(tmp_path)
    first, _ = day.under(taxonomy(SMALL), asked(40))
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(writes)], check=False, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL
    assert day.book.versions() == [version_of(taxonomy(SMALL))]
    assert day.under(taxonomy(SMALL), asked(40))[0].labels.equals(first.labels)
    changed, _ = day.under(taxonomy({**SMALL, "b.z": ("7",)}), asked(40))
    assert changed.way.startswith("planned")
    assert day.book.read(day.book.versions()[-1]).select(*LABEL_SCHEMA).equals(changed.labels)


def test_what_moved_is_told_per_change(tmp_path: Path) -> None:
    day = Day(tmp_path)
    day.under(taxonomy(SMALL), asked(40))
    done, _ = day.under(taxonomy({"a.x": ("1", "2"), "a.w": ("3", "4"), "b.z": ("5", "6")}), asked(40))
    assert done.calls == 0
    assert set(done.moved["change"]) == {"rename a.y -> a.w"}
    count = len(done.moved)
    assert count > 0
    assert f"| rename a.y -> a.w | {count} | {count} |" in moved_note(done.moved)


@FEW
@given(trees(), st.data())
def test_what_moved_is_told_from_the_labels_in_the_lake_however_often_a_run_died_before_it_wrote_any(
    before: dict[str, tuple[str, ...]], data: st.DataObject
) -> None:
    one = data.draw(edits(before))
    two = data.draw(edits(one.tree))
    a, b, c = taxonomy(before), taxonomy(one.tree), taxonomy(two.tree)
    assume(len({version_of(tree) for tree in (a, b, c)}) == 3)
    with TemporaryDirectory() as folder:
        day = Day(Path(folder))
        first, _ = day.under(a, asked(20))
        whole, _ = day.under(b, asked(20), (a, one), in_lake=a)
        for _ in range(2):
            again, annotator = day.under(b, asked(20), (a, one), in_lake=a)
            assert annotator.asked == []
            assert again.moved.equals(whole.moved)
        assert day.under(b, asked(20), in_lake=b)[0].moved.is_empty()
        last = [day.under(c, asked(20), (b, two), in_lake=a)[0] for _ in range(2)]
        assert last[0].way == f"planned from {version_of(a)}", "the tree in force, not what a killed run left"
        assert last[0].moved.equals(last[1].moved)
        assert elsewhere(last[0].moved) == between(first, last[0])
        back = [day.under(a, asked(20), in_lake=c)[0].moved for _ in range(2)]
        assert back[0].equals(back[1])
        assert elsewhere(back[0]) == between(last[0], first)
        assert day.under(b, asked(20), in_lake=b)[0].moved.is_empty(), "the lake never left it"


def elsewhere(moved: pl.DataFrame) -> list[tuple[str, ...]]:
    """What a report says of queries that are of another leaf now."""
    return (
        moved.filter(pl.col("from") != pl.col("to")).select("query_id", "from", "to").unique().sort("query_id").rows()
    )


def between(was: Relabelled, now: Relabelled) -> list[tuple[str, ...]]:
    """The queries of another leaf in the second than in the first."""
    both = was.labels.select("query_id", "primary").join(now.labels.select("query_id", to="primary"), on="query_id")
    return both.filter(pl.col("primary") != pl.col("to")).sort("query_id").rows()
