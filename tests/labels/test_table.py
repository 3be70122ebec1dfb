"""Labels as a table: the same for any number of processes, and no text is labelled twice by one annotator."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from assets.labels.annotator import Annotator, Label
from assets.labels.cache import LabelCache
from assets.labels.table import intents_of, label_table
from assets.taxonomy.tree import load_taxonomy
from resources.embedder import Embedder
from resources.lake import Lake

CITIES = ("Lagos", "Oslo", "Quito", "Lima", "Bern", "Basel", "Paris", "Rome", "Cairo", "Dakar")
ASKED = (
    "weather in {} tomorrow",
    "cheapest flight from {} to Vienna",
    "best museum of {}",
    "{} 明天会下雨吗",
    "sing about {}",
)


@cache
def annotator() -> Annotator:
    return Annotator(intents_of(load_taxonomy().table()), Embedder().embed, embedder=Embedder().version)


def queries(count: int = 50) -> pl.DataFrame:
    texts = [form.format(city) for form in ASKED for city in CITIES][:count]
    contexts = [None if i % 7 else "weather in Tunis on Friday" for i in range(len(texts))]
    return pl.DataFrame(
        {"query_id": [f"q{i:03}" for i in range(len(texts))], "text": texts, "context": contexts},
        schema_overrides={"context": pl.String},
    )


def silent(line: str) -> None:
    """Nobody listens."""


def test_labels_are_the_same_in_one_process_and_in_two() -> None:
    one = label_table(annotator(), queries(), silent, rows_at_a_time=7)
    two = label_table(annotator(), queries(), silent, rows_at_a_time=7, workers=2)
    assert two.labels.equals(one.labels)
    assert one.labels["query_id"].to_list() == queries()["query_id"].to_list()
    assert one.labels["primary"].n_unique() > 3


def test_only_texts_that_were_never_labelled_are_labelled(tmp_path: Path) -> None:
    cache = LabelCache(Lake(root=str(tmp_path)), annotator().version)
    assert label_table(annotator(), queries(30), silent, cache=cache).labelled_now == 30
    all_of_them = label_table(annotator(), queries(), silent, cache=cache)
    assert all_of_them.labelled_now == 20
    assert all_of_them.labels.equals(label_table(annotator(), queries(), silent).labels)
    assert label_table(annotator(), queries(), silent, cache=cache).labelled_now == 0


def test_the_same_text_after_another_turn_is_another_request(tmp_path: Path) -> None:
    cache = LabelCache(Lake(root=str(tmp_path)), annotator().version)
    alone = pl.DataFrame(
        {"query_id": ["a"], "text": ["and in Rome?"], "context": [None]}, schema_overrides={"context": pl.String}
    )
    label_table(annotator(), alone, silent, cache=cache)
    after = alone.with_columns(context=pl.lit("cheapest flight from Oslo to Lima"))
    assert label_table(annotator(), after, silent, cache=cache).labelled_now == 1


class Killed(Annotator):
    """Ends in the middle, as a process that is killed does."""

    def __init__(self, whole: Annotator, parts: int) -> None:
        self.__dict__ |= whole.__dict__
        self.left = parts

    def annotate(
        self,
        texts: Sequence[str],
        contexts: Sequence[str | None] | None = None,
        among: Sequence[Sequence[str]] | None = None,
    ) -> list[Label]:
        """Labels, until the parts are used up."""
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().annotate(texts, contexts, among)


def test_a_run_that_was_stopped_goes_on_with_the_next_part(tmp_path: Path) -> None:
    cache = LabelCache(Lake(root=str(tmp_path)), annotator().version)
    with pytest.raises(KeyboardInterrupt):
        label_table(Killed(annotator(), 3), queries(), silent, cache=cache, rows_at_a_time=10)
    went_on = label_table(annotator(), queries(), silent, cache=cache, rows_at_a_time=10)
    assert went_on.labelled_now == 20
    assert went_on.labels.equals(label_table(annotator(), queries(), silent).labels)


def test_a_torn_part_is_labelled_again(tmp_path: Path) -> None:
    cache = LabelCache(Lake(root=str(tmp_path)), annotator().version)
    label_table(annotator(), queries(), silent, cache=cache, rows_at_a_time=25)
    part = min(tmp_path.glob("labels/annotated/*.parquet"))
    part.write_bytes(part.read_bytes()[:200])
    again = label_table(annotator(), queries(), silent, cache=cache)
    assert again.labelled_now == 25
    assert again.labels.equals(label_table(annotator(), queries(), silent).labels)


def test_another_annotator_does_not_read_these_labels(tmp_path: Path) -> None:
    label_table(annotator(), queries(5), silent, cache=LabelCache(Lake(root=str(tmp_path)), annotator().version))
    other = LabelCache(Lake(root=str(tmp_path)), "embedded-of-another-tree")
    assert label_table(annotator(), queries(5), silent, cache=other).labelled_now == 5


def test_a_request_with_other_leaves_allowed_is_another_request_and_is_kept_too(tmp_path: Path) -> None:
    cache = LabelCache(Lake(root=str(tmp_path)), annotator().version)
    label_table(annotator(), queries(5), silent, cache=cache)
    allowed = ["discovery.area_summaries", "discovery.other"]
    few = queries(5).with_columns(among=pl.Series([allowed] * 5))
    first = label_table(annotator(), few, silent, cache=cache)
    assert first.labelled_now == 5
    assert set(first.labels["primary"]) <= set(allowed)
    assert label_table(annotator(), few, silent, cache=cache).labelled_now == 0
    cache.clear()
    assert label_table(annotator(), few, silent).labels.equals(first.labels)
