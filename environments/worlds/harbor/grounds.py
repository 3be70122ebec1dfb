"""Where tasks of Harbor's are played and tested: images made ready, limits as asked for and never above ours."""

import hashlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from environments.fault import UnplayableTask
from environments.sandbox import Limits, SandboxError
from environments.sandboxes import carried, dockerfile, standing
from environments.sandboxes.carried import StandingSandboxes
from environments.sandboxes.dockerfile import BuildLimits, ImageError, bases_of, build, image_id
from environments.sandboxes.engine import Engine
from environments.sandboxes.standing import Room
from environments.task import Script, Task
from environments.worlds.harbor.data_model import Setting, context_of, setting_of
from environments.worlds.workspace.data_model import content_of

DOCKERFILE: Final = "Dockerfile"
_EVERYWHERE: Final = "/app"
"""Where it stands that is carried over, when a task does not say."""
_MODULES: Final = (carried, dockerfile, standing)


@dataclass(frozen=True)
class Caps:
    """The most that a task gets, whatever it asks for; and what it gets where it does not say."""

    memory_mb: int = 2048
    cpus: float = 2.0
    storage_mb: int = 512
    """Of each folder that may be changed; it is memory, and counts as such."""
    processes: int = 256
    command_s: float = 600.0
    """One command, or the tests."""
    agent_s: float = 1800.0
    """All commands of an episode."""
    build_s: float = 900.0

    def limits(self, setting: Setting) -> Limits:
        """Those of a task's containers."""
        memory = min(setting.memory_mb or self.memory_mb, self.memory_mb)
        storage = max(8, min(setting.storage_mb or self.storage_mb, self.storage_mb, memory))
        return Limits(
            memory_mb=memory, cpus=min(setting.cpus or 1.0, self.cpus), processes=self.processes, work_mb=storage,
            files=min(20_000, storage * 64), command_s=self.command_s, command_cpu_s=int(self.command_s),
            file_kb=storage * 128, collected_kb=storage * 256,
        )  # fmt: skip

    def seconds(self, setting: Setting) -> float:
        """How long all commands of an episode may take together."""
        return min(setting.agent_s or self.agent_s, self.agent_s)


@dataclass(frozen=True)
class Grounds:
    """Sandboxes for any task of Harbor's, each image made ready once."""

    caps: Caps = field(default_factory=Caps)
    host: str = ""
    """Of the engine; empty: as Docker's own variables say."""

    @property
    def version(self) -> str:
        """Hash of limits and of how images are made ready."""
        source = "".join(map(inspect.getsource, _MODULES))
        return "grounds-" + hashlib.blake2b(f"{self.caps}{source}".encode(), digest_size=8).hexdigest()

    def for_agent(self, task: Task) -> StandingSandboxes:
        """Where the agent works.

        Raises:
            UnplayableTask: its image cannot be made.
            SandboxError: the engine failed, or lacks an image.
        """
        return _made(self, task.task_id, _Wish.of(task))

    def for_tests(self, task: Task) -> StandingSandboxes:
        """Where its tests run: in the same image, unless they have one of their own.

        Raises:
            UnplayableTask: the image cannot be made.
            SandboxError: the engine failed, or lacks the image.
        """
        script = task.goal.script
        if script is None or not script.apart:
            return self.for_agent(task)
        files = () if script.image else tuple((str(r["path"]), content_of(r)) for r in script.files)
        return _made(self, task.task_id, _Wish(setting_of(task), files, script.image, script.carried or (_EVERYWHERE,)))


@dataclass(frozen=True)
class _Wish:
    """Which image, with which folders."""

    setting: Setting
    context: tuple[tuple[str, bytes], ...]
    image: str
    places: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash((self.setting.digest, self.image, self.context))

    @classmethod
    def of(cls, task: Task) -> "_Wish":
        """For the agent of a task."""
        setting = setting_of(task)
        return cls(setting, tuple(sorted(context_of(task).items())), setting.image)


def _made(grounds: Grounds, task_id: str, wish: _Wish) -> StandingSandboxes:
    try:
        return _ready(grounds, wish)
    except ImageError as error:
        raise UnplayableTask(f"task {task_id}: {error}") from error


@cache
def _engine(host: str) -> Engine:
    return Engine(host)


@cache
def _ready(grounds: Grounds, wish: _Wish) -> StandingSandboxes:
    engine, setting, caps = _engine(grounds.host), wish.setting, grounds.caps
    for name, known in setting.bases.items():
        if (found := image_id(engine, name)) != known:
            raise SandboxError(f"the image {name} is another one ({found[:19]}) than when {setting.name} was imported")
    limits = caps.limits(setting)
    image = wish.image or build(
        engine, dict(wish.context), BuildLimits(min(setting.build_s or caps.build_s, caps.build_s), caps.memory_mb)
    )
    room = Room(limits.work_mb // 2, limits.files // 2)
    made = standing.standing(engine, image, work=setting.work, places=_folders(wish.places), room=room)
    environment = dict(made.layout.environment) | setting.environment
    layout = replace(made.layout, environment=tuple(sorted(environment.items())))
    opened = StandingSandboxes(limits=limits, image=made.image, host=grounds.host, layout=layout)
    object.__setattr__(opened, "engine", engine)  # one connection for all images
    return opened


def _folders(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Folders that must be there for these paths to be carried over."""
    own = (p for p in paths if not p.startswith("/logs/"))
    return tuple(dict.fromkeys(p if p.count("/") == 1 else p.rpartition("/")[0] for p in own))


def bases(engine: Engine, setting: Setting, context: Mapping[str, bytes], script: Script | None) -> dict[str, str]:
    """Id of each image that a task and its tests build on or run in.

    Raises:
        ImageError: its Dockerfile names no base.
        SandboxError: the engine failed, or lacks one.
    """
    found = [setting.image] if setting.image else bases_of(context[DOCKERFILE].decode(errors="replace"))
    if script is not None and script.apart:
        own = {str(row["path"]): content_of(row) for row in script.files if not script.image}
        found += [script.image] if script.image else bases_of(own[DOCKERFILE].decode(errors="replace"))
    return {name: image_id(engine, name) for name in found}


def engine_of(host: str = "") -> Engine:
    """The engine that tasks of Harbor's run on, one connection for all of this process."""
    return _engine(host)


def hang_up() -> None:
    """Forget every image and close the connections: the engine is about to go."""
    _ready.cache_clear()
    if _engine.cache_info().currsize:
        engine_of().client.close()
    _engine.cache_clear()
