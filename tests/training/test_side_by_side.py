"""Work in several processes: in order, with what each was given once, a few parts ahead."""

import os
from collections.abc import Iterator

import pytest

from training.side_by_side import each_part


def _said(held: str, part: int) -> tuple[str, int, int]:
    if part == 99:
        raise ValueError(f"{held} cannot do part {part}")
    return held, part, os.getpid()


def test_parts_come_back_in_order_from_processes_that_hold_what_they_were_given() -> None:
    read: list[int] = []

    def parts() -> Iterator[int]:
        """Twelve parts, each noted when it is read."""
        for part in range(12):
            read.append(part)
            yield part

    made = each_part(_said, "held", parts(), workers=2)
    first = next(made)
    assert len(read) < 12, "parts are read as they are needed"
    found = [first, *made]
    assert [(held, part) for held, part, _ in found] == [("held", part) for part in range(12)]
    assert os.getpid() not in {pid for *_, pid in found}


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_worker_cannot_do_is_raised_here(workers: int) -> None:
    with pytest.raises(ValueError, match="held cannot do part 99"):
        list(each_part(_said, "held", [1, 99], workers=workers))
