"""A preview shows what a run at other thresholds keeps, by leaf, and says plainly what it cannot show."""

import json
import os
import random
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from assets.pool.layers import Layer, Policy, lexical_layer, semantic_layer
from assets.pool.pairs import Stored
from assets.pool.preview import BOUNDS, DROPPED, PAIRS, SURVIVORS, preview, store
from assets.pool.readings import Reader
from resources.embedder import Embedder
from resources.lake import Lake
from tests.pool.builders import queries

LEXICAL, SEMANTIC = 0.75, 0.93
OPENINGS = ["what is the weather in", "how will the weather be in", "find me a museum in", "is there a good museum in"]
PLACES = ["rome", "oslo", "lyon", "bern"]
EXTRAS = ["please", "thanks", "right now", "for my family", "!", "as soon as you can", "ok", "with a nice view"]


class Pool(NamedTuple):
    """A lake with the tables of a pool, and the rows they were made of."""

    lake: Lake
    rows: pl.DataFrame
    """query_id, normal, context, support, first_seen, primary, secondary."""

    def letters(self, threshold: float) -> Layer:
        """The lexical layer, run."""
        return lexical_layer(self.rows, threshold=threshold, policy=Policy(), floor=0.6)

    def meaning(self, kept: pl.DataFrame, threshold: float) -> Layer:
        """The semantic layer, run on `kept`."""
        return semantic_layer(kept, Reader(Embedder().embed), threshold=threshold, policy=Policy(), floor=0.85)


def made_of(root: Path, texts: list[str], leaves: list[str]) -> Pool:
    """Run both layers and leave what their assets leave; what is dropped in letters has no label."""
    rows = queries(texts).with_columns(
        context=pl.lit(None, dtype=pl.String), secondary=pl.lit(None, dtype=pl.String), primary=pl.Series(leaves)
    )
    pool = Pool(Lake(root=str(root)), rows)
    letters = pool.letters(LEXICAL)
    meaning = pool.meaning(letters.kept, SEMANTIC)
    for layer, made in (("lexical", letters), ("semantic", meaning)):
        store(pool.lake, layer, made.stored)
        pool.lake.write(DROPPED, made.dropped, layer)
        pool.lake.write(SURVIVORS[layer], made.kept.select("query_id", "support"))
    pool.lake.write("labels/query_labels", letters.kept.select("query_id", "primary"))
    return pool


def said(count: int) -> list[str]:
    rng = random.Random(0)
    texts = []
    for _ in range(count):
        extras = rng.sample(EXTRAS, rng.randint(0, 3))
        texts.append(" ".join([rng.choice(OPENINGS), rng.choice(PLACES), *extras]))
    return list(dict.fromkeys(texts))


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    texts = said(600)
    return made_of(
        tmp_path_factory.mktemp("lake"), texts, ["weather" if "weather" in text else "museum" for text in texts]
    )


def counts(rows: pl.DataFrame, column: str) -> dict[str, int]:
    return {leaf: n for leaf, n in rows.select("leaf", column).iter_rows() if n}


def leaves_of(kept: pl.DataFrame) -> dict[str, int]:
    return dict(kept["primary"].value_counts().iter_rows())


@pytest.mark.parametrize("threshold", [0.6, 0.66, 0.75, 0.85, 0.9173, 1.0])
def test_letters_at_another_threshold_are_those_of_a_run_there(pool: Pool, threshold: float) -> None:
    [shown, _] = preview(pool.lake, lexical=threshold, semantic=None)
    now, then = pool.letters(LEXICAL), pool.letters(threshold)
    assert (shown.now, shown.asked, shown.bounded) == (LEXICAL, threshold, 0)
    assert counts(shown.leaves, "now") == leaves_of(now.kept)
    assert counts(shown.leaves, "then") == leaves_of(then.kept)
    new = then.kept.join(now.kept, on="query_id", how="anti")
    assert shown.leaves["unlabelled"].sum() == len(new)
    assert (len(new) > 20) == (threshold > 0.8)


@pytest.mark.parametrize("threshold", [0.85, 0.9, 0.93, 0.9611, 1.0])
def test_meanings_at_another_threshold_are_those_of_a_run_there(pool: Pool, threshold: float) -> None:
    [shown] = preview(pool.lake, lexical=None, semantic=threshold)
    letters = pool.letters(LEXICAL).kept
    assert counts(shown.leaves, "now") == leaves_of(pool.meaning(letters, SEMANTIC).kept)
    assert counts(shown.leaves, "then") == leaves_of(pool.meaning(letters, threshold).kept)
    assert shown.leaves["unlabelled"].sum() == 0


@pytest.mark.parametrize(("lexical", "semantic"), [(0.62, 0.93), (0.62, 0.88), (0.85, 0.9)])
def test_meanings_follow_the_letters_and_what_has_no_label_stays_out(
    pool: Pool, lexical: float, semantic: float
) -> None:
    shown = preview(pool.lake, lexical=lexical, semantic=None if semantic == SEMANTIC else semantic)
    assert [found.layer for found in shown] == ["lexical", "semantic"]
    labelled = pool.letters(LEXICAL).kept.select("query_id")
    expected = pool.meaning(pool.letters(lexical).kept.join(labelled, on="query_id"), semantic)
    assert counts(shown[1].leaves, "then") == leaves_of(expected.kept)
    assert shown[1].asked == semantic


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ((None, None), "give --lexical, --semantic or both"),
        ((1.5, None), r"--lexical must be in \(0, 1\], got 1.5"),
        ((None, 0.0), r"--semantic must be in \(0, 1\], got 0"),
        ((0.5, None), "--lexical 0.5 lies below 0.6, .* lower the setting `floor` of pool/lexical_survivors"),
        ((None, 0.8), "--semantic 0.8 lies below 0.85, .* lower the setting `floor` of pool/semantic_survivors"),
    ],
)
def test_what_cannot_be_shown_is_one_clear_line(
    pool: Pool, asked: tuple[float | None, float | None], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        preview(pool.lake, lexical=asked[0], semantic=asked[1])


def test_a_pool_that_is_not_there_or_stored_nothing_says_so(pool: Pool, tmp_path: Path) -> None:
    lake = Lake(root=str(tmp_path))
    with pytest.raises(FileNotFoundError, match="there is no pool yet"):
        preview(lake, lexical=0.9, semantic=None)
    for table in (*SURVIVORS.values(), "labels/query_labels"):
        lake.write(table, pool.lake.read(table))
    for layer in SURVIVORS:
        lake.write(DROPPED, pool.lake.read(DROPPED, layer), layer)
    with pytest.raises(ValueError, match="made before similarities were stored: materialize pool/lexical_survivors"):
        preview(lake, lexical=0.9, semantic=None)
    for layer in SURVIVORS:
        off = pool.lake.read(BOUNDS, layer).with_columns(floor=0.0)
        store(lake, layer, Stored(pool.lake.read(PAIRS[layer]).clear(), off))
    with pytest.raises(ValueError, match="the semantic layer stores no similarities: give the setting `floor`"):
        preview(lake, lexical=None, semantic=0.9)
    store(lake, "lexical", pool.letters(LEXICAL).stored)
    assert [found.layer for found in preview(lake, lexical=0.9, semantic=None)] == ["lexical"]


def test_pairs_of_another_run_than_the_survivors_are_not_believed(pool: Pool, tmp_path: Path) -> None:
    lake = Lake(root=str(tmp_path))
    for folder in ("labels/query_labels", *SURVIVORS.values()):
        lake.write(folder, pool.lake.read(folder))
    for layer, threshold in (("lexical", 0.9), ("semantic", SEMANTIC)):
        lake.write(DROPPED, pool.lake.read(DROPPED, layer), layer)
        made = pool.letters(threshold) if layer == "lexical" else pool.meaning(pool.letters(LEXICAL).kept, threshold)
        store(lake, layer, made.stored)
    with pytest.raises(ValueError, match="lexical_pairs and pool/lexical_survivors are not of one run"):
        preview(lake, lexical=0.8, semantic=None)
    store(lake, "lexical", pool.letters(LEXICAL).stored)
    lake.write(PAIRS["semantic"], lake.read(PAIRS["semantic"]).with_columns(earlier=pl.lit("a stranger")))
    with pytest.raises(ValueError, match="semantic_pairs and pool/semantic_survivors are not of one run"):
        preview(lake, lexical=None, semantic=0.9)


@pytest.mark.corpora
@pytest.mark.slow
def test_on_real_labelled_queries_the_preview_is_what_runs_keep(tmp_path: Path) -> None:
    corpora = os.environ.get("LOOPWRIGHT_CORPORA")
    if not corpora:
        pytest.skip("LOOPWRIGHT_CORPORA names no folder of public corpora")
    parts = json.loads(Path(corpora, "queries/clinc150/data_full.json").read_text(encoding="utf-8"))
    labelled = {text: leaf for part in ("val", "test", "oos_test") for text, leaf in parts[part]}
    pool = made_of(tmp_path, list(labelled), list(labelled.values()))
    same = preview(pool.lake, lexical=LEXICAL, semantic=SEMANTIC)
    for shown, table in zip(same, SURVIVORS.values(), strict=True):
        assert shown.leaves["then"].sum() == len(pool.lake.read(table))
        assert shown.leaves["then"].to_list() == shown.leaves["now"].to_list()
    for lexical, semantic in ((0.65, 0.88), (0.85, 0.96)):
        letters, meaning = preview(pool.lake, lexical=lexical, semantic=semantic)
        assert letters.leaves["then"].sum() == len(pool.letters(lexical).kept)
        now = pool.lake.read(SURVIVORS["lexical"]).select("query_id")
        expected = pool.meaning(pool.letters(lexical).kept.join(now, on="query_id"), semantic)
        assert meaning.leaves["then"].sum() == len(expected.kept)
