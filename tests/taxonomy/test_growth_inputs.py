"""The seed set, and expert tags as people send them: known answers, order, and files that are wrong."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.taxonomy import experts
from assets.taxonomy.experts import COLUMNS, agreement_of_annotators, read_expert_tags, tags_by_query
from assets.taxonomy.seeds import seed_set, write_seeds
from dagster_project.commands.taxonomy_growth import EXPERT_TAGS, beside_earlier
from resources.embedder import Embedder
from resources.lake import Lake
from tests.taxonomy.growth import queries


def frame(support: int = 1) -> pl.DataFrame:
    texts = [text for text, _ in queries()]
    return pl.DataFrame(
        {"query_id": [f"q{i:03d}" for i in range(len(texts))], "text": texts, "support": [support] * len(texts)}
    )


def test_a_seed_per_corner_is_picked_before_a_second_of_any() -> None:
    corners = np.eye(4, dtype=np.float32)
    vectors = np.repeat(corners, 5, axis=0)
    rows = pl.DataFrame({"query_id": [f"{i:02d}" for i in range(20)], "text": ["x"] * 20, "support": [1] * 20})
    picked = seed_set(rows, vectors, size=4)
    assert sorted(int(query) // 5 for query in picked["query_id"]) == [0, 1, 2, 3]


def test_strata_of_support_share_the_picks_and_a_small_one_leaves_the_rest_to_others() -> None:
    rows = frame().with_columns(support=pl.Series([1] * 90 + [3] * 3 + [20] * 3))
    picked = seed_set(rows, Embedder().embed(rows["text"].to_list()), size=12)
    assert dict(picked["stratum"].value_counts().iter_rows()) == {0: 6, 1: 3, 3: 3}


@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_the_log_changes_no_seed(random: "object") -> None:
    rows = frame()
    vectors = Embedder().embed(rows["text"].to_list())
    order = list(range(len(rows)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert seed_set(rows[order], vectors[order], size=9).equals(seed_set(rows, vectors, size=9))


@pytest.mark.parametrize("name", ["seeds.csv", "seeds.jsonl"])
def test_a_seed_file_is_read_back_once_it_has_tags_and_is_never_overwritten(tmp_path: Path, name: str) -> None:
    rows = frame()
    write_seeds(seed_set(rows, Embedder().embed(rows["text"].to_list()), size=5), tmp_path / name)
    untouched = read_expert_tags([tmp_path / name])
    assert (len(untouched.rows), untouched.quarantine["cause"].to_list()) == (0, [experts.NO_TAGS] * 5)
    with pytest.raises(ValueError, match="may hold tags"):
        write_seeds(seed_set(rows, Embedder().embed(rows["text"].to_list()), size=5), tmp_path / name)


def test_tags_of_a_csv_cell_stand_apart_and_bad_rows_are_kept_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "tags.csv"
    path.write_text(
        'query,tags,annotator\nrice soup,a;b | a,ann\n,a,ann\n"torn\nwake me,,bob\n北京天气,天气；出行,bob\n'
    )
    found = read_expert_tags([path])
    assert found.rows.rows() == [
        ("rice soup", ["a", "b"], "ann", str(path), 2),
        ("北京天气", ["天气", "出行"], "bob", str(path), 6),
    ]
    causes = found.quarantine.select("source_row", "cause").rows()
    assert causes == [(3, experts.NO_QUERY), (4, "torn line"), (5, experts.NO_TAGS)]


def test_a_missing_column_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "tags.csv"
    path.write_text("text,label\nx,y\n")
    with pytest.raises(ValueError, match=r"no column query, tags; its columns: label, text"):
        read_expert_tags([path])
    named = read_expert_tags([path], COLUMNS._replace(query="text", tags="label"))
    assert named.rows["annotator"].to_list() == ["unknown"]


def test_label_studio_s_choices_taxonomies_and_skipped_rows(tmp_path: Path) -> None:
    def said(kind: str, value: object, **more: object) -> dict[str, object]:
        return {"result": [{"type": kind, "value": {kind: value}}], **more}

    tasks = [
        {
            "data": {"query": "rice"},
            "annotations": [
                said("choices", ["food", "shop"], completed_by=1),
                said("taxonomy", [["food", "recipes"], ["travel"]], completed_by={"email": "b@c.d"}),
                said("choices", ["x"], was_cancelled=True, completed_by=2),
            ],
        },
        {"data": {"text": "wake"}, "annotations": []},
        {"text": "flat", "sentiment": "good"},
        "no task",
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    found = read_expert_tags([path])
    assert found.rows.select("query", "tags", "annotator").rows() == [
        ("rice", ["food", "shop"], "1"),
        ("rice", ["food.recipes", "travel"], "b@c.d"),
    ]
    assert found.quarantine.select("source_row", "cause").rows() == [
        (1, experts.SKIPPED),
        (2, experts.NO_TAGS),
        (3, experts.NO_ANNOTATIONS),
        (4, experts.NOT_A_TASK),
    ]


GOOD = {"type": "choices", "value": {"choices": ["food"]}}


@pytest.mark.parametrize(
    ("result", "cause"),
    [
        ([GOOD, {"value": {"choices": 5}}], "[1].value.choices: must be a list of texts, not '5'"),
        ([{"value": {"choices": "food"}}], "[0].value.choices: must be a list of texts, not 'food'"),
        ([{"value": {"choices": ["food", 7]}}], "[0].value.choices[1]: must be a text, not '7'"),
        ([{"value": {"taxonomy": True}}], "[0].value.taxonomy: must be a list of paths, not 'True'"),
        (
            [{"value": {"taxonomy": [["food"], "travel"]}}],
            "[0].value.taxonomy[1]: must be a list of texts, not 'travel'",
        ),
        (["food"], "[0]: must be a mapping of fields, not 'food'"),
        ({"value": {}}, ": must be a list of results, not \"{'value': {}}\""),
    ],
)
def test_a_field_that_label_studio_does_not_write_so_is_named_with_its_file_and_task(
    tmp_path: Path, result: object, cause: str
) -> None:
    tasks = [
        {"data": {"query": "rice"}, "annotations": [{"result": [GOOD], "completed_by": 1}]},
        {"data": {"query": "soup"}, "annotations": [{"result": result, "completed_by": 1}]},
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    found = read_expert_tags([path])
    assert found.rows.select("query", "tags").rows() == [("rice", ["food"])], "the good rows go on"
    assert found.quarantine.rows() == [("export.json", 2, f"annotations[0].result{cause}", "soup")]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'[\n {"text": "[[[[",\n  "deep": ' + b"[" * 100_000, r"a.json:3: nested deeper than 50 levels"),
        (b'[{"text":\n "caf\xe9"}]', r"a.json:2: not UTF-8 \(byte 15\)"),
    ],
)
def test_an_export_that_cannot_be_read_is_named_with_its_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        read_expert_tags([path])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [("a.json", "{", "not a JSON export"), ("a.json", "{}", "list of tasks"), ("a.xlsx", "", "allowed are .csv")],
)
def test_a_file_of_another_kind_is_refused_with_what_is_allowed(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ValueError, match=said):
        read_expert_tags([path])


def test_annotators_agree_where_they_share_a_tag(tmp_path: Path) -> None:
    path = tmp_path / "tags.jsonl"
    rows = [("q1", ["a"], "x"), ("q1", ["a", "b"], "y"), ("q2", ["b"], "x"), ("q2", ["b"], "y"), ("q3", ["a"], "x")]
    path.write_text("".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in rows))
    found = read_expert_tags([path]).rows
    assert agreement_of_annotators(found).rows() == [("x", "y", 2, 1.0)]
    assert tags_by_query(found).rows()[0] == ("q1", ["a", "b"], 2)


def test_two_files_of_one_name_stand_beside_each_other_and_one_that_is_read_again_takes_its_own_place(
    tmp_path: Path,
) -> None:
    lake = Lake(root=str(tmp_path / "lake"))
    for who, tag in (("ann", "weather"), ("bob", "traffic"), ("ann", "fares")):
        file = tmp_path / who / "tags.csv"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"query,tags,annotator\nhow is it,{tag},{who}\n")
        lake.write(EXPERT_TAGS, beside_earlier(lake, read_expert_tags([file]).rows))
    said = lake.read(EXPERT_TAGS).select("annotator", "tags").sort("annotator").rows()
    assert said == [("ann", ["fares"]), ("bob", ["traffic"])]
