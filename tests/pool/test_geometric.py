"""k-center-greedy on sets whose best cover is known, against the textbook version, under one radius."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from assets.pool import geometric, nearest
from assets.pool.coverage import certify, radius_curve, random_radius, rarest_leaves
from assets.pool.geometric import CoreSet, central_picks, centred, centres_of, core_set
from assets.pool.nearest import largest_gap, nearest_pick
from tests.pool.builders import unit_vectors

ROOT = Path(__file__).parents[2]


def textbook(points_ND: NDArray[np.float32], buckets: Sequence[str], size: int) -> tuple[list[int], list[float]]:
    """Greedy by the book, one pick and one pass at a time; the picks of all buckets and their squared distances."""
    made = []
    for name in set(buckets):
        rows = np.flatnonzero(np.array(buckets) == name)
        points = points_ND[rows]
        pick, near = int((points @ points.sum(axis=0, dtype=np.float64)).argmax()), np.full(len(rows), np.inf)
        made.append((-np.inf, rows[pick]))
        for _ in range(min(size, len(rows)) - 1):
            near = np.minimum(near, 2 - 2 * (points @ points[pick]))
            near[pick] = -1.0
            pick = int(near.argmax())
            made.append((-near[pick], rows[pick]))
    first = sorted(made)[:size]
    return [int(row) for _, row in first], [-square for square, _ in first]


def sign_vectors(count: int, seed: int) -> NDArray[np.float32]:
    """Unit vectors whose products are exact in float32, so that ties are real ties."""
    return np.random.default_rng(seed).choice([-0.25, 0.25], size=(count, 16)).astype(np.float32)


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 300), st.integers(1, 4), st.integers(0, 50), st.sampled_from([1, 2, 8, 512]))
def test_batches_are_exact_with_ties_and_copies_in_any_number_of_buckets(
    count: int, buckets: int, seed: int, batch: int
) -> None:
    points = sign_vectors(count, seed)
    points[count // 2 :: 3] = points[: len(points[count // 2 :: 3])]  # copies
    names = [f"b{min(i % 7, buckets - 1)}" for i in range(count)]
    size = max(buckets, count // 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(geometric, "_BATCH", batch)
        patch.setattr(geometric, "_FIRST_BATCH", batch)
        found = core_set(points, names, size=size)
    picks, squares = textbook(points, names, size)
    apart = sum(square > 0 for square in squares)  # of copies of picks, the first rows of all buckets fill up
    assert found.picks_K[:apart].tolist() == picks[:apart]
    assert sorted(set(found.picks_K)) == sorted(found.picks_K.tolist())
    assert len(found.picks_K) == min(size, count)
    assert (np.diff(found.distance_K[np.isfinite(found.distance_K)]) <= 0).all()
    assert_nearest(points, names, found)


def assert_nearest(points_ND: NDArray[np.float32], buckets: Sequence[str], core: CoreSet) -> None:
    """Every row is covered by the nearest pick of its bucket, a pick by itself."""
    same = np.array(buckets)[:, None] == np.array(buckets)[core.picks_K]
    square_NK = np.where(same, 2 - 2 * (points_ND @ points_ND[core.picks_K].T), np.inf)
    np.testing.assert_allclose(core.cover_N, np.sqrt(square_NK.min(axis=1).clip(0)), atol=2e-3)
    own = np.sqrt((2 - 2 * (points_ND * points_ND[core.nearest_N]).sum(axis=1)).clip(0))
    np.testing.assert_allclose(core.cover_N, own, atol=2e-3)
    assert core.nearest_N[core.picks_K].tolist() == core.picks_K.tolist()
    assert set(core.nearest_N.tolist()) == set(core.picks_K.tolist())


@pytest.mark.parametrize("buckets", [1, 5])
def test_random_points_give_the_textbook_radius_and_nearest_picks_before_and_after_the_move(buckets: int) -> None:
    points = unit_vectors(5000, dimensions=24, seed=9)
    names = [f"b{i % buckets}" for i in range(5000)]
    found = core_set(points, names, size=600)
    picks, squares = textbook(points, names, 600)
    assert found.picks_K.tolist() == picks
    np.testing.assert_allclose(found.distance_K[buckets:] ** 2, squares[buckets:], atol=1e-5)
    assert_nearest(points, names, found)
    assert_nearest(points, names, central_picks(points, found, names))


def test_equally_far_rows_of_several_buckets_come_in_the_order_of_rows() -> None:
    axes = np.eye(16, dtype=np.float32)
    found = core_set(axes, [f"b{i % 2}" for i in range(16)], size=9)
    assert found.picks_K.tolist() == list(range(9))


STATE = "from tests.pool.test_geometric import state; print(state())"


def state() -> str:
    """What is picked of some rows, as one hash."""
    points, names = unit_vectors(20_000, dimensions=64, seed=4), [f"b{max(0, i % 10 - 6)}" for i in range(20_000)]
    found = core_set(points, names, size=2500)
    moved = central_picks(points, found, names)
    gap = random_radius(points, names, 2500, seed=0)
    parts = [*found, *moved, np.array([gap])]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


@pytest.mark.slow
def test_the_number_of_threads_changes_nothing() -> None:
    found = set()
    for threads in ("1", "2"):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        command = [sys.executable, "-c", STATE]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout.strip())
    assert len(found) == 1


def test_the_size_of_a_product_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    points, names = unit_vectors(3000, dimensions=40, seed=2), [f"b{i % 3}" for i in range(3000)]
    whole = [*core_set(points, names, size=400), *nearest_pick(points, np.arange(3000), np.arange(0, 3000, 7))]
    monkeypatch.setattr(nearest, "_ROWS", 97)
    monkeypatch.setattr(nearest, "_PICKS", 5)
    monkeypatch.setattr(geometric, "_BATCH", 33)
    parts = [*core_set(points, names, size=400), *nearest_pick(points, np.arange(3000), np.arange(0, 3000, 7))]
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_largest_gap_is_that_of_all_rows_and_all_picks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "_PICKS", 8)
    monkeypatch.setattr(nearest, "_PROBED", 3)
    points, rows = unit_vectors(900, dimensions=12, seed=5), np.arange(100, 900)
    picks = np.random.default_rng(0).choice(rows, 120, replace=False)
    expected = float(nearest_pick(points, rows, picks)[1].max())
    assert largest_gap(points, rows, picks) == expected
    assert largest_gap(points, rows, picks, at_least=1.9) == 1.9
    assert largest_gap(points, picks, picks) == 0.0


def test_every_cluster_is_visited_before_any_twice() -> None:
    axes = np.eye(8, dtype=np.float32)
    points = np.repeat(axes, 5, axis=0)
    found = core_set(points, ["x"] * 40, size=8)
    assert sorted(found.picks_K // 5) == list(range(8))
    assert found.radius == 0.0


def test_copies_are_never_picked_twice_and_fill_up_in_order() -> None:
    found = core_set(np.repeat(unit_vectors(1), 1000, axis=0), ["x"] * 1000, size=600)
    assert found.picks_K.tolist() == list(range(600))
    assert found.radius == 0.0


def test_one_radius_serves_all_buckets() -> None:
    wide, narrow = unit_vectors(300, seed=1), unit_vectors(1) + 0.01 * unit_vectors(300, seed=2)
    narrow /= np.linalg.norm(narrow, axis=1, keepdims=True)
    points = np.concatenate([wide, narrow]).astype(np.float32)
    found = core_set(points, ["wide"] * 300 + ["narrow"] * 300, size=100)
    assert (found.picks_K >= 300).sum() == 1
    assert len(found.picks_K) == 100
    assert found.cover_N.max() == pytest.approx(found.radius)


def test_a_size_and_the_radius_it_reaches_pick_the_same_rows() -> None:
    points = unit_vectors(500, seed=3)
    buckets = [f"b{i % 4}" for i in range(500)]
    by_size = core_set(points, buckets, size=80)
    by_radius = core_set(points, buckets, radius=by_size.radius)
    assert by_radius.picks_K.tolist() == by_size.picks_K.tolist()


def test_rows_are_covered_by_picks_of_their_own_bucket() -> None:
    buckets = [f"b{i % 3}" for i in range(120)]
    found = core_set(unit_vectors(120), buckets, size=20)
    assert all(buckets[row] == buckets[pick] for row, pick in enumerate(found.nearest_N))
    assert set(found.nearest_N.tolist()) == set(found.picks_K.tolist())


def test_a_size_beyond_the_rows_keeps_them_all() -> None:
    assert sorted(core_set(unit_vectors(7), list("aabbccc"), size=99).picks_K.tolist()) == list(range(7))


def test_no_rows_are_no_error() -> None:
    assert core_set(unit_vectors(0), [], size=5).picks_K.tolist() == []


def test_bad_sizes_are_errors_that_say_what_is_allowed() -> None:
    with pytest.raises(ValueError, match="at least 3, one pick per bucket, got 2"):
        core_set(unit_vectors(3), list("abc"), size=2)
    with pytest.raises(ValueError, match="either a size or a radius"):
        core_set(unit_vectors(3), list("abc"))


def test_picks_move_to_the_middle_of_what_they_cover() -> None:
    rng = np.random.default_rng(0)
    middle = unit_vectors(3, dimensions=32)
    points = np.concatenate([middle, np.repeat(middle, 20, axis=0) + 0.08 * rng.normal(size=(60, 32))])
    points = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    greedy = core_set(points, ["x"] * 63, size=3)
    moved = central_picks(points, greedy, ["x"] * 63)
    assert sorted(moved.picks_K.tolist()) == [0, 1, 2]
    assert moved.radius < greedy.radius
    assert sorted(set(moved.nearest_N.tolist())) == [0, 1, 2]


def test_an_outlier_that_covers_only_itself_stays_a_pick() -> None:
    points = np.eye(4, dtype=np.float32)[[0, 0, 0, 3]]
    greedy = core_set(points, ["x"] * 4, size=2)
    assert 3 in central_picks(points, greedy, ["x"] * 4).picks_K
    assert central_picks(points[:0], core_set(points[:0], [], size=1), []).picks_K.tolist() == []


def test_centring_takes_away_what_a_language_has_in_common() -> None:
    shared = np.array([10.0, 0, 0], dtype=np.float32)
    points = np.array([[0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=np.float32)
    close = points + shared
    close /= np.linalg.norm(close, axis=1, keepdims=True)
    both, languages = np.concatenate([points, close]), ["en"] * 4 + ["zh"] * 4
    centres = centres_of(both, languages)
    spread = centred(both, languages, centres)
    np.testing.assert_allclose(np.linalg.norm(spread, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(spread[4:] @ spread[4:].T, spread[:4] @ spread[:4].T, atol=1e-4)
    np.testing.assert_allclose(centred(points[:1], ["en"], {"en": points[0]}), points[:1])
    alone = centred(both[4:], ["zh"] * 4, centres)
    np.testing.assert_array_equal(alone, spread[4:], "what else is there changes nothing")
    np.testing.assert_array_equal(centred(points, ["other"] * 4, centres), points, "no centre, no move")


def test_the_certificate_beats_chance_and_its_curve_falls() -> None:
    points = unit_vectors(800, dimensions=3)
    buckets = [f"b{i % 4}" for i in range(800)]
    leaves = ["rare" if i < 4 else f"leaf{i % 12}" for i in range(800)]
    core = core_set(points, buckets, size=100)
    certificate = certify(points, buckets, leaves, core, core)
    assert certificate.radius < certificate.random_radius
    assert certificate.tail_leaves == ("rare",)
    assert certificate.tail_radius <= certificate.radius
    assert certificate.left_out["q100"] == pytest.approx(certificate.radius)
    radii = [radius for _, radius in certificate.curve]
    assert radii == sorted(radii, reverse=True)
    assert certificate.curve[-1] == (100, pytest.approx(core.radius))
    assert all(isinstance(value, float) for value in certificate.numbers.values())


def test_the_curve_gives_the_radius_of_every_smaller_pool() -> None:
    points = unit_vectors(200, dimensions=3)
    curve = dict(radius_curve(core_set(points, ["x"] * 200, size=50)))
    assert curve[20] == pytest.approx(core_set(points, ["x"] * 200, size=20).radius, abs=1e-5)


def test_a_random_choice_is_repeatable_and_has_every_bucket() -> None:
    points, buckets = unit_vectors(60), [f"b{i % 5}" for i in range(60)]
    assert random_radius(points, buckets, 5, seed=1) == random_radius(points, buckets, 5, seed=1)
    assert random_radius(points, buckets, 60, seed=1) == 0.0


def test_the_rarest_tenth_of_the_leaves_is_named_rarest_first() -> None:
    leaves = [f"leaf{i:02d}" for i in range(20) for _ in range(20 - i)]
    assert rarest_leaves(leaves) == ("leaf19", "leaf18")
