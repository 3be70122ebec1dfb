"""The process that a sandbox keeps: answers requests over stdin, runs commands, moves files, wipes what was left.

It runs inside the container, as process 1, from its source text: the standard library only, and nothing of Loopwright.
What an agent runs has the same user, so the worker is hardened against it: signals from inside do not reach process 1,
its memory and its streams are closed to others (`PR_SET_DUMPABLE`), everything that a command started is killed
when the command ends, before anything else is done, and each answer repeats the secret number of its request.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import resource
import select
import signal
import stat
import struct
import subprocess
import sys
import time
from typing import Any

WORK = "/work"
WIPED = (WORK, "/tmp", "/dev/shm", "/dev/mqueue")
SHELL = 'echo 1000 2>/dev/null >/proc/self/oom_score_adj; exec /bin/sh -c "$1"'
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
}


class Refused(Exception):
    """A request that cannot be met; its text is the code that the agent reads."""


def guard() -> None:
    """Close this process to the ones that it will start; refuses to be anything but process 1."""
    if os.getpid() != 1:
        sys.exit("the worker kills every other process: it runs as process 1 of a sandbox only")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's handler would let `kill -INT 1` through
    if ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) != 0:
        sys.exit("prctl(PR_SET_DUMPABLE) failed")


def own_state() -> list[Any]:
    """What other processes of the same user can change about this one."""
    limits = [resource.getrlimit(number) for number in range(16)]
    return [os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), sorted(os.sched_getaffinity(0)), limits]


def kill_others() -> None:
    """End every other process here, at once, and reap them; from process 1 no fork can slip through."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


def reap(child: subprocess.Popen[bytes] | None = None) -> int | None:
    """Wait for everything that was killed; the exit code of `child`."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return code
        if child is not None and pid == child.pid:
            code = child.returncode = os.waitstatus_to_exitcode(status)


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


def run(command: str, stdin: str, wall_s: float, cpu_s: int, file_bytes: int, keep: int) -> dict[str, Any]:
    """Run a shell command; when it has ended, or its time is up, nothing of it is left."""
    given = os.memfd_create("stdin")
    os.write(given, base64.b64decode(stdin)) if stdin else None
    os.lseek(given, 0, os.SEEK_SET)
    reader, writer = os.pipe()
    ours = [given, reader, writer]
    started = time.monotonic()

    def limit() -> None:
        """In the child: CPU seconds, file size, no core dumps."""
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    try:
        child = subprocess.Popen(
            ["/bin/sh", "-c", SHELL, "sh", command], cwd=WORK, env=ENVIRONMENT, stdin=given, stdout=writer,
            stderr=writer, start_new_session=True, preexec_fn=limit,
        )  # fmt: skip
        os.close(ours.pop())
        kept = Kept(keep)
        code = follow(child, reader, kept, started + wall_s)
        output, gap = kept.text()
        seconds = round(time.monotonic() - started, 4)
        return {"exit": code, "output": output, "left_out": gap, "seconds": seconds}
    finally:
        for descriptor in ours:
            os.close(descriptor)


def follow(child: subprocess.Popen[bytes], reader: int, kept: Kept, deadline: float) -> int | None:
    """Read what the command writes until it ends or its time is up, then kill all; the exit code, None for no time."""
    open_ = True
    while child.poll() is None and time.monotonic() < deadline:
        wait = max(0.0, min(0.02, deadline - time.monotonic()))
        if not open_:
            time.sleep(min(wait, 0.005))
        elif select.select([reader], [], [], wait)[0]:
            chunk = os.read(reader, 65536)
            open_ = bool(chunk)
            kept.add(chunk)
    ended = child.returncode
    kill_others()
    reap(child)
    while open_:
        chunk = os.read(reader, 65536)
        open_ = bool(chunk)
        kept.add(chunk)
    return ended


def inside(path: str) -> str:
    """The real place of `path`, which must lie in the work folder: no link leads out, least of all to /proc/1."""
    try:
        real = os.path.realpath(os.path.join(WORK, path))
    except (OSError, ValueError):
        raise Refused("bad_path")
    if real != WORK and not real.startswith(WORK + "/"):
        raise Refused("outside")
    return real


def read(path: str, most: int) -> dict[str, Any]:
    """One regular file."""
    descriptor = os.open(inside(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Refused("not_a_file")
        if found.st_size > most:
            raise Refused("too_large")
        return {"content": encoded(file.read(most))}


def encoded(content: bytes) -> str:
    """Bytes as JSON carries them."""
    return base64.b64encode(content).decode()


def write(path: str, content: str) -> dict[str, Any]:
    """One regular file, with the folders that it needs; an old one is replaced, never written through a link."""
    place = inside(path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if os.path.lexists(place) and not stat.S_ISREG(os.lstat(place).st_mode):
        raise Refused("not_a_file")
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(base64.b64decode(content))
    return {}


def names(folder: str, most: int) -> dict[str, Any]:
    """The entries of a folder, in order."""
    with os.scandir(inside(folder)) as found:
        shown = sorted(e.name + "/" * e.is_dir(follow_symlinks=False) for e in found if is_text(e.name))
    return {"names": shown[:most], "more": len(shown) > most}


def is_text(name: str) -> bool:
    """Whether a name can be written down."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def collect(most_each: int, most_all: int) -> dict[str, Any]:
    """Every regular file of the work folder; links are not followed, and nothing is opened that could block."""
    files: dict[str, str] = {}
    skipped: list[str] = []
    total, waiting = 0, [""]
    while waiting:
        folder = waiting.pop()
        permit(os.path.join(WORK, folder), 0o700)
        with os.scandir(os.path.join(WORK, folder)) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        for entry in entries:
            path = os.path.join(folder, entry.name)
            if not is_text(path) or len(path) > 1024:
                skipped.append(ascii(path[:200]))
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            elif not entry.is_file(follow_symlinks=False):
                skipped.append(path)
            else:
                size = entry.stat(follow_symlinks=False).st_size
                total += size
                if size > most_each or total > most_all:
                    raise Refused("too_large")
                permit(os.path.join(WORK, path), 0o400)
                files[path] = read(path, most_each)["content"]
    return {"files": files, "skipped": sorted(skipped)[:100]}


def permit(path: str, mode: int) -> None:
    """Give ourselves the permissions that are missing."""
    has = stat.S_IMODE(os.lstat(path).st_mode)
    if has & mode != mode:
        os.chmod(path, has | mode)


def wipe(top: str) -> None:
    """Empty a folder, however deep, whatever its permissions; folders are lifted to the top, so no path grows long."""
    if os.stat(top).st_uid == os.getuid():
        os.chmod(top, 0o700)
        for attribute in os.listxattr(top):
            os.removexattr(top, attribute)
    while found := os.listdir(top):
        for name in found:
            path = os.path.join(top, name)
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                os.unlink(path)
                continue
            os.chmod(path, 0o700)
            for inner in os.listdir(path):
                lower = os.path.join(path, inner)
                if stat.S_ISDIR(os.lstat(lower).st_mode):
                    os.chmod(lower, 0o700)
                    os.rename(lower, os.path.join(top, "lifted-" + os.urandom(12).hex()))
                else:
                    os.unlink(lower)
            os.rmdir(path)


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


def restore(files: dict[str, str], before: list[Any]) -> dict[str, Any]:
    """Kill, wipe, check and fill."""
    kill_others()
    reap()
    for folder in WIPED:
        if os.path.isdir(folder):
            wipe(folder)
    if left := left_behind(before):
        return {"left": left}
    for path, content in files.items():
        write(path, content)
    return {"left": []}


def answer(request: dict[str, Any], before: list[Any]) -> dict[str, Any]:
    """What one request gives."""
    operation = request.pop("op")
    operations: dict[str, Any] = {"run": run, "read": read, "write": write, "names": names, "collect": collect}
    try:
        if operation == "restore":
            return restore(request["files"], before)
        done: dict[str, Any] = operations[operation](**request)
        return done
    except Refused as refusal:
        return {"refused": str(refusal)}
    except FileNotFoundError:
        return {"refused": "not_found"}
    except (NotADirectoryError, IsADirectoryError, FileExistsError):
        return {"refused": "not_a_file" if operation != "names" else "not_a_folder"}
    except PermissionError:
        return {"refused": "not_allowed"}
    except OSError as error:
        return {"refused": "no_space"} if error.errno in (28, 122, 27) else {"broken": repr(error)}
    except (MemoryError, subprocess.SubprocessError) as error:
        return {"broken": repr(error)}


def exactly(stream: Any, count: int) -> bytes | None:
    """The next `count` bytes, or None at the end."""
    parts: bytes = stream.read(count)
    return parts if len(parts) == count else None


def serve(idle_s: float) -> None:
    """Answer requests until there are no more, or none came for `idle_s`."""
    stream, out, before = sys.stdin.buffer, sys.stdout.buffer, own_state()
    while select.select([stream], [], [], idle_s)[0]:
        head = exactly(stream, 4)
        if head is None:
            return
        request = json.loads(exactly(stream, struct.unpack(">I", head)[0]) or b"{}")
        secret = request.pop("secret")
        said = json.dumps({"secret": secret, **answer(request, before)}).encode()
        out.write(struct.pack(">I", len(said)) + said)
        out.flush()


if __name__ == "__main__":
    guard()
    serve(float(sys.argv[1]))
