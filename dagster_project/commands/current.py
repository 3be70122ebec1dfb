"""Which stages are finished and still hold, and which must be made, and why.

A stage holds when its code version, its settings and the data versions of what it is made from are those of its last
materialization, its table is there, and its checks were all asked and none that blocks failed. So a second
`loopwright demo` goes on from what the first one finished.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import dagster as dg

from assets import keys
from assets.config import declared
from assets.versions import version_in
from resources.lake import Lake

CODE_VERSION: Final = "dagster/code_version"
INPUT_VERSION: Final = "dagster/input_data_version/"

Settings = Mapping[str, Mapping[str, Any]]


class Stage(NamedTuple):
    """One asset as the graph defines it."""

    key: dg.AssetKey
    code_version: str
    parents: tuple[dg.AssetKey, ...]
    checks: frozenset[str]
    """Names of its checks."""

    @property
    def table(self) -> str:
        """Its name everywhere else."""
        return keys.table_of(self.key)


class Last(NamedTuple):
    """The last materialization of a stage."""

    run_id: str
    version: str
    code_version: str
    inputs: Mapping[dg.AssetKey, str]
    """Version of each parent that it was made from."""
    settings: Mapping[str, Any] | None
    """Its run configuration; None where the run did not state it."""
    checks: Mapping[str, bool]
    """Whether each check asked in that run lets the line go on."""


def stages_of(defs: dg.Definitions) -> list[Stage]:
    """Every asset, in pipeline order."""
    checks: dict[dg.AssetKey, set[str]] = {}
    for check in defs.resolve_asset_graph().asset_check_keys:
        checks.setdefault(check.asset_key, set()).add(check.name)
    specs = {spec.key: spec for spec in defs.resolve_all_asset_specs()}
    return [
        Stage(
            key,
            specs[key].code_version or "",
            tuple(dep.asset_key for dep in specs[key].deps),
            frozenset(checks.get(key, ())),
        )
        for key in keys.PIPELINE
        if key in specs
    ]


def settings_of(stages: Sequence[Stage], own: Settings) -> dict[str, dict[str, Any]]:
    """The settings of every stage that takes any: the profile's, and over them `own`, by table name."""
    named = {stage.table for stage in stages} & set(declared)
    return {table: {**declared[table]().model_dump(), **own.get(table, {})} for table in sorted(named)}


def run_config_of(settings: Settings) -> dict[str, Any]:
    """The settings as run configuration, spelled out, so that the run's page shows them."""
    ops = {table.replace("/", "__"): {"config": dict(config)} for table, config in settings.items()}
    return {"ops": ops, "loggers": {"console": {}}}


def last_of(instance: dg.DagsterInstance, stage: Stage) -> Last | None:
    """The last materialization of a stage, if there is any."""
    record = next(iter(instance.fetch_materializations(stage.key, limit=1).records), None)
    if record is None or record.asset_materialization is None:
        return None
    made, run = record.asset_materialization, instance.get_run_by_id(record.run_id)
    config: Any = run.run_config if run is not None else {}
    stated = config.get("ops", {}).get(stage.table.replace("/", "__"), {}).get("config")
    inputs = {parent: _version_then(instance, parent, record) for parent in stage.parents}
    code_version = (made.tags or {}).get(CODE_VERSION, "")
    checks = _checks(instance, record.run_id, stage)
    return Last(record.run_id, version_in(made), code_version, inputs, stated, checks)


def _version_then(instance: dg.DagsterInstance, parent: dg.AssetKey, child: dg.EventLogRecord) -> str:
    """The version of a parent that a materialization was made from.

    Dagster notes it, but for a parent that is cut by leaves: of that, what was the last before.
    """
    earlier = dg.AssetRecordsFilter(asset_key=parent, before_storage_id=child.storage_id)
    record = next(iter(instance.fetch_materializations(earlier, limit=1).records), None)
    if record is None or record.asset_materialization is None:
        return ""
    made, noted = record.asset_materialization, child.asset_materialization
    tags = noted.tags if noted is not None and noted.tags else {}
    return version_in(made) if made.partition else tags.get(f"{INPUT_VERSION}{parent.to_user_string()}", "")


def _checks(instance: dg.DagsterInstance, run_id: str, stage: Stage) -> dict[str, bool]:
    asked = {}
    for event in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION):
        found = event.get_dagster_event().asset_check_evaluation_data
        if found.asset_key == stage.key:
            asked[found.check_name] = found.passed or found.severity is not dg.AssetCheckSeverity.ERROR
    return asked


def reason_to_make(stage: Stage, last: Mapping[dg.AssetKey, Last | None], settings: Settings, lake: Lake) -> str | None:
    """Why a stage must be made, or None where what is there still holds."""
    found = last[stage.key]
    if found is None:
        return "never made"
    if not lake.exists(stage.table):
        return "its table is gone"
    if found.code_version != stage.code_version:
        return "its code changed"
    if stage.table in settings and _plain(found.settings) != _plain(settings[stage.table]):
        return "its settings changed" if found.settings is not None else "its settings are not on record"
    for parent in stage.parents:
        made = last.get(parent)
        if made is None or found.inputs[parent] != made.version:
            return f"{parent.to_user_string()} changed"
    if broken := sorted(name for name in stage.checks if not found.checks.get(name, False)):
        return f"its check {broken[0]} has not passed"
    return None


def next_round(stages: Sequence[Stage], reasons: Mapping[dg.AssetKey, str | None]) -> list[dg.AssetKey]:
    """What can be made now without making anything twice.

    A stage that holds but lies behind one that is made may hold still afterwards, if the new version is the old one:
    neither it nor what lies behind it is made before that is known.

    Args:
        stages: in pipeline order.
        reasons: why each must be made, or None.
    """
    now: list[dg.AssetKey] = []
    later: set[dg.AssetKey] = set()
    for stage in stages:
        behind_unknown = any(parent in later for parent in stage.parents)
        behind_made = any(parent in now for parent in stage.parents)
        if behind_unknown or (behind_made and reasons[stage.key] is None):
            later.add(stage.key)
        elif reasons[stage.key] is not None:
            now.append(stage.key)
    return now


def _plain(settings: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """As JSON has it, so that what was read back compares equal."""
    plain: dict[str, Any] | None = json.loads(json.dumps(settings, default=str))
    return plain
