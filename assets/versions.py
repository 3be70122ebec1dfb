"""Data versions of what is not a table (a checkpoint, a report), and of each leaf of a table that is cut by leaves."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import dagster as dg
import polars as pl

from assets.labels.rules import IRRELEVANT
from assets.partitions import BESIDE, partition_of_each
from resources.lake import Digest, Lake

DATA_VERSION: Final = "dagster/data_version"
CODE_VERSION, INPUT_VERSION = "dagster/code_version", "dagster/input_data_version/"
TABLE_VERSION, LEAF_ROWS, WHOLE = "table_version", "rows_of_leaf", "table_rows"
"""On every leaf's materialization: the version of the table it is in, and the leaf's own rows. On the last of a run:
the table's rows, as Dagster's row count too, which no other leaf has: the asset's page shows that of the last event."""

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


def version_of(parts: Mapping[str, Json]) -> str:
    """Hash of what determines an artefact: consumed rows, configuration, seeds, code versions.

    Key order does not matter; keep clocks and paths out, or identical work looks like a change.

    Args:
        parts: for example `{"rows": digest, "config": config.model_dump(), "base": upstream_version}`.
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def version_in(made: dg.AssetMaterialization) -> str:
    """The version of the whole table that a materialization is of; of a leaf's too."""
    whole = made.metadata.get(TABLE_VERSION)
    return str(whole.value) if whole is not None else (made.tags or {}).get(DATA_VERSION, "")


def is_whole(made: dg.AssetMaterialization) -> bool:
    """Whether a materialization tells of a whole table, and not of one leaf only."""
    return made.partition is None or WHOLE in made.metadata


def reported_by_leaf(
    context: dg.AssetExecutionContext,
    lake: Lake,
    result: dg.MaterializeResult,
    rows: pl.DataFrame | Iterable[pl.DataFrame],
    leaf: str,
) -> Iterator[dg.MaterializeResult]:
    """Report a table of which each row belongs to a leaf: one materialization per leaf, with a version of its own.

    Reported are the leaves that the run was asked for, those whose rows changed in consequence, and those that were
    stale: the whole table was made from what is there now. So a run over one leaf says what else it did, and no leaf is
    stale after it. The last of them carries what is to be shown of the whole table, Dagster's row count among it.

    Args:
        context: of the run.
        lake: holds the tree.
        result: of the whole table, which is written.
        rows: what a leaf's version is over, or pieces of it; null leaves are those that no tool is for.
        leaf: column with each row's leaf.

    Raises:
        ValueError: a row is of a leaf that the tree in the lake does not have.

    Yields:
        What Dagster wants to have; its automatic events are followed by ours, and the last event counts.
    """
    partition_of = partition_of_each(lake.read("taxonomy/intent_taxonomy", columns=["leaf"])["leaf"])
    pieces = [rows] if isinstance(rows, pl.DataFrame) else rows
    found, was, inputs = _leaf_versions(pieces, leaf, partition_of), _tags_before(context), _Inputs(context)
    total = sum(one.rows for one in found.values())
    beside = [key for key in context.run.tags.get(BESIDE, "").split(",") if key]
    changed = [key for key in found if found[key].version != was.get(key, {}).get(DATA_VERSION)]
    stale = [key for key in was if key in found and inputs.differ(key, was[key])]
    reported = sorted({*context.partition_keys, *beside, *changed, *stale})
    yield dg.MaterializeResult()
    whole = result.data_version.value if result.data_version is not None else ""
    for key in reported:
        mine = found.get(key) or _LeafVersion(0, version_of({"leaf": "gone"}))
        shown: dict[str, Any] = {
            LEAF_ROWS: dg.MetadataValue.int(mine.rows),
            TABLE_VERSION: dg.MetadataValue.text(whole),
        }
        if key == reported[-1]:
            shown = {**(result.metadata or {}), WHOLE: dg.MetadataValue.int(total), **shown}
        context.log_event(
            dg.AssetMaterialization(
                context.asset_key, partition=key, metadata=shown, tags={DATA_VERSION: mine.version, **inputs.tags(key)}
            )
        )


class _LeafVersion(NamedTuple):
    rows: int
    version: str


def _leaf_versions(
    pieces: Iterable[pl.DataFrame], leaf: str, partition_of: Mapping[str, str]
) -> dict[str, _LeafVersion]:
    """Rows and version of every partition of the tree, the empty ones among them.

    Raises:
        ValueError: a row is of a leaf that the tree does not have.
    """
    digests: dict[str, Digest] = {}
    for rows in pieces:
        for key in {*partition_of.values()}:
            digests.setdefault(key, Digest(rows.schema))
        partition_N = _partitions(rows[leaf], partition_of)
        for key in partition_N.unique():  # one at a time: all together would be one more copy
            digests[key].add(rows.filter(partition_N == key))
    return {key: _LeafVersion(digest.count, digest.version()) for key, digest in sorted(digests.items())}


def _partitions(leaf_N: pl.Series, partition_of: Mapping[str, str]) -> pl.Series:
    """The partition of each row.

    Raises:
        ValueError: a row is of a leaf that the tree does not have.
    """
    if strange := sorted({*leaf_N.drop_nulls().unique()} - set(partition_of)):
        raise ValueError(
            f"{len(strange)} leaves of these rows are not in the tree of the lake, for example {strange[0]!r}: it "
            "changed since they were labelled; materialize labels/query_labels, and what lies between, first"
        )
    return leaf_N.fill_null(IRRELEVANT).replace_strict(partition_of, return_dtype=pl.String)


def _tags_before(context: dg.AssetExecutionContext) -> dict[str, Mapping[str, str]]:
    """What was noted of each leaf when it was last reported: its version, and those of what it was made from."""
    return {
        key: record.asset_materialization.tags or {}
        for key, record in _latest_by_partition(context.instance, context.asset_key).items()
        if record.asset_materialization is not None
    }


def _latest_by_partition(instance: dg.DagsterInstance, key: dg.AssetKey) -> dict[str, dg.EventLogRecord]:
    kind = dg.DagsterEventType.ASSET_MATERIALIZATION
    places = instance.event_log_storage.get_latest_storage_id_by_partition(key, kind)
    if not places:
        return {}
    exact = dg.AssetRecordsFilter(asset_key=key, storage_ids=list(places.values()))
    found = {record.storage_id: record for record in instance.fetch_materializations(exact, limit=len(places)).records}
    return {partition: found[place] for partition, place in places.items() if place in found}


class _Inputs:
    """What a leaf was made from: the last materialization of that leaf upstream, or of the whole where it has none."""

    def __init__(self, context: dg.AssetExecutionContext) -> None:
        spec = context.assets_def.get_asset_spec(context.asset_key)
        self.code_version = spec.code_version or ""
        self.by_leaf = {dep.asset_key: _latest_by_partition(context.instance, dep.asset_key) for dep in spec.deps}
        self.whole = {
            key: context.instance.fetch_materializations(key, limit=1).records
            for key, leaves in self.by_leaf.items()
            if not leaves
        }

    def tags(self, partition: str) -> dict[str, str]:
        """As Dagster itself writes them, so that it can tell whether the leaf is stale."""
        tags = {f"{DATA_VERSION}_is_user_provided": "true", CODE_VERSION: self.code_version}
        for key, leaves in self.by_leaf.items():
            record = leaves.get(partition) or next(iter(self.whole.get(key, [])), None)
            if record is None or record.asset_materialization is None:
                continue
            name = key.to_user_string()
            tags[f"{INPUT_VERSION}{name}"] = (record.asset_materialization.tags or {}).get(DATA_VERSION, "")
            tags[f"dagster/input_event_pointer/{name}"] = str(record.storage_id)
        return tags

    def differ(self, partition: str, before: Mapping[str, str]) -> bool:
        """Whether a leaf is made from other rows or by other code now than what was noted before."""
        now = self.tags(partition)
        return any(before.get(tag) != now[tag] for tag in now if tag.startswith((INPUT_VERSION, CODE_VERSION)))
