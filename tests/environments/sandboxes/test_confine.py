"""The filter of system calls, read by a small interpreter of its instructions."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.sandboxes.confine import (
    ALLOW,
    AT_LEAST,
    CONVENTION,
    EQUAL,
    FIRST,
    LOAD,
    MACHINES,
    NUMBER,
    REFUSE,
    RETURN,
    SECOND,
    instructions,
)

ON = pytest.mark.parametrize("machine", sorted(MACHINES))


def judged(machine: str, name: str | int, first: int = 0, second: int = 0, convention: int | None = None) -> bool:
    """Whether a call is allowed, step by step as the kernel would."""
    native, numbers = MACHINES[machine]
    number = numbers[name] if isinstance(name, str) else name
    seen = {NUMBER: number, CONVENTION: native if convention is None else convention, FIRST: first, SECOND: second}
    program, at, loaded = instructions(machine), 0, 0
    while True:
        code, true, false, operand = program[at]
        at += 1
        if code == RETURN:
            assert operand in (ALLOW, REFUSE)
            return operand == ALLOW
        if code == LOAD:
            loaded = seen[operand]
        else:
            assert code in (EQUAL, AT_LEAST)
            at += true if (loaded == operand if code == EQUAL else loaded >= operand) else false


@ON
@pytest.mark.parametrize(
    "name", ["prlimit64", "sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr"]
)
def test_a_program_may_change_itself_and_its_children_but_not_the_worker(machine: str, name: str) -> None:
    assert judged(machine, name, 0)
    assert judged(machine, name, 4711)
    assert not judged(machine, name, 1)


@ON
def test_priorities_of_the_worker_of_groups_and_of_users_stay(machine: str) -> None:
    assert judged(machine, "setpriority", os.PRIO_PROCESS, 0)
    assert judged(machine, "setpriority", os.PRIO_PROCESS, 4711)
    assert not judged(machine, "setpriority", os.PRIO_PROCESS, 1)
    assert not judged(machine, "setpriority", os.PRIO_USER, 0)
    assert not judged(machine, "setpriority", os.PRIO_PGRP, 1)
    assert not judged(machine, "ioprio_set", 1, 1)


@ON
def test_calls_in_another_convention_are_refused(machine: str) -> None:
    assert not judged(machine, 0, convention=0x40000003)  # i386 by int 0x80, which an engine lets through
    assert not judged(machine, 0x40000000 + 302)  # x32


@given(machine=st.sampled_from(sorted(MACHINES)), number=st.integers(0, 500), first=st.integers(0, 2**32 - 1))
def test_every_other_call_is_left_to_the_engine(machine: str, number: int, first: int) -> None:
    if number not in MACHINES[machine][1].values():
        assert judged(machine, number, first)
