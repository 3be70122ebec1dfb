"""Much work of one kind on every core: in processes that each hold, once, what it is done with, or in threads."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from training.processes import one_thread_each

Held = TypeVar("Held")
Part = TypeVar("Part")
Made = TypeVar("Made")
_AHEAD: Final = 2
"""Parts on their way for each process: more would only fill memory."""


def each_part(
    work: Callable[[Held, Part], Made], held: Held, parts: Iterable[Part], *, workers: int = 1
) -> Iterator[Made]:
    """`work(held, part)` of each part, in order.

    Args:
        work: a function of a module, the same for any number of processes.
        held: what every process is given once; it must be picklable where there are several.
        parts: read as they are needed.
        workers: processes side by side, of one thread each; one works here.
    """
    if workers == 1:
        yield from (work(held, part) for part in parts)
        return
    with one_thread_each(workers, _keep, held) as pool:
        ahead: deque[Future[Made]] = deque()
        for part in parts:
            ahead.append(pool.submit(_work_there, work, part))
            if len(ahead) > _AHEAD * workers:
                yield ahead.popleft().result()
        yield from (one.result() for one in ahead)


def core_count() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def on_every_core(work: Callable[[Part], Made], parts: Iterable[Part]) -> list[Made]:
    """`work` of each part, in order, in threads: for work in a library that leaves Python's lock alone.

    Polars is one: by itself it keeps one core busy with the text of one column.
    """
    with ThreadPoolExecutor(core_count()) as pool:
        return list(pool.map(work, parts))


_kept: list[Any] = []
"""What this process was given to work with."""


def _keep(held: Any) -> None:
    _kept[:] = [held]


def _work_there(work: Callable[[Any, Any], Any], part: Any) -> Any:
    return work(_kept[0], part)
