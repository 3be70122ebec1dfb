"""Base of every stage's run configuration, and where a profile's sizes become its defaults.

A stage writes its nano numbers as field defaults and names its asset:

    class RawQueriesConfig(StageConfig, stage=keys.RAW_QUERIES):
        lines: PositiveInt = 200_000

The composition root calls `bind_stage_defaults` before the stages are imported; from then on the profile's values
stand where the nano numbers stood: in jobs, in the Launchpad and in a click on Materialize.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, NamedTuple

import dagster as dg
from pydantic import ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

Settings = Mapping[str, object]
Share = Annotated[float, Field(ge=0, le=1)]
"""A part of a whole."""
Several = Annotated[int, Field(ge=2)]
"""At least two: what a comparison needs."""


class _Binding(NamedTuple):
    source: str
    stages: Mapping[str, Settings]


_bound: list[_Binding] = []
declared: Final[dict[str, "type[StageConfig]"]] = {}
"""The config class of each stage that has been imported, by table name."""


class StageConfig(dg.Config):
    """Frozen, rejects unknown keys, and shows each field's docstring in the Launchpad."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid", validate_default=True)

    stage: ClassVar[str] = ""

    def __init_subclass__(cls, *, stage: dg.AssetKey | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if stage is None:
            return
        cls.stage = stage.to_user_string()
        for name, value in _settings_of(cls.stage).items():
            _replace_default(cls, name, value)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__()
        if not kwargs.get("stage"):
            return
        declared[cls.stage] = cls
        if settings := _settings_of(cls.stage):
            _check_values(cls, settings)


def bind_stage_defaults(stages: Mapping[str, Settings], *, source: str) -> None:
    """Make `stages` (table name -> field -> value) the defaults of config classes declared from now on.

    Binding the same values again changes nothing.

    Args:
        stages: for example `{"queries/raw_queries": {"lines": 2_000}}`.
        source: what to name in an error, for example the profile's file.

    Raises:
        RuntimeError: a stage was declared before, with other values; it would keep them.
    """
    before = _bound[-1].stages if _bound else {}
    late = sorted(name for name in declared if dict(before.get(name, {})) != dict(stages.get(name, {})))
    if late:
        raise RuntimeError(
            f"{source} comes too late for {', '.join(late)}: their config classes were imported before it was bound. "
            "Bind the profile first (dagster_project.profiles.bind_active_profile)"
        )
    _bound[:] = [_Binding(source, stages)]


def require_all_settings_taken() -> None:
    """Refuse a profile with settings for a stage that has none; call it when every stage has been imported.

    Raises:
        ValueError: naming the stage and those that take settings.
    """
    for source, stages in _bound:
        if idle := sorted(set(stages) - set(declared)):
            raise ValueError(
                f"{source}: {', '.join(f'[{_toml(stage)}]' for stage in idle)} sets what no stage reads; "
                f"stages with settings: {', '.join(sorted(declared)) or 'none'}"
            )


def _settings_of(stage: str) -> Settings:
    return _bound[-1].stages.get(stage, {}) if _bound else {}


def _replace_default(cls: type[StageConfig], name: str, value: object) -> None:
    if name not in cls.__annotations__:
        fields = ", ".join(sorted(cls.__annotations__)) or "none"
        raise ValueError(f"{_bound[-1].source}: [{_toml(cls.stage)}] has no setting {name!r}; allowed: {fields}")
    current = cls.__dict__.get(name)
    if isinstance(current, FieldInfo):  # its bounds move into the annotation, where the new default does not hide them
        cls.__annotations__[name] = Annotated[cls.__annotations__[name], current]
    setattr(cls, name, value)


def _check_values(cls: type[StageConfig], settings: Settings) -> None:
    try:
        cls()
    except ValidationError as error:
        causes = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']} (got {e['input']!r})" for e in error.errors())
        raise ValueError(f"{_bound[-1].source}: [{_toml(cls.stage)}] {causes}") from error


def _toml(stage: str) -> str:
    return stage.replace("/", ".")
