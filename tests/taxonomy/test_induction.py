"""Trees from queries that nobody labelled: what is found, what tags change, what a teacher makes of it."""

import json
import os
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.taxonomy.clustering import best_clusters, clusters_of, silhouettes, unit
from assets.taxonomy.comparison import likeness
from assets.taxonomy.drafts import as_yaml, leaves_of, read_branches, write_branches
from assets.taxonomy.induction import Induced, examples_of, induce
from assets.taxonomy.schema import TaxonomyError
from assets.taxonomy.teacher import taught
from assets.taxonomy.terms import telling_words, terms_of
from assets.taxonomy.tree import load_taxonomy
from resources.embedder import Embedder
from tests.taxonomy.growth import chinese_recipes, queries


def induced(rows: list[tuple[str, str]], **more: object) -> Induced:
    texts = [text for text, _ in rows]
    return induce(texts, Embedder().embed(texts), **more)  # type: ignore[arg-type]


def blobs(sizes: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(0)
    return unit(np.concatenate([np.eye(8)[i] + 0.1 * rng.normal(size=(n, 8)) for i, n in enumerate(sizes)]))


def test_the_number_of_clusters_is_found() -> None:
    found = best_clusters(blobs((30, 20, 25, 15, 10)))
    assert len(found.centres_KD) == 5
    assert np.bincount(found.cluster_N).tolist() == [30, 25, 20, 15, 10]
    assert found.silhouette > 0.8


def test_silhouettes_are_those_of_the_definition() -> None:
    points = blobs((4, 3, 2))
    cluster = np.array([0] * 4 + [1] * 3 + [2] * 2)
    away = 1 - points @ points.T
    for row in range(len(points)):
        own = (cluster == cluster[row]) & (np.arange(len(points)) != row)
        inside = away[row, own].mean()
        outside = min(away[row, cluster == other].mean() for other in range(3) if other != cluster[row])
        expected = (outside - inside) / max(inside, outside)
        assert silhouettes(points, cluster)[row] == pytest.approx(expected, abs=1e-4)


def test_rows_of_one_tag_stay_together_and_apart_from_another_tag() -> None:
    points = blobs((20, 20))
    tags = np.full(40, -1)
    tags[[0, 25]] = 0
    tags[[5, 30]] = 1
    cluster = clusters_of(points, 4, tag_N=tags).cluster_N
    assert cluster[0] == cluster[25] != cluster[5] == cluster[30]


def test_four_plain_intents_become_their_leaves(tmp_path: Path) -> None:
    rows = queries()
    found = induced(rows, least=4, most=6)
    counted = Counter((found.leaf[text], intent) for text, intent in rows if found.leaf[text])
    largest = {intent: max(n for (_, i), n in counted.items() if i == intent) for _, intent in rows}
    assert len(leaves_of(found.branches)) == 4
    assert min(largest.values()) >= 18  # of 24; one time of day stands apart
    write_branches(found.branches, tmp_path / "tree")
    real = load_taxonomy(tmp_path / "tree").real()
    assert {leaf.id for leaf in real} == set(leaves_of(found.branches))
    assert all(leaf.counter_examples and len(leaf.examples) >= 6 for leaf in real)


@settings(max_examples=5, deadline=None)
@given(st.permutations(queries()))
def test_the_order_of_the_queries_changes_nothing(rows: list[tuple[str, str]]) -> None:
    tags = {"recipe for rice": "recipes", "play a song by bach": "songs"}
    found, again = induced(queries(), tags=tags), induced(rows, tags=tags)
    assert found.leaf == again.leaf
    assert list(map(as_yaml, found.branches)) == list(map(as_yaml, again.branches))


def test_expert_tags_name_the_leaves_and_dotted_ones_their_branch() -> None:
    tags = {text: f"home.{intent}" for text, intent in queries("recipes", "alarms")[::4]}
    found = induced(queries(), tags=tags)
    assert {"home.recipes", "home.alarms"} <= set(leaves_of(found.branches))
    assert all(found.leaf[text] == f"home.{intent}" for text, intent in queries("recipes", "alarms")[::4])


def test_a_mixed_log_gives_leaves_that_say_which_language_they_are_in(tmp_path: Path) -> None:
    rows = queries("recipes", "alarms") + [(text, "recipes") for text in chinese_recipes()]
    found = induced(rows)
    write_branches(found.branches, tmp_path / "tree")
    assert load_taxonomy(tmp_path / "tree").real()
    assert None not in {found.leaf[text] for text in chinese_recipes()} or found.left_over


def test_examples_have_both_languages_where_both_are_there() -> None:
    chosen = examples_of(["a", "b", "c", "d", "汤", "饭", "面"], [0.9, 0.8, 0.7, 0.6, 0.3, 0.2, 0.1], most=5)
    assert chosen == ("a", "b", "c", "汤", "饭")


def test_terms_of_both_languages_and_words_that_tell() -> None:
    assert {"wcafé", "pnew york", " ca", "米饭"} <= set(terms_of("New York café 米饭"))
    words = telling_words(["set an alarm", "alarm at six", "play the song", "a song of love"], [0, 0, 1, 1], most=1)
    assert words == {0: ["alarm"], 1: ["song"]}
    assert telling_words(["北京天气预报", "上海天气预报", "播放音乐"], [0, 0, 1], most=1)[0] == ["天气预"]


def test_too_few_queries_and_repeated_ones_are_refused() -> None:
    with pytest.raises(ValueError, match="12 distinct queries or more, got 3, 3 distinct"):
        induced(queries()[:3])
    with pytest.raises(ValueError, match="got 48, 24 distinct"):
        induced(queries("songs") * 2)


def test_a_folder_that_holds_a_tree_is_not_written_over(tmp_path: Path) -> None:
    found = induced(queries())
    write_branches(found.branches, tmp_path)
    with pytest.raises(ValueError, match="holds a taxonomy already"):
        write_branches(found.branches, tmp_path)
    (tmp_path / "notes.yaml").mkdir()
    assert len(read_branches(tmp_path)) == len(found.branches), "a folder is no branch"
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file" / "tree"):
        with pytest.raises(ValueError, match="file is a file: a tree needs a folder"):
            write_branches(found.branches, place)


def test_bounds_on_the_number_of_leaves_that_no_number_meets_are_refused() -> None:
    with pytest.raises(ValueError, match="most=3, least=9"):
        induced(queries(), least=9, most=3)


EACH = {text: intent for text, intent in queries()[::3]}


class Scripted:
    """Answers as a teacher would; every third answer is broken once, and it never manages to name alarms."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, prompt: str) -> str:
        """The answer to a prompt."""
        self.calls += 1
        if "top categories" in prompt:
            ids = re.findall(r"^- (\w+):", prompt, re.MULTILINE)
            kept = [ident for ident in ids if ident != "songs"]
            fields = {"id": "Home Life", "name_en": "Home", "name_zh": "家", "definition": "At home.", "leaves": kept}
            return f"Here it is:\n```json\n{json.dumps({'categories': [fields]})}\n```"
        if "alarm" in prompt:
            return "I cannot say."
        if self.calls % 3 == 0 and "could not be used" not in prompt:
            return '{"id": "half'
        about = "songs" if "mozart" in prompt else "food" if "rice" in prompt else "money"
        return json.dumps({"id": about, "name_en": about.title(), "name_zh": "名", "definition": f"All on {about}."})


def test_a_teacher_names_and_arranges_and_what_it_cannot_do_is_kept(tmp_path: Path) -> None:
    ask = Scripted()
    made = taught(induced(queries(), tags=EACH), ask)
    names = {leaf.name_en for leaf in leaves_of(made.induced.branches).values()}
    assert {"Songs", "Food", "Money"} <= names
    assert [(one.fault, one.answer) for one in made.unusable] == [("there is no JSON object in it", "I cannot say.")]
    assert {branch.id for branch in made.induced.branches} == {
        "home_life"
    }  # the forgotten leaf stays with its neighbours
    assert set(made.induced.leaf.values()) <= {*leaves_of(made.induced.branches), None}
    write_branches(made.induced.branches, tmp_path / "tree")
    assert len(load_taxonomy(tmp_path / "tree").real()) == 4


@pytest.mark.corpora
def test_fifteen_of_clinc150_s_intents_are_found_and_better_with_a_few_tags() -> None:
    place = os.environ.get("LOOPWRIGHT_CORPORA", "")
    if not place:
        pytest.skip("public corpora: set LOOPWRIGHT_CORPORA to the folder that holds queries/clinc150 and others")
    rows = json.loads((Path(place) / "queries/clinc150/data_full.json").read_text(encoding="utf-8"))["train"]
    kept = set(sorted({intent for _, intent in rows})[::10])
    gold = {text: intent for text, intent in rows if intent in kept}
    texts = sorted(gold)
    tagged = {text: gold[text] for text in texts[::20]}
    alone, helped = (induced([(text, "") for text in texts], tags=tags) for tags in ({}, tagged))
    known = [gold[text] for text in texts]
    assert likeness(alone.clusters.cluster_N.tolist(), known).ari >= 0.78  # measured .84, 16 clusters for 15 intents
    assert likeness(helped.clusters.cluster_N.tolist(), known).ari >= 0.9  # measured .94


ONE_LANGUAGE = """\
id: food
languages: [en]
name: {en: Food}
definition: About eating.
children:
  - id: recipes
    name: {en: Recipes}
    definition: How to cook.
    examples: [cook rice, bake a cake, fry fish, boil eggs, make soup, roast beef]
    counter_examples: [a table]
    synonyms: [cooking]
"""


def test_a_branch_may_state_that_it_is_in_one_language(tmp_path: Path) -> None:
    path = tmp_path / "food.yaml"
    path.write_text(ONE_LANGUAGE)
    assert load_taxonomy(tmp_path).real()[0].name_zh == "Recipes"
    path.write_text(ONE_LANGUAGE.replace("languages: [en]\n", ""))
    with pytest.raises(TaxonomyError, match=r"food.yaml:2: zh: is missing(.|\n)*has 6, 0 of them Chinese"):
        load_taxonomy(tmp_path)
    path.write_text(ONE_LANGUAGE.replace("languages: [en]", "languages: [fr]"))
    with pytest.raises(TaxonomyError, match="languages: fr is not known; allowed: en, zh"):
        load_taxonomy(tmp_path)
