"""What broke other projects' funnels: odd texts, equal rows, kills, full disks, torn files. Ours holds or says so."""

import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer

from assets.pool.audit import conservation
from assets.pool.epoch import Wanted
from assets.pool.layers import Layer, Policy, geometric_layer, lexical_layer, semantic_layer
from assets.pool.lexical import lexical_survivors
from assets.pool.preview import PAIRS
from assets.pool.readings import Reader
from assets.queries.normalise import fold
from dagster_project.commands.console import clear_errors
from resources.embedder import Embedder
from resources.lake import Lake, LakeError
from tests.pool.builders import queries, semantic_survivors, unit_vectors
from tests.pool.test_lexical import jaccard

ROOT = Path(__file__).parents[2]


def rows_of(texts: list[str]) -> pl.DataFrame:
    nothing = pl.lit(None, dtype=pl.String)
    return queries(texts).with_columns(context=nothing, secondary=nothing, primary=pl.lit("a.b"))


def layers_of(rows: pl.DataFrame) -> list[tuple[pl.DataFrame, Layer]]:
    """Every layer with what went into it."""
    letters = lexical_layer(rows, threshold=0.75, policy=Policy(), floor=0.6)
    meaning = semantic_layer(letters.kept, Reader(Embedder().embed), threshold=0.93, policy=Policy(), floor=0.85)
    cover = geometric_layer(meaning.kept, Reader(Embedder().embed), wanted=Wanted(max(3, len(meaning.kept) // 2), None))
    return [(rows, letters), (letters.kept, meaning), (meaning.kept, cover.layer)]


ODD = [
    "🙂", "🙂🙂🙂🙂", "🙂🙂🙂🙂🙂", "\U0001f469\u200d\U0001f469\u200d\U0001f467 family trip",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 family trips", "مرحبا بالعالم كيف الحال", "مرحبا بالعالم كيف الحال؟",
    "מה מזג האוויר בתל אביב", "a", "明", "天气", "e\u0301te\u0301 a\u0300 paris", "\u202eright to left", "?!", "١٢٣",
]  # fmt: skip


def test_emoji_right_to_left_and_single_signs_go_through_every_layer() -> None:
    for before, made in layers_of(rows_of(ODD)):
        assert conservation(before, made.kept, made.dropped).holds


def test_very_long_rows_are_compared_like_any_other() -> None:
    rng = random.Random(0)
    long = ["".join(rng.choices(letters, k=100_000)) for letters in ("abcdefghijkl ", "mnopqrstuvwx ")]
    rows = rows_of([long[0], f"{long[0]} thanks", long[1], "weather in rome"])
    [(_, letters), *_] = found = layers_of(rows)
    assert letters.dropped.select("query_id", "survivor").rows() == [("q00001", "q00000")]
    for before, made in found:
        assert conservation(before, made.kept, made.dropped).holds


def test_ten_equal_rows_leave_one_and_nine_that_name_it_and_nothing_is_lost() -> None:
    rows = rows_of([*["weather in rome tomorrow"] * 10, "museum in oslo"])
    [(_, letters), *_] = layers_of(rows)
    assert letters.kept["query_id"].to_list() == ["q00000", "q00010"]
    assert letters.dropped.select("survivor", "rule", "similarity").unique().rows() == [("q00000", "near_copy", 1.0)]
    assert len(rows) == len(letters.kept) + sum(letters.dropped["rule"].value_counts()["count"])
    assert letters.kept["support"].sum() == rows["support"].sum()


def test_a_funnel_without_rows_is_no_error() -> None:
    rows = rows_of([])
    letters = lexical_layer(rows, threshold=0.75, policy=Policy(), floor=0.6)
    meaning = semantic_layer(letters.kept, Reader(Embedder().embed), threshold=0.93, policy=Policy(), floor=0.85)
    cover = geometric_layer(meaning.kept, Reader(Embedder().embed), wanted=Wanted(5, None))
    assert [len(made.kept) + len(made.dropped) for made in (letters, meaning, cover.layer)] == [0, 0, 0]


def short_pairs(length: int, seed: int) -> tuple[list[str], list[str]]:
    """Texts of one length without spaces, Chinese, and the same with one sign changed at the end."""
    rng = random.Random(seed)
    signs = [chr(0x4E00 + i) for i in range(900)]
    originals = ["".join(rng.choices(signs, k=length)) for _ in range(150)]
    return originals, [text[:-1] + rng.choice(signs) for text in originals]


@pytest.mark.parametrize("length", range(4, 21))
def test_planted_pairs_of_short_texts_without_spaces_are_found(length: int) -> None:
    originals, copies = short_pairs(length, seed=length)
    threshold = 0.9 * jaccard("".join(map(chr, range(0x4E00, 0x4E00 + length))), originals[0]) or 0.5
    survivor_N = lexical_survivors(originals + copies, [""] * 300, threshold).survivor_N
    due = [i for i in range(150) if jaccard(originals[i], copies[i]) >= threshold and survivor_N[i] == i]
    assert len(due) > 100
    assert np.mean([survivor_N[150 + i] != 150 + i for i in due]) >= 0.99


@pytest.mark.parametrize(
    ("one", "other"),
    [("ＦＭ　１５０６公路怎么走", "FM 1506公路怎么走"), ("ＷＥＡＴＨＥＲ　ｉｎ　Ｒｏｍｅ", "weather in rome")],
)
def test_full_and_half_width_are_one_query_before_letters_are_compared(one: str, other: str) -> None:
    folded = fold(pl.Series([one, other])).to_list()
    assert folded[0] == folded[1]
    assert len(lexical_layer(rows_of(folded), threshold=1.0, policy=Policy()).kept) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("请问去fm1506公路怎么走比较快", "请问去fm1507公路怎么走比较快"),
        ("the road fm 1506 by the mill", "the road fm 1507 by the mill"),
    ],
)
def test_numbers_that_differ_keep_both_unless_the_policy_says_otherwise(one: str, other: str) -> None:
    rows = rows_of([one, other])
    apart = lexical_layer(rows, threshold=0.6, policy=Policy(), floor=0.5)
    assert len(apart.kept) == 2
    assert apart.stored is not None
    assert apart.stored.pairs.is_empty(), "what may not be compared is no pair at any threshold"
    for policy in (Policy(numbers=False), Policy(numbers=False, names=False)):
        assert len(lexical_layer(rows, threshold=0.6, policy=policy).kept) == 1
    assert len(lexical_layer(rows, threshold=0.6, policy=Policy(names=False)).kept) == 2


KILLED = """
import os, signal, sys
from pathlib import Path
import polars as pl
from assets.pool import store
from assets.pool.layers import Policy, lexical_layer
rows, folder, when = pl.read_parquet(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
def progress(what, done, total):
    if what == when: die()
if when.startswith("_") or when == "replace_durably": setattr(store, when, die)
lexical_layer(rows, folder, threshold=0.75, policy=Policy(), floor=0.6, progress=progress)
"""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["rows decided", "replace_durably", "rows compared for the preview"])
def test_killed_in_the_middle_of_a_layer_the_next_run_gives_the_same(tmp_path: Path, when: str) -> None:
    texts = [f"{verb} the weather in {place} {extra}".strip() for verb in ("show", "tell me", "what is")
             for place in ("rome", "oslo") for extra in ("", "please", "now", "!")]  # fmt: skip
    rows, index = rows_of(texts), tmp_path / "index"
    lexical_layer(rows[:20], index, threshold=0.75, policy=Policy(), floor=0.6)
    rows.write_parquet(tmp_path / "rows.parquet")
    command = [sys.executable, "-c", KILLED, str(tmp_path / "rows.parquet"), str(index), when]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    again = lexical_layer(rows, index, threshold=0.75, policy=Policy(), floor=0.6)
    whole = lexical_layer(rows, threshold=0.75, policy=Policy(), floor=0.6)
    assert again.kept.equals(whole.kept)
    assert again.dropped.equals(whole.dropped)
    assert again.stored is not None
    assert whole.stored is not None
    assert again.stored.pairs.equals(whole.stored.pairs)


@pytest.mark.slow
def test_a_full_disk_names_the_file_of_the_index_and_leaves_the_one_before(tmp_path: Path) -> None:
    rows = rows_of([f"{chr(97 + i % 26)} weather report number {i} for the town of {i * i}" for i in range(400)])
    lexical_layer(rows[:300], tmp_path, threshold=0.75, policy=Policy())
    before = (tmp_path / "manifest.json").read_bytes()
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, old[1]))
    try:
        with pytest.raises(LakeError, match=rf"no room left .*{tmp_path}/segment-2-0"):
            lexical_layer(rows, tmp_path, threshold=0.75, policy=Policy())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, ignored)
    assert (tmp_path / "manifest.json").read_bytes() == before
    found = lexical_layer(rows, tmp_path, threshold=0.75, policy=Policy())
    assert (found.numbers["decided_before"], found.numbers["decided_now"]) == (300, 100)


def test_a_torn_table_is_named_in_one_line_of_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = Lake(root=str(tmp_path))
    path = lake.write(PAIRS["lexical"], pl.DataFrame({"later": ["a"], "earlier": ["b"]}))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(typer.Exit), clear_errors():
        lake.read(PAIRS["lexical"])
    assert capsys.readouterr().err.startswith(
        f"loopwright: pool/lexical_pairs[all] at {path} is not a whole Parquet file"
    )


def test_a_vector_that_is_no_number_names_the_query() -> None:
    def broken(texts: list[str]) -> np.ndarray:
        vectors = unit_vectors(len(texts))
        vectors[1, 0] = np.nan
        return vectors

    rows = rows_of(["weather in rome", "museum in oslo", "bridge in lyon"])
    with pytest.raises(ValueError, match=r"q00001.*NaN"):
        semantic_layer(rows, Reader(broken), threshold=0.93, policy=Policy())
    for length in (0.0, 1e-9):
        with pytest.raises(ValueError, match=r"q00001.*is no unit vector"):
            semantic_layer(
                rows,
                Reader(lambda texts, length=length: unit_vectors(len(texts)) * ([1], [length], [1])),  # type: ignore[misc]
                threshold=0.93,
                policy=Policy(),
            )
    with pytest.raises(ValueError, match="NaN"):
        semantic_survivors(broken(["a", "b"]), ["x", ""], ["", ""], 0.9)
