"""Child processes that never outlive whoever started them, and those that use one thread each."""

import ctypes
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Final

_DIE_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG
_LIBC: Final = ctypes.CDLL(None) if sys.platform == "linux" else None

THREADS: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "POLARS_MAX_THREADS",
)
"""Variables from which libraries take their number of threads, most of them when they are loaded."""


def one_thread_each(workers: int, begin: Callable[..., None], *given: Any) -> Executor:
    """A pool of processes that use one thread each: as many as cores would fight over the cores otherwise.

    The workers alone are told so, by the environment that they are started with. The pool of the standard library has
    no such thing: to change this process's own for as long as it starts workers would reach whatever else runs in it,
    and a worker's initializer comes too late, since the main module is loaded before it.

    Args:
        workers: processes.
        begin: called in each worker before its first task.
        given: what `begin` takes.
    """
    from loky import ProcessPoolExecutor

    alone = dict.fromkeys(THREADS, "1")
    pool: Executor = ProcessPoolExecutor(workers, initializer=_begin, initargs=(begin, *given), env=alone)
    return pool


def end_with_parent() -> None:
    """Ask the system to end this process when its parent is gone, also when that was killed outright (Linux)."""
    if _LIBC is not None:
        _LIBC.prctl(_DIE_WITH_PARENT, signal.SIGTERM)


def _begin(begin: Callable[..., None], *given: Any) -> None:
    end_with_parent()
    begin(*given)
