"""The funnel does not hang on short Chinese rows, and neither processes nor hash seeds change what survives."""

import hashlib
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from assets.labels.annotator import Annotator, Intent
from assets.pool.layers import Policy, lexical_layer
from assets.pool.lexical import lexical_survivors
from resources.embedder import Embedder
from tests.pool.builders import queries as seen

ROOT = Path(__file__).parents[2]
ANYTHING = Policy(numbers=False, names=False)
SAME = "from tests.pool.test_scale import state; print(state())"


def state() -> str:
    """What survives of some rows, and the version of an annotator: neither may depend on the process."""
    intents = [Intent("a.b", ("weather in rome", "明天天气"), ()), Intent("a.c", ("book a flight",), ())]
    return f"{digest(chinese(3000))} {Annotator(intents, Embedder().embed, embedder='e').version}"


def chinese(count: int) -> list[str]:
    """Short requests of 4 to 20 characters without spaces, a third of them near copies of another."""
    rng = random.Random(0)
    signs = [chr(0x4E00 + i) for i in range(900)]
    texts = ["".join(rng.choices(signs, k=rng.randint(4, 20))) for _ in range(2 * count // 3)]
    copies = [text[:-1] + rng.choice(signs) for text in rng.choices(texts, k=count - len(texts))]
    return texts + copies


def queries(texts: list[str]) -> pl.DataFrame:
    """Distinct queries without a turn before them."""
    return seen(list(dict.fromkeys(texts))).with_columns(context=pl.lit(None, dtype=pl.String))


def digest(texts: list[str]) -> str:
    """What survives, as one hash."""
    return hashlib.sha256(lexical_survivors(texts, [""] * len(texts), 0.7).survivor_N.tobytes()).hexdigest()


@pytest.mark.slow
def test_hash_seeds_and_processes_change_neither_survivors_nor_versions() -> None:
    environment = os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SAME]
    other = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == state()


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("seed", [1, 2])
def test_neither_workers_nor_the_order_of_rows_change_who_survives(
    monkeypatch: pytest.MonkeyPatch, workers: int, seed: int
) -> None:
    rows = queries(chinese(3000))
    expected = lexical_layer(rows, threshold=0.7, policy=ANYTHING, floor=0.5)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(workers)))
    found = lexical_layer(rows.sample(fraction=1.0, shuffle=True, seed=seed), threshold=0.7, policy=ANYTHING, floor=0.5)
    assert found.kept.equals(expected.kept)
    assert found.dropped.equals(expected.dropped)
    assert len(found.dropped) > 500
    assert found.stored is not None
    assert expected.stored is not None
    assert found.stored.pairs.equals(expected.stored.pairs)


def test_every_part_of_the_work_says_how_far_it_is_and_ends_at_its_end() -> None:
    told: dict[str, list[tuple[int, int]]] = {}
    rows = queries(chinese(25_000))
    lexical_layer(
        rows, threshold=0.7, policy=Policy(), floor=0.5,
        progress=lambda what, done, total: told.setdefault(what, []).append((done, total)),
    )  # fmt: skip
    own = {"queries read", "bands", "rows compared"}
    assert set(told) == own | {"bands for the preview", "rows compared for the preview"}
    for steps in told.values():
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)
        assert steps[-1][0] == steps[-1][1]
    assert len(told["queries read"]) >= 3


@pytest.mark.slow
def test_four_times_the_short_chinese_rows_take_at_most_six_times_the_work_and_little_memory() -> None:
    def work(count: int) -> float:
        texts = chinese(count)
        begun = time.process_time()
        digest(texts)
        return time.process_time() - begun

    work(1_000)  # compiles the kernel
    small, large = work(25_000), work(100_000)
    assert large <= 6 * small
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 3e6  # KiB
