"""Every asset key of the factory, once, in pipeline order.

The first part of a key is the stage: its folder, its asset group, its folder in the lake and its folder of tests.
Assets depend on each other through these constants, so a typo is an import error and not a phantom asset.
"""

from typing import Final

import dagster as dg


def table_of(key: dg.AssetKey) -> str:
    """The lake's table of an asset, `stage/asset`."""
    return key.to_user_string()


RAW_QUERIES: Final = dg.AssetKey(["queries", "raw_queries"])
DISTINCT_QUERIES: Final = dg.AssetKey(["queries", "distinct_queries"])
LEXICAL_SURVIVORS: Final = dg.AssetKey(["pool", "lexical_survivors"])
INTENT_TAXONOMY: Final = dg.AssetKey(["taxonomy", "intent_taxonomy"])
QUERY_LABELS: Final = dg.AssetKey(["labels", "query_labels"])
IRRELEVANCE_SET: Final = dg.AssetKey(["labels", "irrelevance_set"])
SEMANTIC_SURVIVORS: Final = dg.AssetKey(["pool", "semantic_survivors"])
CANDIDATE_POOL: Final = dg.AssetKey(["pool", "candidate_pool"])
DROPPED: Final = dg.AssetKey(["pool", "dropped"])
COMPILED_TASKS: Final = dg.AssetKey(["tasks", "compiled_tasks"])
JUDGE_GRADES: Final = dg.AssetKey(["tasks", "judge_grades"])
ADMITTED_TASKS: Final = dg.AssetKey(["tasks", "admitted_tasks"])
SEED_TRAJECTORIES: Final = dg.AssetKey(["trajectories", "seed_trajectories"])
SEED_POLICY: Final = dg.AssetKey(["sft", "seed_policy"])
SEED_PROBES: Final = dg.AssetKey(["frontier", "seed_probes"])
REGIONS: Final = dg.AssetKey(["frontier", "regions"])
ADAPTIVE_TRAJECTORIES: Final = dg.AssetKey(["trajectories", "adaptive_trajectories"])
BOUNDARY_POLICY: Final = dg.AssetKey(["sft", "boundary_policy"])
BOUNDARY_PROBES: Final = dg.AssetKey(["frontier", "boundary_probes"])
RL_POLICY: Final = dg.AssetKey(["policy", "rl_policy"])
NIGHTLY_PROBES: Final = dg.AssetKey(["frontier", "nightly_probes"])
RESULTS: Final = dg.AssetKey(["benchmarks", "results"])
REPORT: Final = dg.AssetKey(["benchmarks", "report"])

PIPELINE: Final = (
    RAW_QUERIES,
    DISTINCT_QUERIES,
    LEXICAL_SURVIVORS,
    INTENT_TAXONOMY,
    QUERY_LABELS,
    IRRELEVANCE_SET,
    SEMANTIC_SURVIVORS,
    CANDIDATE_POOL,
    DROPPED,
    COMPILED_TASKS,
    JUDGE_GRADES,
    ADMITTED_TASKS,
    SEED_TRAJECTORIES,
    SEED_POLICY,
    SEED_PROBES,
    REGIONS,
    ADAPTIVE_TRAJECTORIES,
    BOUNDARY_POLICY,
    BOUNDARY_PROBES,
    RL_POLICY,
    RESULTS,
    REPORT,
)
"""The line: each after what it is made from."""

BY_THE_CLOCK: Final = (NIGHTLY_PROBES,)
"""What a schedule makes beside the line: it hangs on the clock and on what earlier nights recorded, so that neither a
demo nor the job `factory` makes it, and nothing on the line turns stale with it."""

BY_LEAF: Final = (
    INTENT_TAXONOMY,
    QUERY_LABELS,
    SEMANTIC_SURVIVORS,
    CANDIDATE_POOL,
    COMPILED_TASKS,
    ADMITTED_TASKS,
    SEED_TRAJECTORIES,
)
"""What is cut by leaves (`assets.partitions`), in pipeline order. A policy, its probes and the tasks chosen by them are
one thing over all leaves."""
