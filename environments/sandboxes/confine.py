"""Keeps what runs in a sandbox away from the worker beside it: a filter of system calls that every command inherits.

Agent and worker are one user, and the kernel lets a user change limits, priority and scheduling of its other processes:
`prlimit(1, RLIMIT_CPU, 0)` kills even process 1, which an agent could pass off as a failure of ours. The filter refuses
such calls where they aim at process 1 (or at whole users and groups), and every call in another convention (32 bit,
x32), whose numbers it does not know. It comes on top of the engine's own filter.

It runs inside the container: the standard library only. Source: seccomp(2), Linux 3.17 and later.
"""

from __future__ import annotations

import ctypes
import os
import struct

LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050001
"""SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM."""
NUMBER, CONVENTION, FIRST, SECOND = 0, 4, 16, 24
"""Offsets in `struct seccomp_data`, lower halves of the arguments (little endian)."""
MACHINES = {
    "x86_64": (0xC000003E, {
        "prlimit64": 302, "sched_setparam": 142, "sched_setscheduler": 144, "sched_setaffinity": 203,
        "sched_setattr": 314, "setpriority": 141, "ioprio_set": 251,
    }),
    "aarch64": (0xC00000B7, {
        "prlimit64": 261, "sched_setparam": 118, "sched_setscheduler": 119, "sched_setaffinity": 122,
        "sched_setattr": 274, "setpriority": 140, "ioprio_set": 30,
    }),
}  # fmt: skip
"""Calling convention and numbers of the calls, by machine."""
Instruction = tuple[int, int, int, int]


def instructions(machine: str) -> list[Instruction]:
    """The filter for a machine: code, jump if true, jump if false, operand."""
    convention, numbers = MACHINES[machine]
    program: list[Instruction] = [
        (LOAD, 0, 0, CONVENTION), (EQUAL, 1, 0, convention), (RETURN, 0, 0, REFUSE),
        (LOAD, 0, 0, NUMBER), (AT_LEAST, 0, 1, 0x40000000), (RETURN, 0, 0, REFUSE),
    ]  # fmt: skip
    not_first: list[Instruction] = [
        (LOAD, 0, 0, FIRST), (EQUAL, 0, 1, 1), (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW),
    ]  # fmt: skip
    one_other: list[Instruction] = [
        (LOAD, 0, 0, FIRST), (EQUAL, 1, 0, os.PRIO_PROCESS), (RETURN, 0, 0, REFUSE),
        (LOAD, 0, 0, SECOND), (EQUAL, 0, 1, 1), (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW),
    ]  # fmt: skip
    blocks = {"setpriority": one_other, "ioprio_set": [(RETURN, 0, 0, REFUSE)]}
    for name, number in sorted(numbers.items()):
        block = blocks.get(name, not_first)
        program += [(EQUAL, 0, len(block), number), *block]
    return [*program, (RETURN, 0, 0, ALLOW)]


class Filter:
    """The filter, ready to be put on a process between fork and exec."""

    def __init__(self) -> None:
        """Assemble it.

        Raises:
            OSError: this machine's calls are not known here.
        """
        machine = os.uname().machine
        if machine not in MACHINES:
            raise OSError(f"no filter of system calls for {machine}; there are: {', '.join(MACHINES)}")
        program = instructions(machine)
        code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
        self._code = ctypes.create_string_buffer(code, len(code))
        self._program = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(self._code)))
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl

    def put_on(self) -> None:
        """Put it on this process and all that it will start, for good.

        Raises:
            OSError: the kernel refuses.
        """
        zero = ctypes.c_ulong(0)
        for option, *values in ((38, 1, 0), (22, 2, ctypes.addressof(self._program))):
            if self._prctl(option, *map(ctypes.c_ulong, values), zero, zero) != 0:
                raise OSError(ctypes.get_errno(), f"prctl({option})")

    def tried(self) -> bool:
        """Whether a child of this process can put it on."""
        child = os.fork()
        if child == 0:
            try:
                self.put_on()
                os.setpriority(os.PRIO_PROCESS, 1, 5)
                os._exit(2)
            except PermissionError:
                os._exit(0)
            except OSError:
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
