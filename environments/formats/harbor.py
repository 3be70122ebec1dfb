"""Harbor task folders: read, written and hashed as Harbor does it.

A task folder holds the instruction, the environment that the agent works in, tests that are uploaded after it has
finished, and the oracle's solution. What we write is graded in an environment of its own (the agent cannot touch what
the tests use) and with one reward file. What we read may be of older versions; keys that nobody here knows are kept.

Source: Harbor 0.26 (task folders; content digest of its packager).
"""

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

import tomlkit
from pathspec import PathSpec

SCHEMA: Final = "1.4"
REWARD_TXT: Final = "/logs/verifier/reward.txt"
"""The one reward file that our tests write: versions of Harbor disagree on which of two wins."""
_SINGLE: Final = ("task.toml", "instruction.md", "README.md", "trajectory.json")
_FOLDERS: Final = ("environment", "tests", "solution", "steps")
_IGNORED: Final = ("__pycache__/", "*.pyc", ".DS_Store", "*.swp", "*.swo", "*~")
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


class HarborTask(NamedTuple):
    """One task folder in memory."""

    settings: dict[str, Any]
    """`task.toml`."""
    instruction: str
    files: dict[str, bytes]
    """Everything else that counts, by its path in the folder: `environment/Dockerfile`, `tests/test.sh` ..."""

    @property
    def name(self) -> str:
        """ORGANISATION/NAME."""
        return str(self.settings["task"]["name"])

    @property
    def metadata(self) -> dict[str, Any]:
        """What whoever made it wrote about it."""
        return dict(self.settings.get("metadata", {}))

    @property
    def separate(self) -> bool:
        """Whether the tests run in an environment of their own; in a shared one the agent can edit what they use."""
        return bool(self.settings.get("verifier", {}).get("environment_mode") == "separate")


def settings_for(
    name: str,
    *,
    description: str,
    metadata: Mapping[str, Any],
    agent_s: float,
    verifier_s: float,
    collect: tuple[str, ...] = (),
    environment: Mapping[str, Any],
) -> dict[str, Any]:
    """`task.toml` of a task of ours.

    Args:
        name: ORGANISATION/NAME.
        description: one line.
        metadata: about the task; written as it is.
        agent_s: seconds that the agent has.
        verifier_s: seconds that the tests have.
        collect: commands that run in the agent's environment once it has finished and put under `/logs/artifacts` what
            the tests are to see.
        environment: limits and image.

    Raises:
        ValueError: the name is not ORGANISATION/NAME.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"a Harbor task is named ORGANISATION/NAME, got {name!r}")
    return {
        "schema_version": SCHEMA,
        "task": {"name": name, "description": description},
        "metadata": dict(metadata),
        "agent": {"timeout_sec": agent_s, "network_mode": "no-network"},
        "verifier": {
            "timeout_sec": verifier_s,
            "environment_mode": "separate",
            "collect": [{"command": command} for command in collect],
        },
        "environment": dict(environment),
    }


def grading_script(check: str) -> bytes:
    """`tests/test.sh` that writes 1 where `check` succeeds, else 0, and nothing where it could not be run."""
    return (
        "#!/bin/sh\n"
        "set -u\n"
        "mkdir -p /logs/verifier\n"
        f"{check}\n"
        "status=$?\n"
        f"if [ $status -eq 0 ]; then echo 1 > {REWARD_TXT}\n"
        f"elif [ $status -eq 1 ]; then echo 0 > {REWARD_TXT}\n"
        "fi\n"
    ).encode()


def write_task(task: HarborTask, folder: Path) -> str:
    """Write a task folder; returns its digest.

    Raises:
        ValueError: tests or solution are missing, a path leaves the folder, or the environment would show them to the
            agent.
        FileExistsError: there is something at `folder` already.
    """
    _check(task)
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty: name a new folder")
    for path, content in task.files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        if content.startswith(b"#!"):
            place.chmod(0o755)
    (folder / "task.toml").write_text(tomlkit.dumps(task.settings), encoding="utf-8")
    (folder / "instruction.md").write_text(task.instruction, encoding="utf-8")
    return digest_of(folder)


def _check(task: HarborTask) -> None:
    for path in task.files:
        parts = PurePosixPath(path).parts
        if path.startswith("/") or ".." in parts or (parts[0] not in _FOLDERS and path not in _SINGLE):
            raise ValueError(f"{path} has no place in a task folder; there are {', '.join(_FOLDERS)}/ and README.md")
    if missing := [p for p in ("tests/test.sh", "solution/solve.sh") if p not in task.files]:
        raise ValueError(f"{task.name} lacks {', '.join(missing)}")
    dockerfile = task.files.get("environment/Dockerfile", b"").decode(errors="replace")
    if shown := re.search(r"(?im)^\s*(?:COPY|ADD)\b[^\n]*\b(tests|solution)/", dockerfile):
        raise ValueError(f"the agent would see {shown[1]}/: take it out of environment/Dockerfile")


def read_task(folder: Path) -> HarborTask:
    """Read a task folder of any version.

    Raises:
        FileNotFoundError: no task folder, or it lacks its instruction or tests.
        ValueError: `task.toml` cannot be read, or names no task; the message names the file.
    """
    place = folder / "task.toml"
    if not place.is_file():
        raise FileNotFoundError(f"{folder} holds no task.toml: name the folder of one Harbor task")
    try:
        settings = tomllib.loads(place.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{place}: {error}") from error
    if not isinstance(settings.get("task", {}), dict) or not settings.get("task", {}).get("name"):
        settings = {**settings, "task": {"name": f"unnamed/{folder.name}", **_table(settings.get("task"))}}
    said = folder / "instruction.md"
    files = {path: (folder / path).read_bytes() for path in _counted(folder) if path not in _SINGLE[:2]}
    if not said.is_file() or ("tests/test.sh" not in files and not any(p.startswith("steps/") for p in files)):
        raise FileNotFoundError(f"{folder} lacks instruction.md or tests/test.sh: it is no whole task")
    return HarborTask(settings, _without_canary(said.read_text(encoding="utf-8")), files)


def _table(found: Any) -> dict[str, Any]:
    return dict(found) if isinstance(found, dict) else {}


def _without_canary(text: str) -> str:
    """The instruction without the comments at its head that mark benchmark data."""
    return re.sub(r"\A(?:\s*<!--.*?-->|\s*#[^\n]*canary[^\n]*\n)+\s*", "", text, flags=re.S | re.I)


def digest_of(folder: Path) -> str:
    """Harbor's content digest of a task folder: `sha256:` and 64 hex digits."""
    whole = hashlib.sha256()
    for path in _counted(folder):
        content = hashlib.sha256((folder / path).read_bytes()).hexdigest()
        whole.update(f"{path}\0{content}\n".encode())
    return f"sha256:{whole.hexdigest()}"


def dataset_digest(digests: list[str]) -> str:
    """Harbor's digest of a data set without files of its own."""
    return "sha256:" + hashlib.sha256(",".join(sorted(digests)).encode()).hexdigest()


def _counted(folder: Path) -> list[str]:
    """Paths of the files that make a task, sorted; what is ignored by its own `.gitignore` is no part of it."""
    listed = folder / ".gitignore"
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else _IGNORED
    ignored = PathSpec.from_lines("gitignore", lines)
    return sorted(path for path in _paths(folder) if not ignored.match_file(path))


def _paths(folder: Path) -> Iterator[str]:
    """Paths of the files of a task, without what its own rules leave out.

    Raises:
        ValueError: one is a link to something outside the folder, which would travel with the task.
    """
    found = [folder / name for name in _SINGLE if (folder / name).is_file()]
    found += [path for name in _FOLDERS for path in (folder / name).rglob("*") if path.is_file()]
    for path in found:
        name = path.relative_to(folder).as_posix()
        if not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{name} is a link that leaves {folder}: put the file itself there, or take the link away")
        yield name
