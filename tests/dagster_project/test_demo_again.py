"""A demo asked to make everything anew labels anew too: the book of labels would give back what was there before."""

import io
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from assets import keys
from assets.labels.assets import QueryLabelsConfig
from assets.labels.book import LabelBook, kinds
from assets.labels.cache import LabelCache
from assets.labels.relabel import labels_under
from dagster_project import profiles
from dagster_project.commands.current import stages_of
from dagster_project.commands.line import Line, Wish
from dagster_project.commands.progress import Lines
from resources.lake import Lake
from tests.labels.test_book import asked
from tests.taxonomy.builders import Counting, taxonomy

TREE = taxonomy({"a.x": ("1", "2"), "a.y": ("3", "4")})


def toy() -> dg.Definitions:
    """A line of one stage, which labels five queries by the book."""

    @dg.asset(key=keys.QUERY_LABELS, code_version="1")
    def labels(config: QueryLabelsConfig, lake: Lake) -> dg.MaterializeResult:
        annotator, book = Counting(tree=TREE), LabelBook(lake, "counting")
        done = labels_under(TREE.table(), asked(5), book, annotator.rows, near_below=config.near_below)
        lake.write("labels/query_labels", done.labels)
        lake.write("labels/asked", pl.DataFrame({"query_id": annotator.asked}))
        return dg.MaterializeResult(data_version=dg.DataVersion(lake.version("labels/query_labels")))

    job = dg.define_asset_job("factory", selection=dg.AssetSelection.all())
    return dg.Definitions(assets=[labels], jobs=[job], resources={"lake": Lake(root=str(profiles.home() / "lake"))})


def test_asked_to_it_labels_anew_and_nothing_of_an_earlier_annotator_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPWRIGHT_HOME", str(tmp_path))
    lake = Lake(root=str(tmp_path / "lake"))
    LabelCache(lake, "counting").add(pl.DataFrame({"key": ["left by a killed run"]}))
    answers = lake.folder("labels/teacher_answers") / "answers.db"
    answers.write_text("paid for")
    with dg.DagsterInstance.ephemeral() as instance:

        def made(*, again: bool) -> int:
            """Queries that the annotator was asked about."""
            defs = toy()
            stages = stages_of(defs)
            Line(defs, stages, Wish({}, again), instance, Lines(io.StringIO())).make(stages)
            return len(lake.read("labels/asked"))

        assert made(again=False) == 5
        other = LabelBook(lake, "other")
        labels_under(TREE.table(), asked(2), other, Counting(tree=TREE).rows, near_below=0.5)
        assert made(again=True) == 5
    assert kinds(lake) == ["counting"]
    assert not list(lake.folder("labels/annotated").iterdir())
    assert answers.read_text() == "paid for"
