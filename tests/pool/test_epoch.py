"""Within a pool epoch a change in one leaf leaves the picks of the others alone, and the layer says when to end it."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.pool import store
from assets.pool.epoch import Drift, Wanted, begin, drift_of, open_epoch, pick, why_end
from assets.pool.geometric import core_set
from assets.pool.layers import Selected, geometric_layer
from assets.pool.readings import Reader
from resources.embedder import Embedder
from resources.lake import Lake, LakeError
from tests.pool.builders import queries, unit_vectors

WHERE = ("rome", "oslo", "lyon", "bergen", "naples", "the old town", "the harbour", "the mountains")
WEATHER = [f"{what} in {where}" for what in ("weather", "snow", "rain tomorrow", "wind", "forecast") for where in WHERE]
HOTELS = [f"{what} in {where}" for what in ("hotel", "cheap room", "quiet place to stay", "hostel") for where in WHERE]
ROADS = [f"{what} {where}" for what in ("drive to", "how far is", "train to", "fastest way to") for where in WHERE]
CHINESE = ["北京天气怎么样", "明天会下雨吗", "上海今天多少度", "周末有雪吗", "杭州的酒店", "便宜的旅馆", "去广州的火车"]


def table(*, weather: int = 20, hotels: int = 20, roads: int = 20, chinese: int = 5) -> pl.DataFrame:
    """The first queries of three leaves and of another language in each."""
    leaves = (("weather", WEATHER[:weather]), ("hotels", HOTELS[:hotels]), ("roads", ROADS[:roads]))
    texts = [(leaf, text) for leaf, own in leaves for text in own] + [("weather", text) for text in CHINESE[:chinese]]
    frame = queries([text for _, text in texts]).drop("first_seen")
    nothing = pl.lit(None, dtype=pl.String)
    return frame.with_columns(
        query_id=pl.Series([f"{leaf}-{text}" for leaf, text in texts]), support=pl.lit(1, dtype=pl.Int64),
        primary=pl.Series([leaf for leaf, _ in texts]), secondary=nothing, context=nothing,
    )  # fmt: skip


def selected(
    rows: pl.DataFrame, folder: Path | None = None, size: int = 12, *, keep: bool = True, tree: str = "one"
) -> Selected:
    return geometric_layer(rows, Reader(Embedder().embed), folder, wanted=Wanted(size, None, "e", tree), keep=keep)


def of_others(found: Selected, leaf: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What was kept and dropped in every leaf but one."""
    kept, dropped = found.layer.kept, found.layer.dropped
    return kept.filter(pl.col("primary") != leaf), dropped.filter(~pl.col("query_id").str.starts_with(leaf))


@settings(deadline=None, max_examples=80)
@given(st.integers(1, 60), st.integers(1, 70), st.integers(1, 4), st.integers(0, 50), st.booleans())
def test_an_epoch_goes_on_as_its_size_began_ties_and_copies_included(
    count: int, size: int, buckets: int, seed: int, ties: bool
) -> None:
    rng = np.random.default_rng(seed)
    points = unit_vectors(count, dimensions=3, seed=seed)
    if ties:  # corners of a cube: most distances are equal, and many rows are copies
        points = rng.choice(np.float32([-1, 1]), (count, 3)) / np.float32(3**0.5)
    names = [f"b{i}" for i in rng.integers(0, buckets, count)]
    ids = pl.Series([f"q{i:03}" for i in range(count)])
    greedy = core_set(points, names, size=max(size, len(set(names))))
    found = pick(begin(1, Wanted(size, None), ids, names, greedy, {}), points, names)
    np.testing.assert_array_equal(found.picks_K, greedy.picks_K)
    np.testing.assert_array_equal(found.cover_N, greedy.cover_N)


def test_the_first_run_begins_an_epoch_and_an_unchanged_second_one_keeps_every_pick(tmp_path: Path) -> None:
    first, again = selected(table(), tmp_path), selected(table().reverse(), tmp_path)
    assert (first.began, again.began) == ("there was none", None)
    assert first.layer.kept.equals(selected(table()).layer.kept), "with a folder or without"
    assert len(first.layer.kept) == 12
    assert again.layer.kept.equals(first.layer.kept)
    assert again.layer.dropped.equals(first.layer.dropped)
    assert again.layer.numbers["epoch"] == first.layer.numbers["epoch"] == 1
    assert again.should_end == first.should_end == "no"


@pytest.mark.parametrize(
    "changed", [table(weather=40), table(weather=6), table(weather=0), table(weather=40, chinese=0), table(chinese=7)]
)
def test_a_change_in_one_leaf_leaves_the_picks_of_the_others_byte_for_byte(
    tmp_path: Path, changed: pl.DataFrame
) -> None:
    before = selected(table(), tmp_path)
    after = selected(changed, tmp_path)
    for was, now in zip(of_others(before, "weather"), of_others(after, "weather"), strict=True):
        assert now.equals(was)
        assert len(was) > 3


def test_a_size_alone_would_move_the_others() -> None:
    before, after = selected(table()), selected(table(weather=40), keep=False)
    assert not of_others(after, "weather")[0].equals(of_others(before, "weather")[0])


def test_another_size_radius_embedder_or_log_begins_a_new_epoch_and_says_why(tmp_path: Path) -> None:
    assert selected(table(), tmp_path).epoch.number == 1
    assert selected(table(), tmp_path, keep=False).began == "it was asked for"
    assert selected(table(), tmp_path).epoch.number == 2
    larger = selected(table(), tmp_path, size=20)
    assert (larger.epoch.number, larger.began) == (3, "a size of 20 is wanted, it was a size of 12")
    reader = Reader(Embedder().embed)
    given = geometric_layer(table(), reader, tmp_path, wanted=Wanted(None, 0.5, "e"))
    assert given.began == "a radius of 0.5 is wanted, it was a size of 20"
    assert given.epoch.radius == 0.5
    other = geometric_layer(table(), reader, tmp_path, wanted=Wanted(None, 0.5, "f"))
    assert other.began == "distances are measured with f, it was e"
    assert (other.epoch.number, other.should_end) == (5, "no")
    log = table(weather=2, hotels=2, roads=2)
    assert geometric_layer(log, reader, tmp_path, wanted=Wanted(None, 0.5, "f")).began == (
        "of the 65 queries that it was measured on 11 are left"
    )


def test_a_damaged_epoch_is_an_error_and_only_begun_anew_when_asked(tmp_path: Path) -> None:
    selected(table(), tmp_path)
    [file] = tmp_path.rglob("members.arrow")
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    with pytest.raises(LakeError, match=r"is damaged, or of another version: .* epoch: new"):
        selected(table(), tmp_path)
    assert selected(table(), tmp_path, keep=False).began == "it was asked for"
    assert selected(table(), tmp_path).began is None


@pytest.mark.parametrize("when", ["sync_tree", "_hash_of", "replace_durably"])
def test_a_first_epoch_that_was_cut_off_while_it_was_written_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    folder = Lake(root=str(tmp_path)).folder("pool/epoch")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(store, when, cut_off)
        selected(table(), folder)
    again, whole = selected(table(), folder), selected(table(), tmp_path / "whole")
    assert (again.began, again.epoch.number) == ("there was none", 1)
    assert again.layer.kept.equals(whole.layer.kept)
    assert selected(table(), folder).began is None


def test_an_epoch_that_began_with_fewer_queries_than_wanted_ends_when_there_are_enough(tmp_path: Path) -> None:
    few, size = table(weather=4, hotels=4, roads=4), 30
    assert len(selected(few, tmp_path, size).layer.kept) == len(few) < size
    grown = selected(table(weather=30, hotels=10, roads=10), tmp_path, size)
    assert grown.began == f"it began with {len(few)} queries, fewer than are wanted"
    assert len(grown.layer.kept) == size


def test_what_is_fixed_comes_back_from_disk_as_it_was(tmp_path: Path) -> None:
    epoch, read = selected(table(), tmp_path).epoch, open_epoch(tmp_path)
    assert read is not None
    assert (read[:5]) == epoch[:5], "number, time, what was wanted, radius, last pick"
    assert read.members.equals(epoch.members)
    assert read.centres.keys() == epoch.centres.keys() == {"en", "zh"}
    for language, centre in epoch.centres.items():
        np.testing.assert_array_equal(read.centres[language], centre)


def test_the_layer_says_when_the_epoch_should_end(tmp_path: Path) -> None:
    few, size = table(weather=4, hotels=10, roads=10), 16
    selected(few, tmp_path, size)
    grown = selected(table(weather=40, hotels=10, roads=10), tmp_path, size)
    assert len(grown.layer.kept) > 1.1 * size
    assert f"the pool has {len(grown.layer.kept)} queries at this radius, 16 are wanted" in grown.should_end
    assert "of 36 new queries lie beyond the radius" in grown.should_end
    assert selected(few, tmp_path, size, tree="two").should_end == "the taxonomy is another one"
    assert selected(few, tmp_path, size).should_end == "no"
    fewer = selected(table(weather=4, hotels=7, roads=7), tmp_path, size)
    assert fewer.began is None
    assert "16 are wanted" in fewer.should_end
    renewed = selected(table(weather=40, hotels=10, roads=10), tmp_path, size, keep=False)
    assert (renewed.began, renewed.should_end, len(renewed.layer.kept)) == ("it was asked for", "no", size)


def test_only_what_cannot_be_chance_ends_an_epoch(tmp_path: Path) -> None:
    epoch = selected(table(), tmp_path).epoch

    def said(kept: int, rows: int = 65, drift: Drift | None = None) -> str:
        return why_end(epoch, kept, rows, drift or Drift(0, 0.0, 0.2), "one", most=0.1)

    assert [said(kept) == "no" for kept in (10, 11, 12, 13, 14)] == [False, True, True, True, False]
    assert said(5, rows=5) == "no", "all that there is"
    assert said(12, drift=Drift(29, 1.0, 0.2)) == "no", "too few to tell"
    assert said(12, drift=Drift(100, 0.3, 0.2)) == "no", "as far as was expected"
    assert said(12, drift=Drift(100, 0.31, 0.2)).startswith("31% of 100 new queries lie beyond the radius")


def test_new_rows_are_measured_from_the_picks_that_the_epoch_began_with() -> None:
    points = unit_vectors(40, dimensions=2)
    ids = pl.Series([f"q{i:02}" for i in range(40)])
    epoch = begin(1, Wanted(3, None), ids[:20], ["x"] * 20, core_set(points[:20], ["x"] * 20, size=3), {})
    assert drift_of(epoch, points[:20], ["x"] * 20, ids[:20]) == Drift(0, 0.0, 3 / 20)
    far = np.concatenate([points[:20], points[:20]])
    assert drift_of(epoch, far, ["x"] * 40, ids) == Drift(20, 0.0, 3 / 20)
    assert drift_of(epoch, far, ["x"] * 20 + ["y"] * 20, ids).beyond == 1.0, "no pick in their bucket"
