"""Harbor task folders of others as tasks of the world `harbor`: for the gate to examine and a policy to play.

What cannot be played here is named with its reason before anything is built: several containers or steps, services
beside the agent, other machines, a network. Who asks for a network without needing it is taken as it is, without one;
what its scripts fetch is looked for, and what is overlooked fails at the gate, where the solution must earn 1.

Source: Harbor 0.26 (task folders of the schemas 1.0 to 1.4).
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from environments.fault import UnplayableTask
from environments.formats.aside import Aside
from environments.formats.harbor import HarborTask, digest_of, read_task
from environments.formats.harbor_needs import Unusable, check_playable, plain_environment
from environments.formats.harbor_solution import gold_call
from environments.sandbox import SandboxError
from environments.sandboxes.dockerfile import ImageError
from environments.task import Goal, Script, Split, Task
from environments.worlds.harbor.data_model import SETTING, Setting, context_of, rows_of
from environments.worlds.harbor.grounds import DOCKERFILE, Grounds, bases, engine_of
from environments.worlds.workspace.data_model import TABLE

TOOLS: Final = ("read_file", "write_file", "list_files", "run")
CALLS: Final = 40
"""Calls that an agent has; Harbor bounds time only."""
_TESTS_S: Final = 600.0
"""Harbor's own, where a task does not say."""
_DEPTHS: Final = {"easy": 1, "medium": 2, "hard": 3}
_SHOWN: Final = 400


class Imported(NamedTuple):
    """What was taken over, and what was not."""

    tasks: list[Task]
    aside: list[Aside]


def import_folders(
    folders: Iterable[Path], *, grounds: Grounds | None, calls: int = CALLS, split: Split = "train"
) -> Imported:
    """Take over task folders, and those in folders of them.

    Args:
        folders: each a task folder, or one that holds task folders.
        grounds: builds every image now, so that what cannot be built is named; None: the gate will.
        calls: how many calls an agent has.
        split: which side of the hidden line they are on.

    Raises:
        FileNotFoundError: no task folder is there.
        SandboxError: there is no engine.
    """
    taken = Imported([], [])
    if grounds is not None:
        _ = engine_of(grounds.host).client  # nothing can be said about any task without one
    for folder in _task_folders(folders):
        try:
            taken.tasks.append(_prepared(task_of(folder, calls=calls, split=split), grounds))
        except Unusable as reason:
            taken.aside.append(Aside(folder.name, reason.cause, reason.evidence[:_SHOWN]))
        except (FileNotFoundError, ValueError, UnicodeDecodeError) as error:
            taken.aside.append(Aside(folder.name, "unreadable", str(error)[:_SHOWN]))
    return taken


def _task_folders(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        inside = [folder] if (folder / "task.toml").is_file() else sorted(p.parent for p in folder.glob("*/task.toml"))
        if not inside:
            raise FileNotFoundError(
                f"{folder} holds no task.toml, nor does a folder in it: name a Harbor task folder or a folder of them"
            )
        yield from inside


def task_of(folder: Path, *, calls: int = CALLS, split: Split = "train") -> Task:
    """A task folder as a task.

    Raises:
        Unusable: it cannot be played here.
        FileNotFoundError: the folder lacks a file.
        ValueError: its `task.toml` cannot be read.
    """
    read = read_task(folder)
    check_playable(read)
    settings = read.settings
    metadata, setting = read.metadata, _setting(read, digest_of(folder))
    return Task(
        world="harbor",
        family=str(metadata.get("family") or metadata.get("category") or "harbor"),
        depth=_DEPTHS.get(str(metadata.get("difficulty")), 2),
        instruction=read.instruction,
        tools=TOOLS,
        goal=Goal(script=_script(read)),
        gold_calls=(gold_call(_below(read, "solution"), plain_environment(settings.get("solution", {}), "solution")),),
        gold_answer="Done.",
        max_calls=calls,
        split=split,
        group=read.name,
        initial={
            SETTING: (setting.model_dump(mode="json", exclude_defaults=True),),
            TABLE: rows_of(_below(read, "environment")),
        },
    )


def _prepared(task: Task, grounds: Grounds | None) -> Task:
    """The task with the ids of the images that it builds on, once its own could be made.

    Raises:
        Unusable: it cannot be made here.
    """
    if grounds is None:
        return task
    try:
        setting = Setting.model_validate(task.initial[SETTING][0])
        script = task.goal.script
        known = bases(engine_of(grounds.host), setting, context_of(task), script)
        row = setting.model_copy(update={"bases": known}).model_dump(mode="json", exclude_defaults=True)
        made = task.model_copy(update={"initial": {**task.initial, SETTING: (row,)}})
        grounds.for_agent(made)
        grounds.for_tests(made)
    except (ImageError, UnplayableTask, SandboxError) as error:
        raise Unusable("no_image", str(error)) from error
    return made


def _below(read: HarborTask, folder: str) -> dict[str, bytes]:
    return {p.partition("/")[2]: content for p, content in read.files.items() if p.startswith(f"{folder}/")}


def _setting(read: HarborTask, digest: str) -> Setting:
    asked = read.settings.get("environment", {})
    agent = read.settings.get("agent", {})
    return Setting(
        name=read.name,
        digest=digest,
        image="" if f"environment/{DOCKERFILE}" in read.files else str(asked.get("docker_image") or ""),
        work=str(asked.get("workdir") or ""),
        cpus=_number(asked, "cpus"),
        memory_mb=_megabytes(asked, "memory"),
        storage_mb=_megabytes(asked, "storage"),
        agent_s=_number(agent, "timeout_sec"),
        build_s=_number(asked, "build_timeout_sec"),
        environment=plain_environment(asked, "environment"),
    )


def _number(asked: Mapping[str, Any], key: str) -> float | None:
    value = asked.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError(f"task.toml: {key} must be a number above 0, got {value!r}")
    return float(value)


def _megabytes(asked: Mapping[str, Any], key: str) -> int | None:
    """A size in megabytes; older schemas say `memory = "2G"`."""
    found = _number(asked, f"{key}_mb")
    if found is not None or key not in asked:
        return None if found is None else max(1, int(found))
    text = str(asked[key]).strip().upper().removesuffix("B").removesuffix("I")
    unit = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1 << 20}.get(text[-1:])
    try:
        size = float(text[:-1]) * unit if unit is not None else float(text) / (1 << 20)
    except ValueError:
        raise ValueError(f"task.toml: {key} must be a size such as 2G, got {asked[key]!r}") from None
    return max(1, int(size))


def _script(read: HarborTask) -> Script:
    """The tests, and what goes to where they run."""
    asked = read.settings.get("verifier", {})
    own = asked.get("environment", {}) if read.separate else {}
    files = _below(read, "tests")
    if not read.separate:
        files.pop(DOCKERFILE, None)
    return Script(
        files=rows_of(files),
        seconds=_number(asked, "timeout_sec") or _TESTS_S,
        environment=plain_environment(asked, "verifier") | plain_environment(own, "verifier.environment"),
        image="" if DOCKERFILE in files else str(own.get("docker_image") or ""),
        carried=_carried(read.settings) if read.separate else None,
        collect=tuple(str(hook["command"]) for hook in asked.get("collect", [])),
    )


def _carried(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """What a separate environment of tests is given."""
    listed = settings.get("artifacts", [])
    paths = [str(entry["source"] if isinstance(entry, dict) else entry).rstrip("/") for entry in listed]
    if bad := [path for path in paths if not path.startswith("/") or ".." in path]:
        raise ValueError(f"task.toml: an artifact is named by its whole path, got {bad[0]!r}")
    return tuple(paths)
