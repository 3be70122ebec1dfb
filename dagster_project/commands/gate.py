"""`loopwright gate`: puts tasks of a file, imported ones for example, through the gate, and says what failed."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from polars.exceptions import PolarsError

from assets.tasks.admission import Admission, admit, quarantine_frame, report_frame
from dagster_project import profiles
from dagster_project.commands.console import clear_errors, say, warn
from environments.formats.task_file import TaskFile, in_worlds, read_records, texts_in
from environments.gate.run import Setting, Thoroughness
from environments.rollout import MakeWorld
from environments.task import Task
from environments.verifiers.composed import verifier_for
from training.trajectories import tasks_frame

SHOWN = 20
_REFUSED = {"number": pl.Int64, "field": pl.String, "problem": pl.String}


def gate(
    tasks: Annotated[Path, typer.Argument(help="Parquet with a column `task`, or JSON lines, one task each.")],
    out: Annotated[Path, typer.Option(help="Folder for admitted, quarantine, report, and what was found so far.")],
    workers: Annotated[int, typer.Option(help="Processes side by side.", min=1)] = 2,
    sample: Annotated[int, typer.Option(help="Tasks of each family that are examined deeply.", min=0)] = 10,
    everything: Annotated[bool, typer.Option("--everything", help="Examine all of them deeply.")] = False,
    folder: Annotated[
        Path | None, typer.Option(help="The tau2 folder of retail and airline; else LOOPWRIGHT_TAU2 or the profile's.")
    ] = None,
) -> None:
    """Examine every task: gold, resets, cheating, attacks, leakage. A run that was killed goes on where it was."""
    with clear_errors():
        worlds = profiles.world_folders(folder)
        given = in_worlds(task_file(tasks), partial(_problem_of, worlds.maker))
        if not given.records:
            raise ValueError(_nothing(tasks, given))
        read = given.tasks
        setting = Setting(verifier_for(read), out / "findings.db", make_world=worlds.maker)
        found = admit(read, setting, Thoroughness(sample, everything), workers=workers)
        tasks_frame(found.admitted).write_parquet(out / "admitted.parquet")
        quarantine_frame(read, found.rejected).write_parquet(out / "quarantine.parquet")
        report_frame(read, found.findings).write_parquet(out / "report.parquet")
        pl.DataFrame(given.refused, schema=_REFUSED, orient="row").write_parquet(out / "refused.parquet")
    say(summary(read, found))
    if given.refused:
        warn(refused_text(tasks, given))
        raise typer.Exit(1)


def _problem_of(worlds: Callable[[str], MakeWorld], name: str) -> str | None:
    """Why a world cannot be opened, or None."""
    try:
        worlds(name)
    except (ValueError, FileNotFoundError) as error:
        return str(error)
    return None


def task_file(path: Path) -> TaskFile:
    """What a file of tasks holds, and what in it is none.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it is no file of tasks at all.
    """
    try:
        return read_records(enumerate(_texts(path), 1))
    except (PolarsError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}; give Parquet with a column `task`, or JSON lines") from error


def tasks_in(path: Path) -> list[Task]:
    """The tasks of a file; those that cannot be used are named on stderr and left out.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it holds no tasks; the message names what it holds instead.
    """
    found = task_file(path)
    if not found.records:
        raise ValueError(_nothing(path, found))
    if found.refused:
        warn(refused_text(path, found))
    return found.tasks


def _nothing(path: Path, found: TaskFile) -> str:
    return f"{path} holds no tasks" + (f" that can be used:\n{refused_text(path, found)}" if found.refused else "")


def refused_text(path: Path, found: TaskFile) -> str:
    """Each record that was refused, in a line: file, line or row, field, and what is wrong with it."""
    unit = "row" if path.suffix == ".parquet" else "line"
    lines = [f"{path}, {unit} {r.number}{f', {r.field}' if r.field else ''}: {r.problem}" for r in found.refused]
    more = len(lines) - SHOWN
    return "\n".join([*lines[:SHOWN], *([f"and {more:,} more"] if more > 0 else [])])


def _texts(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        return pl.read_parquet(path, columns=["task"])["task"].fill_null("null").to_list()
    return texts_in(path.read_text(encoding="utf-8-sig"))


def summary(tasks: list[Task], found: Admission) -> str:
    """What came of it, with the first tasks that were turned down."""
    exploits, broken = found.exploits, found.broke_the_verifier
    names = {t.task_id: f"  {t.group}" if t.group else "" for t in tasks}
    lines = [
        f"{len(found.admitted):,} of {len(tasks):,} tasks admitted, {len(found.rejected):,} to quarantine",
        f"cheating paid in {exploits.times:,} of {exploits.trials:,} trials (95% upper bound {exploits.upper:.4%})",
        *([f"the verifier broke over {broken:,} tasks: mend it, or their goals"] if broken else []),
        *(f"  {r.task_id}{names[r.task_id]}  {r.check}: {r.evidence[:240]}" for r in found.rejected[:SHOWN]),
    ]
    more = len(found.rejected) - SHOWN
    return "\n".join([*lines, *([f"  and {more:,} more, in quarantine.parquet"] if more > 0 else [])])
