"""Copies what a run materialized, and from what, out of Dagster's event log into the registry.

The registry outlives Dagster's storage and answers lineage questions without it. Registering a run twice changes
nothing; inputs that an unregistered run made are registered on the way.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import dagster as dg

from assets.partitions import MOST
from assets.versions import WHOLE, is_whole, version_in
from resources.registry import Artefact, Registry

INPUT_POINTER: Final = "dagster/input_event_pointer/"
INPUT_VERSION: Final = "dagster/input_data_version/"


def register_run(instance: dg.DagsterInstance, run_id: str, registry: Registry) -> list[Artefact]:
    """Record every artefact of a run, in the order made; also of a run that failed half way."""
    events = instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    return [_register(instance, record, registry) for event in events for record in _whole_records(instance, event)]


def _whole_records(instance: dg.DagsterInstance, event: dg.EventLogEntry) -> Iterator[dg.EventLogRecord]:
    """The record of an event that tells of a whole table, with its place among those of all runs.

    The records of one run do not have that: Dagster's SQLite storage keeps a file per run, with places of its own.
    """
    made = event.asset_materialization
    if made is None or not is_whole(made):
        return
    moment = dg.AssetRecordsFilter(
        asset_key=made.asset_key, after_timestamp=event.timestamp - 1, before_timestamp=event.timestamp + 1
    )
    records = instance.fetch_materializations(moment, limit=10 * MOST).records
    yield from (
        r for r in records if r.run_id == event.run_id and r.timestamp == event.timestamp and _tells_of_a_table(r)
    )


def _tells_of_a_table(record: dg.EventLogRecord) -> bool:
    return record.asset_materialization is not None and is_whole(record.asset_materialization)


def _register(instance: dg.DagsterInstance, record: dg.EventLogRecord, registry: Registry) -> Artefact:
    artefact = _artefact(record)
    upstream = []
    for source in _inputs(instance, record):
        found = _artefact(source)
        if registry.artefact(found.key, found.data_version) is None:
            _register(instance, source, registry)
        upstream.append((found.key, found.data_version))
    registry.record_artefact(artefact, upstream)
    return artefact


def _inputs(instance: dg.DagsterInstance, record: dg.EventLogRecord) -> Iterator[dg.EventLogRecord]:
    """The very materializations that this one read: by the pointers Dagster put on it, or the last before it.

    Of an input that is cut by leaves, a pointer names one leaf at most; the last that tells of the whole is meant.
    """
    made = record.asset_materialization
    tags = (made.tags if made is not None else None) or {}
    names = {
        tag.removeprefix(prefix) for tag in tags for prefix in (INPUT_POINTER, INPUT_VERSION) if tag.startswith(prefix)
    }
    for name in sorted(names):
        key, pointer = dg.AssetKey.from_user_string(name), tags.get(f"{INPUT_POINTER}{name}", "")
        if pointer.isdigit():
            exact = dg.AssetRecordsFilter(asset_key=key, storage_ids=[int(pointer)])
            found = instance.fetch_materializations(exact, limit=1).records
            if found and _tells_of_a_table(found[0]) and not found[0].partition_key:
                yield found[0]
                continue
        earlier = dg.AssetRecordsFilter(asset_key=key, before_storage_id=record.storage_id)
        last = instance.fetch_materializations(earlier, limit=MOST + 1).records
        yield from next(([one] for one in last if _tells_of_a_table(one)), [])


def _artefact(record: dg.EventLogRecord) -> Artefact:
    made = record.asset_materialization
    assert made is not None  # only records of materializations come here
    shown = {name: getattr(value, "value", None) for name, value in made.metadata.items()}
    path = str(shown.get("path") or "")
    numbers = {
        name: value
        for name, value in shown.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }
    if WHOLE in numbers:  # a leaf's own count stands where the table's is meant
        numbers["dagster/row_count"] = numbers.pop(WHOLE)
    return Artefact(made.asset_key.to_user_string(), version_in(made), _kind(path), path, record.run_id, numbers)


def _kind(path: str) -> str:
    if not path:
        return "none"
    return "table" if path.endswith(".parquet") else "file" if Path(path).suffix else "folder"
