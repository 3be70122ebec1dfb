"""The process that a sandbox keeps: answers requests over stdin, runs commands, moves files, wipes what was left.

It runs inside the container, as process 1, from its source text and that of `confine`: the standard library only.
What an agent runs has the same user, so the worker is hardened against it: signals from inside do not reach process 1,
its memory and its streams are closed to others (`PR_SET_DUMPABLE`), its limits and priority too (`confine`), everything
that a command started is killed when the command ends, before anything else is done, and each answer repeats the
secret number of its request.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import errno
import json
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import time
from typing import Any

from environments.sandboxes import confine, files, pristine

SHELL = 'echo 1000 2>/dev/null >/proc/self/oom_score_adj; exec /bin/sh -c "$1"'
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
}


def guard() -> confine.Filter:
    """Close this process to the ones that it will start; refuses to be anything but process 1."""
    if os.getpid() != 1:
        sys.exit("the worker kills every other process: it runs as process 1 of a sandbox only")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's handler would let `kill -INT 1` through
    if ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) != 0:
        sys.exit("prctl(PR_SET_DUMPABLE) failed")
    kept_away = confine.Filter()
    if not kept_away.tried():
        sys.exit("the filter of system calls cannot be put on: does the engine allow seccomp?")
    return kept_away


def own_state() -> list[Any]:
    """What other processes of the same user can change about this one."""
    limits = [resource.getrlimit(number) for number in range(16)]
    return [os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), sorted(os.sched_getaffinity(0)), limits]


def kill_others() -> None:
    """End every other process here, at once, and reap them; from process 1 no fork can slip through."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)


def reap(child: subprocess.Popen[bytes] | None = None) -> int:
    """Wait for everything that was killed; how many processes but `child` had outlived the one that started them.

    An orphan becomes a child of process 1 and stays one until it is waited for here: none can come and go unseen.
    """
    outlived = 0
    while True:
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return outlived
        if child is not None and pid == child.pid:
            child.returncode = os.waitstatus_to_exitcode(status)
        else:
            outlived += 1


class Kept:
    """The beginning and the end of a stream, and how much there was."""

    def __init__(self, most: int) -> None:
        self.most, self.head, self.tail, self.total = most // 2, b"", b"", 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.total += len(chunk)
        room = self.most - len(self.head)
        self.head, chunk = self.head + chunk[:room], chunk[room:]
        self.tail = (self.tail + chunk)[-self.most :]

    def text(self) -> tuple[str, int]:
        """What was kept, and how many bytes were not."""
        gap = self.total - len(self.head) - len(self.tail)
        middle = b"\n... %d bytes left out ...\n" % gap if gap else b""
        return (self.head + middle + self.tail).decode("utf-8", "replace"), gap


def run(
    command: str, stdin: str, wall_s: float, cpu_s: int, file_bytes: int, keep: int, kept_away: confine.Filter
) -> dict[str, Any]:
    """Run a shell command; when it has ended, or its time is up, nothing of it is left."""
    given = os.memfd_create("stdin")
    os.write(given, base64.b64decode(stdin)) if stdin else None
    os.lseek(given, 0, os.SEEK_SET)
    reader, writer = os.pipe()
    ours = [given, reader, writer]
    started = time.monotonic()

    def limit() -> None:
        """In the child: CPU seconds, file size, no core dumps, hands off the worker."""
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        kept_away.put_on()

    try:
        child = subprocess.Popen(
            ["/bin/sh", "-c", SHELL, "sh", command], cwd=files.GROUND.work, env=ENVIRONMENT, stdin=given, stdout=writer,
            stderr=writer, start_new_session=True, preexec_fn=limit,
        )  # fmt: skip
        os.close(ours.pop())
        kept = Kept(keep)
        code, outlived = follow(child, reader, kept, started + wall_s)
        output, gap = kept.text()
        seconds = round(time.monotonic() - started, 4)
        return {"exit": code, "output": output, "left_out": gap, "seconds": seconds, "outlived": outlived}
    finally:
        for descriptor in ours:
            os.close(descriptor)


def follow(child: subprocess.Popen[bytes], reader: int, kept: Kept, deadline: float) -> tuple[int | None, int]:
    """Read what the command writes until it ends or its time is up, then kill all.

    The exit code, None where its time was up, and how many processes were left to themselves.
    """
    open_ = True
    while child.poll() is None and time.monotonic() < deadline:
        wait = max(0.0, min(0.02, deadline - time.monotonic()))
        if not open_:
            time.sleep(min(wait, 0.002))
        elif select.select([reader], [], [], wait)[0]:
            chunk = os.read(reader, 65536)
            open_ = bool(chunk)
            kept.add(chunk)
    ended = child.returncode
    kill_others()
    outlived = reap(child)
    while open_:
        chunk = os.read(reader, 65536)
        open_ = bool(chunk)
        kept.add(chunk)
    return ended, outlived


def left_behind(before: list[Any]) -> list[str]:
    """What an episode left that cannot be wiped: shared memory of the kernel, or something about this process."""
    left = []
    for kind in ("shm", "sem", "msg"):
        with open("/proc/sysvipc/" + kind) as table:
            left += [kind] if len(table.readlines()) > 1 else []
    if own_state() != before:
        left.append("worker")
    others = [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]
    return left + (["processes"] if others else [])


class Worker:
    """What the requests are about: this process, as it was at its start."""

    def __init__(self, kept_away: confine.Filter) -> None:
        self.before, self.kept_away = own_state(), kept_away

    def restore(self, given: dict[str, str]) -> dict[str, Any]:
        """Kill, wipe, check and fill."""
        kill_others()
        reap()
        for folder in (*files.GROUND.roots, *files.ALWAYS):
            if os.path.isdir(folder):
                files.wipe(folder)
        if left := left_behind(self.before):
            return {"left": left}
        pristine.fill()
        for path, content in given.items():
            files.write(path, content)
        return {"left": []}

    def do(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Carry out one request."""
        if operation == "restore":
            return self.restore(**arguments)
        if operation == "run":
            return run(**arguments, kept_away=self.kept_away)
        done: dict[str, Any] = _FILES[operation](**arguments)
        return done


_FILES: dict[str, Any] = {
    "read": files.read, "write": files.write, "names": files.names, "collect": files.collect,
    "changed": pristine.changed, "apply": pristine.apply, "put": pristine.put,
}  # fmt: skip


def answer(worker: Worker, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What one request gives, or why it gives nothing."""
    try:
        return worker.do(operation, arguments)
    except files.Refused as refusal:
        return {"refused": str(refusal)}
    except FileNotFoundError:
        return {"refused": "not_found"}
    except (NotADirectoryError, IsADirectoryError, FileExistsError):
        return {"refused": "not_a_folder" if operation == "names" else "not_a_file"}
    except PermissionError:
        return {"refused": "not_allowed"}
    except ValueError:  # half of an emoji, a zero byte
        return {"refused": "bad_arguments"}
    except OSError as error:
        return {"refused": _CODES[error.errno]} if error.errno in _CODES else {"broken": repr(error)}
    except (MemoryError, subprocess.SubprocessError) as error:
        return {"broken": repr(error)}


_CODES: dict[int | None, str] = {
    errno.ENOSPC: "no_space", errno.EFBIG: "no_space", errno.ENAMETOOLONG: "bad_path", errno.ELOOP: "bad_path",
}  # fmt: skip


def exactly(stream: Any, count: int) -> bytes | None:
    """The next `count` bytes, or None at the end."""
    parts: bytes = stream.read(count)
    return parts if len(parts) == count else None


def serve(idle_s: float, kept_away: confine.Filter) -> None:
    """Answer requests until there are no more, or none came for `idle_s`."""
    stream, out, worker = sys.stdin.buffer, sys.stdout.buffer, Worker(kept_away)
    while select.select([stream], [], [], idle_s)[0]:
        head = exactly(stream, 4)
        if head is None:
            return
        request = json.loads(exactly(stream, struct.unpack(">I", head)[0]) or b"{}")
        secret, operation = request.pop("secret"), request.pop("op")
        said = json.dumps({"secret": secret, **answer(worker, operation, request)}).encode()
        out.write(struct.pack(">I", len(said)) + said)
        out.flush()


def set_out(settings: dict[str, Any]) -> None:
    """Take in where files may lie, what of them the image holds, and what commands find in their environment."""
    files.GROUND.work, files.GROUND.roots = settings["work"], settings["roots"]
    pristine.PLACES[:] = settings["places"]
    ENVIRONMENT.update(settings["environment"])


if __name__ == "__main__":
    set_out(json.loads(sys.argv[-1]))
    serve(json.loads(sys.argv[-1])["idle_s"], guard())
