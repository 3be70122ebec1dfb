"""The plan equals what then happens: over random trees, edits and labels, the rows asked, the leaves that differ."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.labels.rules import IRRELEVANT
from assets.labels.table import LABEL_SCHEMA
from assets.taxonomy.apply import answers_to, apply_plan
from assets.taxonomy.changes import Kind
from assets.taxonomy.diff import diff
from assets.taxonomy.migration import Entry, Said
from assets.taxonomy.plan import Plan, make_plan
from tests.taxonomy.builders import Counting, Edited, edits, label_frames, taxonomy, trees

MANY = settings(max_examples=50, deadline=None)


class Case:
    """A tree, its labels, an edit of it, and the plan between the two."""

    def __init__(self, before: dict[str, tuple[str, ...]], edited: Edited, labels: pl.DataFrame) -> None:
        self.before, self.after = taxonomy(before), taxonomy(edited.tree)
        self.edited, self.labels = edited, labels
        self.found = diff(self.before, self.after, edited.entries)
        self.plan: Plan = make_plan(self.found, labels)

    def applied(self, pick: int = 0) -> tuple[pl.DataFrame, Counting]:
        """What comes of it with an annotator that always takes the same of the leaves allowed."""
        annotator = Counting(pick)
        return apply_plan(self.labels, self.plan, answers_to(self.plan, annotator)), annotator


@st.composite
def cases(draw: st.DrawFn) -> Case:
    before = draw(trees())
    return Case(before, draw(edits(before)), draw(label_frames(taxonomy(before))))


def by_leaf(labels: pl.DataFrame) -> dict[object, pl.DataFrame]:
    return {leaf: rows for (leaf,), rows in labels.partition_by("primary", as_dict=True).items()}


def differing(before: pl.DataFrame, after: pl.DataFrame) -> set[object]:
    """Leaves whose rows are not the same."""
    old, new = by_leaf(before), by_leaf(after)
    return {
        leaf
        for leaf in old.keys() | new.keys()
        if leaf not in old or leaf not in new or not old[leaf].equals(new[leaf])
    }


@MANY
@given(cases())
def test_the_annotator_is_asked_about_exactly_the_rows_planned_and_each_once(case: Case) -> None:
    _, annotator = case.applied()
    assert sorted(annotator.asked) == case.plan.asked["query_id"].to_list()
    assert len(set(annotator.asked)) == len(annotator.asked) == case.plan.calls == sum(case.plan.asked_by())


@MANY
@given(cases())
def test_afterwards_every_label_is_a_leaf_of_the_tree_after(case: Case) -> None:
    known = {leaf.id for leaf in case.after.leaves} | {IRRELEVANT}
    for pick in range(3):
        after, _ = case.applied(pick)
        assert after["query_id"].equals(case.labels["query_id"])
        for name in ("primary", "secondary"):
            assert set(after[name].drop_nulls()) <= known
        assert after["primary"].null_count() == 0
        assert after.filter(pl.col("primary") == pl.col("secondary")).is_empty()


@MANY
@given(cases())
def test_the_leaves_that_differ_are_those_planned_whatever_is_answered(case: Case) -> None:
    parts = case.plan.partitions
    planned = {*parts.changed, *parts.appear, *parts.vanish}
    widths = [len(row) for name in ("among", "among_secondary") for row in case.plan.asked[name].drop_nulls()]
    seen = set()
    for pick in range(max(widths, default=1)):
        seen |= differing(case.labels, case.applied(pick)[0])
    assert seen <= planned
    assert set(parts.changed) <= seen


@MANY
@given(cases())
def test_what_is_not_planned_is_the_same_row_for_row(case: Case) -> None:
    parts = case.plan.partitions
    after, _ = case.applied(1)
    named = {*parts.changed, *parts.appear, *parts.vanish}
    untouched = ~case.labels["primary"].is_in(list(named))
    assert after.filter(untouched).equals(case.labels.filter(untouched))


@MANY
@given(cases())
def test_the_rows_that_move_without_a_call_are_those_planned(case: Case) -> None:
    after, annotator = case.applied()
    both = case.labels.select("query_id", "primary").join(
        after.select("query_id", "primary"), on="query_id", suffix="_now"
    )
    other = both.filter(pl.col("primary") != pl.col("primary_now"), ~pl.col("query_id").is_in(annotator.asked))
    assert other["query_id"].sort().equals(case.plan.moved["query_id"])
    assert case.plan.moved["change"].null_count() == 0


@MANY
@given(cases())
def test_without_a_confirmation_a_split_or_merge_is_a_removal_and_additions(case: Case) -> None:
    found = diff(case.before, case.after)
    assert not {change.kind for change in found.changes} & {Kind.SPLIT, Kind.MERGE}
    for entry in case.edited.entries:
        for leaf in entry.before:
            assert leaf in case.edited.tree or any(
                c.kind is Kind.REMOVAL and c.before == (leaf,) for c in found.changes
            )


@given(trees(), st.data())
@settings(max_examples=30, deadline=None)
def test_a_tree_under_other_names_plans_nothing(before: dict[str, tuple[str, ...]], data: st.DataObject) -> None:
    labels = data.draw(label_frames(taxonomy(before)))
    plan = make_plan(diff(taxonomy(before), taxonomy(before, names=" anew")), labels)
    assert (plan.calls, len(plan.moved), plan.partitions) == (0, 0, ((), (), ()))
    assert plan.before == plan.after


ROWS = [
    ("q1", "a.x", None, "a.y", 0.9),
    ("q2", "a.y", "a.x", None, 0.9),
    ("q3", "a.y", None, "a.z", 0.4),
    ("q4", "a.other", None, "a.x", 0.2),
    ("q5", "other", None, "b.u", 0.2),
    ("q6", "b.u", None, "a.x", 0.4),
    ("q7", "b.u", None, "a.x", 0.9),
]
TREE = {leaf: tuple(f"{leaf} {i}" for i in range(6)) for leaf in ("a.x", "a.y", "a.z", "b.u")}


def label_frame(rows: list[tuple[str, str, str | None, str | None, float]]) -> pl.DataFrame:
    names = ["query_id", "primary", "secondary", "runner_up", "confidence"]
    return pl.DataFrame(rows, schema={**dict.fromkeys(names, pl.String), "confidence": pl.Float64}, orient="row")


def planned(after: dict[str, tuple[str, ...]], *entries: Entry) -> dict[str, list[str]]:
    """What each row is asked about, in the tree above."""
    plan = make_plan(diff(taxonomy(TREE), taxonomy(after), entries), label_frame(ROWS))
    rows = plan.asked.select("query_id", pl.coalesce("among", "among_secondary"))
    return dict(rows.iter_rows())


def without(*leaves: str) -> dict[str, tuple[str, ...]]:
    return {leaf: examples for leaf, examples in TREE.items() if leaf not in leaves}


def test_a_split_asks_the_rows_that_carry_the_leaf_as_first_or_second_among_its_children_and_their_other() -> None:
    after = without("a.x") | {"a.x.m": TREE["a.x"][:3], "a.x.n": TREE["a.x"][3:]}
    split = Entry(Said.SPLIT, ("a.x",), ("a.x.m", "a.x.n"), confirmed=True)
    allowed = ["a.x.m", "a.x.n", "a.x.other"]
    assert planned(after, split) == {"q1": allowed, "q2": allowed}


def test_an_addition_asks_the_others_above_it_and_unsure_rows_beside_it() -> None:
    asked = planned(TREE | {"a.w": ("w",)})
    assert asked == {"q3": ["a.other", "a.w", "a.y"], "q4": ["a.other", "a.w"], "q5": ["a.w", "other"]}


def test_a_removal_asks_the_rows_that_carry_it_among_its_siblings_and_their_other() -> None:
    allowed = ["a.other", "a.y", "a.z"]
    assert planned(without("a.x")) == {"q1": allowed, "q2": allowed}


def test_an_edit_asks_its_rows_and_those_that_nearly_were() -> None:
    asked = planned(TREE | {"a.x": ("other words",)})
    assert asked == {
        "q1": ["a.other", "a.x"], "q2": ["a.other", "a.x"], "q4": ["a.other", "a.x"], "q6": ["a.other", "a.x", "b.u"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "after",
    [
        without("a.x") | {"a.v": TREE["a.x"]},
        without("a.x") | {"b.x": TREE["a.x"]},
        {leaf.replace("a.", "c."): examples for leaf, examples in TREE.items()},
        {leaf.replace("a.", "b.a."): examples for leaf, examples in TREE.items()},
    ],
    ids=["renamed", "moved", "node renamed", "node moved"],
)
def test_renames_and_moves_ask_nothing(after: dict[str, tuple[str, ...]]) -> None:
    assert planned(after) == {}


def test_a_second_leaf_without_an_answer_is_the_other_and_no_leaf_that_is_spelt_like_it() -> None:
    named = {"a.z_other": ("elsewhere",)}
    found = diff(taxonomy(TREE | named), taxonomy(without("a.x", "a.y") | named))
    labels = label_frame([("q", "a.x", "a.y", None, 0.9)])
    unsaid = {name: pl.lit(None, kind) for name, kind in LABEL_SCHEMA.items() if name not in labels.columns}
    plan = make_plan(found, labels)
    after = apply_plan(labels.with_columns(**unsaid).select(*LABEL_SCHEMA), plan, answers_to(plan, Counting(1)))
    assert after.select("primary", "secondary").row(0) == ("a.z", "a.other")


def test_labels_of_another_tree_are_refused_with_the_leaf_that_it_lacks() -> None:
    labels = label_frame([("q", "z", None, None, 0.9)])
    with pytest.raises(ValueError, match=r"it has no leaf z; take the labels of that"):
        make_plan(diff(taxonomy(TREE), taxonomy(TREE)), labels)
