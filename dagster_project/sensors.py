"""What follows from a run or from a change: artefacts go into the registry; a changed tree shows its plan and waits."""

import time
import warnings
from datetime import UTC, datetime
from typing import Final

import dagster as dg

from assets import keys
from assets.partitions import BESIDE, LEAVES, partition_of_each
from assets.taxonomy.approval import APPROVED, approved
from assets.taxonomy.stored import version_of
from assets.taxonomy.tree import Taxonomy
from dagster_project import profiles
from dagster_project.jobs import plan_tree_change, rebuild_leaves, rename_leaves
from dagster_project.registration import register_run
from dagster_project.tree_changes import LABELS, WAITING, gone_on_from, in_force, waiting, what_a_plan_is_for
from dagster_project.trees import configured_folder, tree_named
from resources.lake import Lake, content_hash
from resources.registry import Registry, RegistryError

warnings.filterwarnings("ignore", "Parameter `owners`", dg.BetaWarning)  # which the decorator itself passes on
Requests = list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest]
ENDED: Final = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
AT_ONCE: Final = 50
"""Runs registered in one tick."""
SETTLED_S: Final = 10.0
"""Seconds after which the books show every run that ended before."""


@dg.sensor(minimum_interval_seconds=10, default_status=dg.DefaultSensorStatus.RUNNING)
def register_ended_runs(context: dg.SensorEvaluationContext, registry: Registry) -> dg.SkipReason:
    """Record in the registry what every run that ended materialized, and from what.

    Not Dagster's own sensor on the status of runs: that one passes over what ended before its first tick.
    """
    since = datetime.fromtimestamp(float(context.cursor or 0), UTC)
    ended = context.instance.get_run_records(
        dg.RunsFilter(statuses=ENDED, updated_after=since), limit=AT_ONCE, order_by="update_timestamp", ascending=True
    )
    for record in ended:
        run_id = record.dagster_run.run_id
        try:
            made = register_run(context.instance, run_id, registry)
            context.log.info("registered %d artefacts of run %s", len(made), run_id)
        except RegistryError as error:  # the runs after it are registered all the same
            context.log.error("run %s is not registered: %s", run_id, error)
    if ended:  # what was written a moment ago may not be all there yet: registering twice changes nothing
        context.update_cursor(str(min(ended[-1].update_timestamp.timestamp(), time.time() - SETTLED_S)))
    return dg.SkipReason(f"{len(ended)} runs had ended")


@dg.sensor(
    jobs=[plan_tree_change, rebuild_leaves, rename_leaves],
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
def tree_change(context: dg.SensorEvaluationContext, lake: Lake) -> dg.SensorResult:
    """Keep the partitions those of the tree; show what a change would do, and do it when it is approved.

    Approved is a plan by `loopwright taxonomy apply --approve-only`, or beforehand by the profile
    (`apply_tree_changes = true`). Other names alone need no approval: the tree is read again, and no label is touched.
    """
    tree = tree_named(lake, str(configured_folder()))
    partitions = sorted(set(partition_of_each(leaf.id for leaf in tree.leaves).values()))
    known = context.instance.get_dynamic_partitions(str(LEAVES.name))
    requests: Requests = []
    if new := [key for key in partitions if key not in known]:
        requests.append(LEAVES.build_add_request(new))
    if not lake.exists(LABELS):
        return _waits("nothing is labelled yet", requests)
    labels = lake.scan(LABELS).select("annotator").head(1).collect()
    after = version_of(tree)
    if version_of(in_force(lake, labels)) == after:
        if gone := [key for key in known if key not in partitions]:
            requests.append(LEAVES.build_delete_request(gone))
        return _of_this_tree(lake, tree, partitions[0], requests)
    before = version_of(gone_on_from(lake, labels, tree))
    plan, made_for = waiting(lake), what_a_plan_is_for(lake)
    if plan is None or (plan["before"], plan["after"], plan["made_for"]) != (before, after, made_for):
        shows = dg.RunRequest(run_key=f"plan {before} {after} {made_for}", job_name=plan_tree_change.name)
        return dg.SensorResult([shows], dynamic_partitions_requests=requests)
    given, beforehand = approved(lake), profiles.active().apply_tree_changes
    if not beforehand and (given is None or given.plan != plan["plan"]):
        return _waits(f"plan {plan['plan']} waits for `loopwright taxonomy apply --approve-only`", requests)
    if requests:
        return _waits("the leaves are made known first", requests)
    first, *others = plan["leaves"]
    said = lake.path(WAITING if beforehand else APPROVED).stat().st_mtime  # approved again, it is tried again
    does = dg.RunRequest(
        run_key=f"rebuild {plan['plan']} {said}",
        job_name=rebuild_leaves.name,
        partition_key=first,
        tags={BESIDE: ",".join(others)},
    )
    return dg.SensorResult([does])


def _of_this_tree(lake: Lake, tree: Taxonomy, partition: str, requests: Requests) -> dg.SensorResult:
    """Nothing to do for the labels; where the lake's tree has other names than the files, it is read again."""
    table, stored = tree.table(), keys.table_of(keys.INTENT_TAXONOMY)
    if lake.read(stored).equals(table):
        return _waits("the labels are of this tree", requests)
    state = f"names {content_hash(table.lazy())} {lake.path(stored).stat().st_mtime_ns}"
    named = dg.RunRequest(run_key=state, job_name=rename_leaves.name, partition_key=partition)
    return dg.SensorResult([named], dynamic_partitions_requests=requests)


def _waits(why: str, requests: Requests) -> dg.SensorResult:
    return dg.SensorResult(skip_reason=dg.SkipReason(why), dynamic_partitions_requests=requests)


SENSORS: Final = [register_ended_runs, tree_change]
