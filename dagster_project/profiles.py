"""Profiles: whether the same graph runs on a laptop in seconds or on GPUs for days.

The one place that reads the environment: `LOOPWRIGHT_PROFILE` (which file under `profiles/`, default nano, or the path
of one's own), `LOOPWRIGHT_HOME` (where all state lies, default `.loopwright/`), `LOOPWRIGHT_REGISTRY_URL` (another
database) and `LOOPWRIGHT_TAU2` (where tau2's domains lie).
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import dagster as dg
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    ValidationError,
)
from sqlalchemy import make_url

from assets import config, keys
from environments.worlds.catalogue import PLACES_WORLD, Folders
from resources.endpoints import ChatEndpoint, ServedModel
from resources.sandboxes import SandboxSettings

PROFILES: Final = Path(__file__).parent / "profiles"
DEFAULT: Final = "nano"


class ProfileError(ValueError):
    """The profile named does not exist, or its file says something nobody reads."""


class _Section(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")


class TrainerSettings(_Section):
    """How training modules are started."""

    launcher: Literal["python", "torchrun"] = "python"
    """`python` starts one process; `torchrun` one per device."""
    processes: PositiveInt = 1
    """Processes of one training run, with `torchrun`."""
    threads: PositiveInt = 2
    """CPU threads of each; the workers of a probe or an evaluation share them."""
    rollout_workers: PositiveInt = 2
    """Processes that share the episodes of a probe or an evaluation; the episodes are the same for any number."""


class EndpointSettings(_Section, ServedModel):
    """A language model over HTTP, and what may be spent on it; fields are those of the resource."""

    api_key_variable: str = ""
    """Environment variable that holds the key; empty: none is sent."""

    def settings(self) -> dict[str, Any]:
        """As the resource takes them: the key by its variable, which is read when a run starts."""
        own = self.model_dump(exclude={"api_key_variable"})
        return own | ({"api_key": dg.EnvVar(self.api_key_variable)} if self.api_key_variable else {})


class WorldSettings(_Section):
    """What worlds read that does not come with Loopwright."""

    tau2_folder: str = ""
    """A tau2-bench checkout or a folder of its domains, for the worlds `retail` and `airline`; empty: there is none."""
    places_folder: str = ""
    """Real places in the shape of CrossWOZ's databases, for the world `atlas_places`; empty: there are none."""


class NightSettings(_Section):
    """When the nightly probe starts, once its schedule is switched on."""

    cron: Annotated[str, Field(pattern=r"^(\S+ ){4}\S+$")] = "0 3 * * *"
    """Five fields, in UTC."""
    late_s: PositiveInt = 3600
    """Seconds after which a tick counts as missed; a missed night is skipped, not made up for."""


def _of_sandboxes(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check settings of the sandboxes while the profile is read, not when the first of them is opened."""
    if unknown := sorted(set(settings) - set(SandboxSettings.model_fields)):
        raise ValueError(f"unknown {', '.join(unknown)}; allowed: {', '.join(sorted(SandboxSettings.model_fields))}")
    SandboxSettings(**settings).sandboxes()
    return settings


class Profile(_Section):
    """Which resources, which sizes."""

    name: str
    """File name without its ending."""
    description: str
    """One line for the reader."""
    trainer: TrainerSettings = TrainerSettings()
    """How training modules are started."""
    teacher: EndpointSettings = EndpointSettings()
    """Who labels where `labels.query_labels` has `annotator = "teacher"`."""
    worlds: WorldSettings = WorldSettings()
    """Where the data of worlds lie."""
    judge: EndpointSettings = EndpointSettings()
    """The language model that grades by rubrics, and is graded itself, where one is named."""
    nightly: NightSettings = NightSettings()
    """When the frontier is probed again."""
    sandboxes: Annotated[Mapping[str, Any], AfterValidator(_of_sandboxes)] = {}
    """Where coding tasks run, as the resource `sandboxes` takes it; the rest keeps its defaults."""
    apply_tree_changes: bool = False
    """Whether a changed tree is carried out without being asked, once its plan was shown."""
    stages: Mapping[str, Mapping[str, Any]] = {}
    """Settings of stages (`[queries.raw_queries]` in the file), by table name; the rest keeps its nano defaults."""

    def run_config(self) -> dg.RunConfig:
        """These sizes as the run configuration of a job over all stages named in the profile."""
        ops = {name.replace("/", "__"): {"config": dict(settings)} for name, settings in self.stages.items()}
        return dg.RunConfig(ops=ops)


def names() -> list[str]:
    """The profiles that exist, smallest first."""
    order = ["micro", "nano", "small", "gpu"]
    found = {path.stem for path in PROFILES.glob("*.toml")}
    return [name for name in order if name in found] + sorted(found - set(order))


def load(name: str) -> Profile:
    """Read and check one profile.

    Args:
        name: of a file under `profiles/`, or the path of a file of one's own (`own.toml`).

    Raises:
        ProfileError: no such profile, a torn file, an unknown section or setting, a value out of range.
    """
    path = Path(name).expanduser() if name.endswith(".toml") else PROFILES / f"{name}.toml"
    if not path.is_file() or (path.parent == PROFILES and name not in names()):
        raise ProfileError(
            f"LOOPWRIGHT_PROFILE={name!r} is not a profile; allowed: {', '.join(names())} (files in {PROFILES}), or "
            "the path of a .toml file of your own"
        )
    try:
        return parse(path.read_text(encoding="utf-8"), name=path.stem)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"{path}: not valid TOML: {error}") from error


def parse(text: str, *, name: str) -> Profile:
    """A profile from the text of its file.

    Raises:
        ProfileError: an unknown section or setting, a value out of range.
    """
    content = tomllib.loads(text)
    own = {key: content.pop(key) for key in list(content) if key in Profile.model_fields}
    if clash := {"name", "stages"} & set(own):
        raise ProfileError(f"profile {name}: {', '.join(sorted(clash))} is not set in the file")
    try:
        return Profile(name=name, stages=_stages(content, profile=name), **own)
    except ValidationError as error:
        causes = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']} (got {e['input']!r})" for e in error.errors())
        raise ProfileError(f"profile {name}: {causes}") from error


def active() -> Profile:
    """The profile of this process.

    Raises:
        ProfileError: see `load`.
    """
    return load(os.environ.get("LOOPWRIGHT_PROFILE") or DEFAULT)


def endpoint_of(role: Literal["teacher", "judge"]) -> ChatEndpoint:
    """The language model that the active profile names as teacher or as judge, its key read, for a command.

    Raises:
        ValueError: the profile names none, or the variable of its key is not set.
    """
    profile = active()
    served: EndpointSettings = getattr(profile, role)
    if not (served.base_url and served.model):
        raise ValueError(
            f"profile {profile.name} names no {role}: set base_url and model under [{role}] in a profile of your own "
            f"(LOOPWRIGHT_PROFILE=own.toml), or leave --{role} out"
        )
    settings = served.settings()
    key = settings.get("api_key")
    if isinstance(key, dg.EnvVar):
        settings["api_key"] = key.get_value()
        if settings["api_key"] is None:
            raise ValueError(f"the {role}'s key is to be in the variable {served.api_key_variable}, which is not set")
    return ChatEndpoint(**settings)


def home() -> Path:
    """The one folder that holds all state; deleting it is a clean slate."""
    return Path(os.environ.get("LOOPWRIGHT_HOME") or ".loopwright").absolute()


def registry_url() -> str:
    """Where the registry is: `LOOPWRIGHT_REGISTRY_URL`, or a SQLite file in the state folder."""
    return os.environ.get("LOOPWRIGHT_REGISTRY_URL") or f"sqlite:///{home() / 'registry.db'}"


def tau2_folder() -> Path | None:
    """Where tau2's domains lie: `LOOPWRIGHT_TAU2`, or the active profile's `[worlds] tau2_folder`; None: nowhere."""
    return _folder(os.environ.get("LOOPWRIGHT_TAU2") or active().worlds.tau2_folder)


def places_folder() -> Path | None:
    """Where real places lie: `LOOPWRIGHT_PLACES`, or the active profile's `[worlds] places_folder`; None: nowhere."""
    return _folder(os.environ.get("LOOPWRIGHT_PLACES") or active().worlds.places_folder)


def world_folder(world: str) -> Path | None:
    """What the world reads: real places, or tau2's domains."""
    return places_folder() if world == PLACES_WORLD else tau2_folder()


def world_folders(tau2: Path | None = None) -> Folders:
    """Where every world lies that is read from a folder; `tau2` goes before what is set."""
    return Folders(tau2 or tau2_folder(), places_folder())


def _folder(said: str) -> Path | None:
    return Path(said).expanduser().absolute() if said else None


def shown_registry() -> str:
    """The registry's URL without its password."""
    return make_url(registry_url()).render_as_string(hide_password=True)


def choose(name: str) -> Profile:
    """Make `name` the active profile of this process and of those it starts.

    Raises:
        ProfileError: see `load`.
    """
    profile = load(name)
    os.environ["LOOPWRIGHT_PROFILE"] = name
    return profile


def bind_active_profile() -> Profile:
    """Make the active profile's sizes the defaults of every stage imported after this call."""
    profile = active()
    config.bind_stage_defaults(profile.stages, source=f"profile {profile.name}")
    return profile


def _stages(content: Mapping[str, Any], *, profile: str) -> dict[str, dict[str, Any]]:
    allowed = {keys.table_of(key) for key in (*keys.PIPELINE, *keys.BY_THE_CLOCK)}
    own = sorted(set(Profile.model_fields) - {"name", "stages"})
    stages: dict[str, dict[str, Any]] = {}
    for group, assets in content.items():
        if group not in {table.split("/")[0] for table in allowed} or not isinstance(assets, dict):
            groups = sorted({table.split("/")[0] for table in allowed})
            raise ProfileError(f"profile {profile}: unknown key {group!r}; allowed: {', '.join([*own, *groups])}")
        for asset, settings in assets.items():
            if f"{group}/{asset}" not in allowed or not isinstance(settings, dict):
                within = sorted(table.split("/")[1] for table in allowed if table.startswith(f"{group}/"))
                raise ProfileError(
                    f"profile {profile}: [{group}.{asset}] is not a stage; allowed under {group}: {', '.join(within)}"
                )
            stages[f"{group}/{asset}"] = settings
    return stages
