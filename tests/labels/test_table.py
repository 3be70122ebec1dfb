"""Labels as a table: the same for any number of processes, and no text is labelled twice by one annotator."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assets.labels.annotator import Annotator, Label
from assets.labels.cache import LabelCache
from assets.labels.table import intents_of, keyed, label_table
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


def labels_of(queries: pl.DataFrame, **more: Any) -> tuple[pl.DataFrame, int]:
    """The labels, and how many were made now."""
    made = label_table(annotator(), queries, silent, **more)
    return made.of(keyed(queries)), made.labelled_now


def silent(line: str) -> None:
    """Nobody listens."""


def test_labels_are_the_same_in_one_process_and_in_two() -> None:
    one, _ = labels_of(queries(), rows_at_a_time=7)
    two, _ = labels_of(queries(), rows_at_a_time=7, workers=2)
    assert two.equals(one)
    assert one["query_id"].to_list() == queries()["query_id"].to_list()
    assert one["primary"].n_unique() > 3


def test_only_texts_that_were_never_labelled_are_labelled(tmp_path: Path) -> None:
    cache = LabelCache(Lake(root=str(tmp_path)), annotator().version)
    assert labels_of(queries(30), cache=cache)[1] == 30
    all_of_them, new = labels_of(queries(), cache=cache)
    assert new == 20
    assert all_of_them.equals(labels_of(queries())[0])
    assert labels_of(queries(), cache=cache)[1] == 0


def test_the_same_text_after_another_turn_is_another_request(tmp_path: Path) -> None:
    cache = LabelCache(Lake(root=str(tmp_path)), annotator().version)
    alone = pl.DataFrame(
        {"query_id": ["a"], "text": ["and in Rome?"], "context": [None]}, schema_overrides={"context": pl.String}
    )
    labels_of(alone, cache=cache)
    after = alone.with_columns(context=pl.lit("cheapest flight from Oslo to Lima"))
    assert labels_of(after, cache=cache)[1] == 1


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
    went_on, new = labels_of(queries(), cache=cache, rows_at_a_time=10)
    assert new == 20
    assert went_on.equals(labels_of(queries())[0])


def test_a_torn_part_is_labelled_again(tmp_path: Path) -> None:
    cache = LabelCache(Lake(root=str(tmp_path)), annotator().version)
    labels_of(queries(), cache=cache, rows_at_a_time=25)
    part = min(tmp_path.glob("labels/annotated/*.parquet"))
    part.write_bytes(part.read_bytes()[:200])
    again, new = labels_of(queries(), cache=cache)
    assert new == 25
    assert again.equals(labels_of(queries())[0])


def test_a_part_with_other_columns_is_set_aside_and_labelled_again(tmp_path: Path) -> None:
    cache = LabelCache(Lake(root=str(tmp_path)), annotator().version)
    cache.add(pl.DataFrame({"key": ["of an earlier release"], "primary": ["routes.walking"]}))
    assert labels_of(queries(5), cache=cache)[1] == 5
    assert len([*tmp_path.glob("labels/annotated/*.torn")]) == 1


def test_another_annotator_does_not_read_these_labels(tmp_path: Path) -> None:
    labels_of(queries(5), cache=LabelCache(Lake(root=str(tmp_path)), annotator().version))
    other = LabelCache(Lake(root=str(tmp_path)), "embedded-of-another-tree")
    assert labels_of(queries(5), cache=other)[1] == 5


def test_a_request_with_other_leaves_allowed_is_another_request_and_is_kept_too(tmp_path: Path) -> None:
    cache = LabelCache(Lake(root=str(tmp_path)), annotator().version)
    labels_of(queries(5), cache=cache)
    allowed = ["discovery.area_summaries", "discovery.other"]
    few = queries(5).with_columns(among=pl.Series([allowed] * 5))
    first, new = labels_of(few, cache=cache)
    assert new == 5
    assert set(first["primary"]) <= set(allowed)
    assert labels_of(few, cache=cache)[1] == 0
    assert len(labels_of(queries(5), cache=cache)[0]) == 5, "of two labels of a query, the one that was asked for"
    cache.clear()
    assert labels_of(few)[0].equals(first)
