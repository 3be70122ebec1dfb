"""Copies what a run materialized, and from what, out of Dagster's event log into the registry.

The registry outlives Dagster's storage and answers lineage questions without it. Registering a run twice changes
nothing; inputs that an unregistered run made are registered on the way.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import dagster as dg

from resources.registry import Artefact, Registry

DATA_VERSION: Final = "dagster/data_version"
INPUT_POINTER: Final = "dagster/input_event_pointer/"


def register_run(instance: dg.DagsterInstance, run_id: str, registry: Registry) -> list[Artefact]:
    """Record every artefact of a run, in the order made; also of a run that failed half way."""
    events = instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    made = [event.asset_materialization for event in events]
    return [_register(instance, found, run_id, registry) for found in made if found is not None]


def _register(instance: dg.DagsterInstance, made: dg.AssetMaterialization, run_id: str, registry: Registry) -> Artefact:
    artefact = _artefact(made, run_id)
    upstream = []
    for record in _inputs(instance, made):
        found = record.asset_materialization
        if found is None:
            continue
        source = _artefact(found, record.run_id)
        if registry.artefact(source.key, source.data_version) is None:
            _register(instance, found, record.run_id, registry)
        upstream.append((source.key, source.data_version))
    registry.record_artefact(artefact, upstream)
    return artefact


def _inputs(instance: dg.DagsterInstance, made: dg.AssetMaterialization) -> Iterator[dg.EventLogRecord]:
    """The very materializations that this one read, by the pointers Dagster put on it."""
    for tag, pointer in sorted((made.tags or {}).items()):
        if tag.startswith(INPUT_POINTER) and pointer.isdigit():
            key = dg.AssetKey.from_user_string(tag.removeprefix(INPUT_POINTER))
            exact = dg.AssetRecordsFilter(asset_key=key, storage_ids=[int(pointer)])
            yield from instance.fetch_materializations(exact, limit=1).records


def _artefact(made: dg.AssetMaterialization, run_id: str) -> Artefact:
    shown = {name: getattr(value, "value", None) for name, value in made.metadata.items()}
    path = str(shown.get("path") or "")
    numbers = {
        name: value
        for name, value in shown.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }
    version = (made.tags or {}).get(DATA_VERSION, "")
    return Artefact(made.asset_key.to_user_string(), version, _kind(path), path, run_id, numbers)


def _kind(path: str) -> str:
    if not path:
        return "none"
    return "table" if path.endswith(".parquet") else "file" if Path(path).suffix else "folder"
