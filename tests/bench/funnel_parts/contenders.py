"""How a contender is run: in a process of its own, so that its CPU seconds and its peak memory are its own.

Imports and compiling are not counted: whoever measures runs the contender on few rows first.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from tests.bench.corpus import chunks

COMMAND = "make bench-funnel"
MIDDLE = 1_000_000
"""Rows that the middle of a language is taken from."""
FRONT = Path(__file__).parents[1] / "funnel.py"


def taken(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What a call returns, and its wall and CPU seconds, the memory it took beyond what was there, and the peak.

    Memory is the resident set as the kernel counts it for this program alone; `ru_maxrss` begins at what the process
    that started it had.
    """
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak so far is forgotten
    held, cpu, started = _resident_gb("VmRSS"), time.process_time(), time.perf_counter()
    found = call()
    wall, cpu, peak = time.perf_counter() - started, time.process_time() - cpu, _resident_gb("VmHWM")
    return found, {"wall_s": wall, "cpu_s": cpu, "memory_gb": peak - held, "peak_gb": peak}


def _resident_gb(field: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1e6 for line in lines if line.startswith(field))


def run_child(part: str, *arguments: str) -> dict[str, float]:
    """What the `child` of a part prints as JSON, run in a process of its own."""
    command = [sys.executable, str(FRONT), "--child", part, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{part} {arguments[0]} failed:\n{done.stderr[-3000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(part, *arguments, found, flush=True)
    return found


def distinct_rows(count: int) -> pl.DataFrame:
    """`count` rows that differ, in order, with what each was made from."""
    parts = list(chunks(round(count / (1 - 0.3) * 1.02)))
    return pl.concat(parts).unique("text", keep="first", maintain_order=True).head(count)


def points_of(count: int, folder: Path) -> Path:
    """A file of the vectors of `count` distinct rows, each measured from the middle of its language.

    The Chinese rows are random signs, which the embedder puts all in one place; from its middle they differ. The
    middles are those of the first million rows.
    """
    file = folder / f"points-{count}.npy"
    if not file.exists():
        import numpy as np

        from assets.pool.geometric import centred, centres_of
        from resources.embedder import DIMENSIONS, Embedder

        texts = distinct_rows(count)["text"]
        languages = ["en" if text.isascii() else "zh" for text in texts]
        points_ND = np.lib.format.open_memmap(file, "w+", np.float32, (count, DIMENSIONS))
        for part in _parts(count):
            points_ND[part] = Embedder().embed(texts[part].to_list())
        centres = centres_of(np.asarray(points_ND[:MIDDLE]), languages[:MIDDLE])
        for part in _parts(count):
            points_ND[part] = centred(np.asarray(points_ND[part]), languages[part], centres)
    return file


def _parts(count: int) -> list[slice]:
    """Of a table, a hundred thousand rows each."""
    return [slice(start, min(start + 100_000, count)) for start in range(0, count, 100_000)]
