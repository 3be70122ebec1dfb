"""The loop of tags, feedback and corrections: what each kind of feedback leads to, when it stops, what is stored."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.taxonomy import refinement
from assets.taxonomy.drafts import Branches, leaves_of, read_branches, with_changed
from assets.taxonomy.induction import branch_of, leaf_of
from assets.taxonomy.refinement import DISAGREES, INCOHERENT, Refined, refine, tree_distance
from assets.taxonomy.rounds import CORRECTIONS, ROUNDS, store_rounds
from assets.taxonomy.schema import Entry
from resources.embedder import Embedder
from resources.lake import Lake
from tests.taxonomy.growth import queries

ROWS = queries()
TEXTS = [text for text, _ in ROWS]
TRUTH = dict(ROWS)
TAGS = {text: intent for text, intent in ROWS[::3]}


def leaf(name: str, *intents: str, part: slice = slice(0, 24, 3)) -> Entry:
    examples = [text for intent in intents for text, _ in queries(intent)[part]]
    return leaf_of(name, name, examples[:: len(intents)], synonyms=(name,))


def tree(*leaves: Entry, branch: str = "home") -> Branches:
    return (branch_of(branch, branch, leaves),)


def nearest_examples(branches: Branches, texts: Sequence[str]) -> list[str]:
    """Labels by the nearest example of any leaf."""
    pairs = [(text, name) for name, entry in leaves_of(branches).items() for text in entry.examples]
    likeness = Embedder().embed(texts) @ Embedder().embed([text for text, _ in pairs]).T
    return [pairs[i][1] for i in likeness.argmax(axis=1)]


def refined(branches: Branches, tags: dict[str, str] | None = None, **more: object) -> Refined:
    return refine(branches, TEXTS, Embedder().embed(TEXTS), nearest_examples, tags=tags, **more)  # type: ignore[arg-type]


def kinds(found: Refined) -> list[tuple[str, str, str]]:
    return [row[:3] for one in found.rounds for row in one.corrections.iter_rows() if row[0] != "example"]


def test_a_tree_that_says_what_the_experts_say_is_left_alone() -> None:
    branches = tree(*(leaf(name, name) for name in ("alarms", "balance", "recipes", "songs")))
    found = refined(branches, TAGS)
    assert (found.converged, kinds(found), tree_distance(branches, found.branches)) == (True, [], 0)


def test_a_leaf_in_which_two_tags_meet_is_split() -> None:
    mixed = leaf("sounds", "songs", "alarms", part=slice(0, 24, 2))
    found = refined(tree(mixed, leaf("recipes", "recipes"), leaf("balance", "balance")), TAGS)
    assert found.converged
    assert ("split", "home.sounds") in {one[:2] for one in kinds(found)}
    labels = dict(zip(TEXTS, nearest_examples(found.branches, TEXTS), strict=True))
    by_intent = {intent: {labels[text] for text, i in ROWS if i == intent} for intent in ("songs", "alarms")}
    assert not by_intent["songs"] & by_intent["alarms"]


def test_two_leaves_of_one_tag_are_merged() -> None:
    twins = (leaf("recipes", "recipes", part=slice(0, 8)), leaf("cooking", "recipes", part=slice(8, 24)))
    found = refined(tree(*twins, leaf("songs", "songs"), leaf("alarms", "alarms"), leaf("balance", "balance")), TAGS)
    assert kinds(found) == [("merge", "home.cooking", "home.recipes")]
    assert "home.cooking" not in leaves_of(found.branches)
    assert found.converged


def test_a_dotted_tag_moves_a_leaf_and_a_plain_one_renames_it() -> None:
    branches = (
        *tree(leaf("tunes", "songs"), leaf("recipes", "recipes")),
        *tree(leaf("cash", "balance"), branch="bank"),
    )
    tags = {text: {"songs": "bank.music", "balance": "funds"}.get(intent, intent) for text, intent in TAGS.items()}
    found = refined(branches, {text: tag for text, tag in tags.items() if tag != "alarms"})
    assert ("move", "home.tunes", "bank") in kinds(found)
    assert ("rename", "bank.cash", "funds") in kinds(found)
    assert leaves_of(found.branches)["bank.cash"].name_en == "funds"


def test_feedback_names_the_query_the_label_and_the_tag() -> None:
    found = refined(tree(leaf("recipes", "recipes"), leaf("songs", "songs")), TAGS)
    first = found.rounds[0].feedback
    assert first["query"].to_list() == sorted(TEXTS)
    against = first.filter(first["cause"] == DISAGREES)
    assert set(against["tag"]) == {"alarms", "balance"}


def test_without_tags_a_leaf_that_falls_apart_is_split() -> None:
    mixed = leaf("sounds", "songs", "recipes", "alarms", part=slice(0, 24, 2))
    found = refined(tree(mixed, leaf("balance", "balance")))
    assert len(leaves_of(found.branches)) >= 2
    assert set(found.rounds[0].feedback["cause"].drop_nulls()) <= {INCOHERENT}


def test_labels_that_never_hold_still_are_no_convergence() -> None:
    branches = tree(leaf("songs", "songs"), leaf("recipes", "recipes"))
    calls = []

    def fickle(_: Branches, texts: Sequence[str]) -> list[str]:
        calls.append(len(texts))
        return [("home.songs", "home.recipes")[(len(calls) + i) % 2] for i in range(len(texts))]

    found = refine(branches, TEXTS, Embedder().embed(TEXTS), fickle, tags=TAGS, most_rounds=4)
    assert not found.converged
    assert found.reason == "4 rounds were not enough: distance 0.000, churn 1.000 in the last"


def test_corrections_that_undo_each_other_are_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = tree(leaf("songs", "songs")), tree(leaf("tunes", "songs"))
    monkeypatch.setattr(refinement, "corrected", lambda branches, *_: other if branches == one else one)
    found = refined(one)
    assert (found.converged, found.reason) == (
        False,
        "round 3 came back to the tree of round 1: its corrections undo each other",
    )


@settings(max_examples=3, deadline=None)
@given(st.permutations(range(len(TEXTS))))
def test_the_order_of_the_queries_changes_no_round(order: list[int]) -> None:
    branches = tree(leaf("sounds", "songs", "alarms", part=slice(0, 24, 2)), leaf("recipes", "recipes"))
    texts = [TEXTS[i] for i in order]
    again = refine(branches, texts, Embedder().embed(texts), nearest_examples, tags=TAGS)
    found = refined(branches, TAGS)
    assert again.branches == found.branches
    assert [one.feedback.equals(other.feedback) for one, other in zip(found.rounds, again.rounds, strict=True)]


def test_every_round_is_stored_with_its_tree(tmp_path: Path) -> None:
    lake = Lake(root=str(tmp_path))
    found = refined(tree(leaf("sounds", "songs", "alarms", part=slice(0, 24, 2)), leaf("recipes", "recipes")), TAGS)
    folders = store_rounds(lake, found)
    assert len(folders) == len(found.rounds) > 1
    for number, (one, folder) in enumerate(zip(found.rounds, folders, strict=True), start=1):
        assert lake.read(ROUNDS, f"round_{number:02d}").equals(one.feedback)
        assert lake.read(CORRECTIONS, f"round_{number:02d}").equals(one.corrections)
        assert leaves_of(read_branches(folder)).keys() == leaves_of(one.branches).keys()
    store_rounds(lake, found._replace(rounds=found.rounds[:1]))
    assert not lake.exists(ROUNDS, "round_02")


def test_the_distance_counts_leaves_that_came_went_moved_or_changed() -> None:
    songs, recipes, alarms = (leaf(name, name) for name in ("songs", "recipes", "alarms"))
    before = tree(songs, recipes)
    assert tree_distance(before, before) == 0
    assert tree_distance(before, tree(songs, recipes, alarms)) == 1
    assert tree_distance(before, (*tree(songs), *tree(recipes, branch="kitchen"))) == 1
    renamed = with_changed(before, "home.songs", leaf_of("songs", "music", songs.examples))
    assert tree_distance(before, renamed) == 1


@pytest.mark.parametrize("wrong", [{"churn_below": 0.0}, {"most_rounds": 0}])
def test_bounds_that_can_never_be_met_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="positive bounds"):
        refine(tree(leaf("songs", "songs")), TEXTS, np.zeros((96, 256), np.float32), nearest_examples, **wrong)  # type: ignore[arg-type]
