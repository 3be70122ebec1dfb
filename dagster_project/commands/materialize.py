"""`loopwright materialize`: make some assets from the command line, on the state that the pages show."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Annotated

import dagster as dg
import typer

from assets.config import declared
from assets.keys import BY_THE_CLOCK, INTENT_TAXONOMY, table_of
from dagster_project import profiles
from dagster_project.commands.alone import alone_in
from dagster_project.commands.console import clear_errors, say, warn
from dagster_project.commands.failures import failed_checks
from dagster_project.instance import dagster_instance
from dagster_project.leaves import tags_over_leaves
from dagster_project.registration import register_run
from resources.registry import Registry

TREE = table_of(INTENT_TAXONOMY)
EXAMPLES = "'pool/lexical_survivors', '*pool/lexical_survivors' (with all it is made from), 'group:queries', '*'"


def materialize(
    selection: Annotated[str, typer.Argument(help=f"Assets, in Dagster's selection syntax: {EXAMPLES}.")],
    debug: Annotated[bool, typer.Option("--debug", help="Show Dagster's log and tracebacks.")] = False,
) -> None:
    """Make the selected assets, in order, with the active profile's settings."""
    make(selection, debug=debug)


def make(
    selection: str,
    *,
    settings: Mapping[str, Mapping[str, object]] | None = None,
    leaves: Sequence[str] = (),
    debug: bool = False,
) -> None:
    """Make the selected assets and say what was made.

    Args:
        selection: in Dagster's syntax.
        settings: of stages, by table name, over those of the profile.
        leaves: partitions of what is cut by leaves; what changes beside them is reported too. None: all.
        debug: show Dagster's log and tracebacks.

    Raises:
        typer.Exit: always, with the exit code.
    """
    with clear_errors():
        profile = profiles.active()
        from dagster_project.definitions import defs  # here, so that a bad profile is one clear line

        keys = selected(defs, selection)
    say(f"profile {profile.name}: {', '.join(key.to_user_string() for key in keys)}")
    with clear_errors(), alone_in(profiles.home()), dagster_instance() as instance:
        level = "DEBUG" if debug else "CRITICAL"
        result = run(defs, keys, instance, log_level=level, settings=settings or {}, leaves=leaves)
        made = register_run(instance, result.run_id, Registry(url=profiles.registry_url()))
    for artefact in made:
        say(f"made {artefact.key}, version {artefact.data_version}")
    for failure in failures(result):
        warn(f"loopwright: {failure}")
    raise typer.Exit(0 if result.success else 1)


def selected(defs: dg.Definitions, selection: str) -> list[dg.AssetKey]:
    """The keys that a selection names, in alphabetical order; `*` is the line, without what a schedule makes.

    Raises:
        ValueError: it does not parse, or names no asset.
    """
    graph = defs.resolve_asset_graph()
    try:
        with warnings.catch_warnings():  # Dagster's own parser calls its own beta parameter
            warnings.simplefilter("ignore", dg.BetaWarning)
            keys = dg.AssetSelection.from_string(selection).resolve(graph)
    except dg.DagsterError as error:
        raise ValueError(f"selection {selection!r}: {error}; for example {EXAMPLES}") from error
    if set(keys) == graph.get_all_asset_keys():
        keys -= set(BY_THE_CLOCK)
    if not keys:
        known = ", ".join(sorted(key.to_user_string() for key in graph.get_all_asset_keys()))
        raise ValueError(f"selection {selection!r} names no asset; there are {known}")
    return sorted(keys)


def run(
    defs: dg.Definitions,
    keys: Sequence[dg.AssetKey],
    instance: dg.DagsterInstance,
    *,
    log_level: str = "INFO",
    settings: Mapping[str, Mapping[str, object]] = {},
    leaves: Sequence[str] = (),
) -> dg.ExecuteInProcessResult:
    """Make these assets in this process; a failure is in the result, not raised."""
    made = {table_of(key) for key in keys} & set(declared)
    stated = {table: {**declared[table]().model_dump(), **settings.get(table, {})} for table in sorted(made)}
    ops = {table.replace("/", "__"): {"config": own} for table, own in stated.items()}
    tree = settings.get(TREE) or declared[TREE]().model_dump()
    by_leaf = any(defs.resolve_asset_graph().get(key).is_partitioned for key in keys)
    return defs.resolve_implicit_global_asset_job_def().execute_in_process(
        asset_selection=list(keys),
        instance=instance,
        raise_on_error=False,
        tags=tags_over_leaves(instance, str(tree.get("folder", "")), leaves) if by_leaf else {},
        run_config={"ops": ops, "loggers": {"console": {"config": {"log_level": log_level}}}},
    )


def failures(result: dg.ExecuteInProcessResult) -> list[str]:
    """One line per failed step: which, and what it raised (Dagster wraps that)."""
    lines, checks = [], failed_checks(result)
    for event in result.filter_events(lambda event: event.is_step_failure):
        if found := checks.get(event.step_key or ""):
            lines.append(found)
            continue
        error = event.step_failure_data.error
        while error is not None and error.cause is not None and (error.cls_name or "").startswith("Dagster"):
            error = error.cause
        lines.append(f"{event.step_key} failed: {error.message.strip() if error else 'no message'}")
    return lines
