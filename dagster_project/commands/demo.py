"""`loopwright demo`: the whole line on this machine, from what is finished to its end, and what came of it."""

import errno
import importlib.util
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import dagster as dg
import typer
from sqlalchemy.exc import OperationalError

from assets import keys
from assets.queries.readers import find_files
from dagster_project import profiles
from dagster_project.commands.alone import alone_in, no_run_left_open, require_free_pool
from dagster_project.commands.console import clear_errors, warn
from dagster_project.commands.current import Stage, stages_of
from dagster_project.commands.findings import findings, too_few_tasks
from dagster_project.commands.line import Line, StageFailedError, Wish
from dagster_project.commands.progress import printing_into, screen_on
from dagster_project.commands.summary import summary
from dagster_project.instance import dagster_instance
from resources.lake import LakeError
from resources.registry import RegistryError

DATA_HALF: Final = ("queries", "taxonomy", "labels", "pool", "tasks")
"""Groups that make tasks; whether to go on is decided after them."""
EXTRAS: Final = {
    "cpu": (("faiss",), {"pool"}),
    "plot": (("matplotlib",), {"queries", "labels", "pool", "tasks", "trajectories", "sft", "frontier", "benchmarks"}),
    "train": (("torch", "transformers", "trl"), {"sft", "frontier", "policy", "benchmarks"}),
}
"""By extra: its modules, and the groups whose stages use them."""
DISK_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
STOPPED: Final = 130


def demo(
    profile: Annotated[str, typer.Option(help="Sizes; `loopwright profile list` names them.")] = "",
    logs: Annotated[
        str, typer.Option(help="Your own log: a file, folder or glob of Parquet, JSONL or CSV (also .gz, .zst).")
    ] = "",
    column: Annotated[str, typer.Option(help="With --logs: the column of the query's text.")] = "text",
    until: Annotated[str, typer.Option(help="Stop after a stage, for example `pool` or `tasks/admitted_tasks`.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Make every stage anew, also those that still hold.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")] = False,
) -> None:
    """Raw queries in, a better policy and its report out; goes on from what an earlier run finished."""
    for number in (signal.SIGINT, signal.SIGTERM):  # also where the shell ignores them
        signal.signal(number, signal.default_int_handler)
    with one_clear_error(debug=debug):
        if profile:
            profiles.choose(profile)
        own = own_log(logs, column) if logs else {}
        from dagster_project.definitions import defs  # here, so that a bad profile is one clear line

        stages = until_stage(stages_of(defs), until)
        require_installed(stages)
        with alone_in(profiles.home()), dagster_instance() as instance, no_run_left_open(instance):
            run_line(defs, stages, Wish(own, again), instance)


def run_line(defs: dg.Definitions, stages: Sequence[Stage], wish: Wish, instance: dg.DagsterInstance) -> None:
    """Make the stages and say what came of it; stops after the pool where there are too few tasks."""
    home, profile = profiles.home(), profiles.active()
    with printing_into(home / "demo.log") as out:
        screen = screen_on(out)
        screen.say(f"profile {profile.name}: {profile.description}")
        screen.say(f"state in {home}; what the stages print goes to {home / 'demo.log'}")
        line = Line(defs, stages, wish, instance, screen)
        line.tidy()
        require_free_pool(instance)
        line.say_what_holds()
        data = [s for s in stages if s.key.path[0] in DATA_HALF]
        line.make(data)
        if len(data) < len(stages) and (why := too_few_tasks(line.lake)):
            line.make([*data, *(s for s in stages if s.key == keys.REPORT)])
            screen.say(f"\n{findings(line.lake, why)}")
            return
        line.make(stages)
        if line.made:
            screen.say(f"        {line.listener.checks}")
        screen.say(f"\n{summary(line.lake, line.seconds(), {keys.table_of(key) for key in line.made})}")


def own_log(logs: str, column: str) -> dict[str, dict[str, Any]]:
    """The settings of `queries/raw_queries` for the user's own log.

    Raises:
        FileNotFoundError: nothing is there, or nothing that can be read.
    """
    place = Path(logs).expanduser().absolute()
    find_files(str(place))
    return {keys.table_of(keys.RAW_QUERIES): {"logs": str(place), "column": column}}


def until_stage(stages: Sequence[Stage], until: str) -> list[Stage]:
    """The stages up to `until` and all they are made from; all of them when it is empty.

    Raises:
        ValueError: no stage or group has that name.
    """
    wanted = {s.key for s in stages if until in ("", s.table, s.key.path[0])}
    if not wanted:
        groups = dict.fromkeys(s.key.path[0] for s in stages)
        raise ValueError(
            f"--until {until}: there is no such stage; allowed: {', '.join(groups)}, or one of "
            f"{', '.join(s.table for s in stages)}"
        )
    for stage in reversed(stages):
        if stage.key in wanted:
            wanted |= set(stage.parents)
    return [s for s in stages if s.key in wanted]


def require_installed(stages: Sequence[Stage]) -> None:
    """Say before the first stage starts what the last one will need.

    Raises:
        ValueError: naming the extra, and how far the line goes without it.
    """
    groups = {s.key.path[0] for s in stages}
    for extra, (modules, users) in EXTRAS.items():
        absent = [name for name in modules if importlib.util.find_spec(name) is None]
        if absent and groups & users:
            first = next(s.key.path[0] for s in stages if s.key.path[0] in users)
            without = "; without it: loopwright demo --until tasks" if extra == "train" else ""
            raise ValueError(f'{first} needs {", ".join(absent)}: pip install "loopwright[{extra}]"{without}')


@contextmanager
def one_clear_error(*, debug: bool) -> Iterator[None]:
    """Show any failure as one message and an exit code other than 0; with `debug` as its traceback."""
    try:
        with clear_errors(), _disk_full_said():
            yield
    except StageFailedError as error:
        warn(error.trace if debug else f"loopwright: {error}")
        warn("What was finished stays: put it right and start again. The run is on its page (loopwright ui); --debug")
        raise typer.Exit(1) from error
    except (KeyboardInterrupt, dg.DagsterExecutionInterruptedError) as stopped:
        warn("loopwright: stopped. What was finished stays; the same command goes on from there")
        raise typer.Exit(STOPPED) from stopped
    except (OSError, OperationalError, LakeError, RegistryError) as error:
        if debug:
            raise
        warn(f"loopwright: {cause_of(error)}")
        raise typer.Exit(1) from error


@contextmanager
def _disk_full_said() -> Iterator[None]:
    """What the system says of a full disk names no place; this does."""
    try:
        yield
    except (OSError, OperationalError) as error:
        if not is_disk_full(error):
            raise
        raise LakeError(
            f"no room left on the disk of {profiles.home()} ({cause_of(error)}): free some, then start again"
        ) from error


def cause_of(error: Exception) -> object:
    """The error that a driver reported, where SQLAlchemy wrapped it."""
    return error.orig if isinstance(error, OperationalError) else error


def is_disk_full(error: Exception) -> bool:
    """Whether the system or SQLite ran out of room."""
    if isinstance(error, OSError):
        return error.errno in DISK_FULL
    return "disk is full" in str(error) or "disk I/O error" in str(error)
