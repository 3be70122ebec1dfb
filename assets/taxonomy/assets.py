"""Taxonomy: the tree of intents as a table, one row per leaf."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from assets import keys
from assets.config import StageConfig
from assets.metadata import materialized
from assets.partitions import LEAVES, ONE_RUN
from assets.taxonomy.migration import FOLDER, MIGRATIONS, migrations_frame, read_migrations
from assets.taxonomy.stored import TREES, version_of
from assets.taxonomy.tree import default_folder, load_taxonomy
from assets.versions import reported_by_leaf
from resources.lake import Lake


class IntentTaxonomyConfig(StageConfig, stage=keys.INTENT_TAXONOMY):
    """Which tree."""

    folder: str = ""
    """Folder with one YAML file per level-1 branch; empty: the default tree (assets/taxonomy/tree)."""


@dg.asset(
    key=keys.INTENT_TAXONOMY,
    group_name="taxonomy",
    kinds={"yaml", "polars"},
    owners=["team:loopwright"],
    code_version="1",
    partitions_def=LEAVES,
    backfill_policy=ONE_RUN,
)
def intent_taxonomy(
    context: dg.AssetExecutionContext, config: IntentTaxonomyConfig, lake: Lake
) -> Iterator[dg.MaterializeResult]:
    """The intents that a query can have: definition, examples, counter-examples, and a hash of what each means."""
    folder = Path(config.folder).expanduser() if config.folder else default_folder()
    taxonomy = load_taxonomy(folder)
    lake.write(MIGRATIONS, migrations_frame(read_migrations(folder / FOLDER)))
    real = taxonomy.real()
    numbers: dict[str, float | int | str] = {
        "version": version_of(taxonomy),
        "level_1": len({leaf.levels[0] for leaf in real}),
        "level_2": len({leaf.levels for leaf in real}),
        "leaves": len(real),
        "others": len(taxonomy.leaves) - len(real),
        "examples": sum(len(leaf.examples) for leaf in real),
    }
    outline = "\n".join(f"- `{leaf.id}` {leaf.name_en} / {leaf.name_zh}" for leaf in real)
    table = taxonomy.table()
    if lake.exists(TREES, version_of(taxonomy)):  # its labels hold under other names too
        lake.write(TREES, table, version_of(taxonomy))
    result = materialized(lake, "taxonomy/intent_taxonomy", table, numbers=numbers, note=outline)
    meaning = table.select("leaf", "leaf_hash", node="leaf")  # what a name says of a leaf changes no label
    yield from reported_by_leaf(context, lake, result, meaning, "node")
