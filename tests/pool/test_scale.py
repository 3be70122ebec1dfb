"""The funnel does not hang on short Chinese rows, and neither processes nor hash seeds change what survives."""

import hashlib
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assets.labels.annotator import Annotator, Intent
from assets.pool.lexical import lexical_survivors
from resources.embedder import Embedder

ROOT = Path(__file__).parents[2]
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


def digest(texts: list[str]) -> str:
    """What survives, as one hash."""
    return hashlib.sha256(lexical_survivors(texts, [""] * len(texts), 0.7).survivor_N.tobytes()).hexdigest()


@pytest.mark.slow
def test_hash_seeds_and_processes_change_neither_survivors_nor_versions() -> None:
    environment = os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SAME]
    other = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == state()


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
