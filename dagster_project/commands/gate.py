"""`loopwright gate`: puts tasks of a file, imported ones for example, through the gate, and says what failed."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from polars.exceptions import PolarsError
from pydantic import ValidationError

from assets.tasks.admission import Admission, admit, quarantine_frame, report_frame
from dagster_project import profiles
from dagster_project.commands.console import clear_errors, say
from environments.gate.run import Setting, Thoroughness
from environments.task import Task
from environments.verifiers.composed import verifier_for
from environments.worlds.catalogue import world_maker
from training.trajectories import read_tasks, tasks_frame

SHOWN = 20


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
        read = list({t.task_id: t for t in tasks_in(tasks)}.values())
        worlds = partial(world_maker, folder=folder or profiles.tau2_folder())
        setting = Setting(verifier_for(read), out / "findings.db", make_world=worlds)
        found = admit(read, setting, Thoroughness(sample, everything), workers=workers)
        tasks_frame(found.admitted).write_parquet(out / "admitted.parquet")
        quarantine_frame(read, found.rejected).write_parquet(out / "quarantine.parquet")
        report_frame(read, found.findings).write_parquet(out / "report.parquet")
    say(summary(read, found))


def tasks_in(path: Path) -> list[Task]:
    """The tasks of a file.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it holds no tasks, or a line is none; the message names it.
    """
    try:
        read = read_tasks(path) if path.suffix == ".parquet" else _tasks_of_lines(path)
    except (PolarsError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}; give Parquet with a column `task`, or JSON lines") from error
    if not read:
        raise ValueError(f"{path} holds no tasks")
    return read


def _tasks_of_lines(path: Path) -> list[Task]:
    read = []
    lines = path.read_text(encoding="utf-8-sig").split("\n")  # a text may hold other ends of a line
    for number, line in enumerate(lines, 1):
        try:
            read += [Task.model_validate_json(line)] if line.strip() else []
        except ValidationError as error:
            first = error.errors()[0]
            where = f" ({'.'.join(map(str, first['loc']))})" if first["loc"] else ""
            raise ValueError(f"{path}, line {number} is no task: {first['msg']}{where}") from error
    return read


def summary(tasks: list[Task], found: Admission) -> str:
    """What came of it, with the first tasks that were turned down."""
    exploits = found.exploits
    names = {t.task_id: f"  {t.group}" if t.group else "" for t in tasks}
    lines = [
        f"{len(found.admitted):,} of {len(tasks):,} tasks admitted, {len(found.rejected):,} to quarantine",
        f"cheating paid in {exploits.times:,} of {exploits.trials:,} trials (95% upper bound {exploits.upper:.4%})",
        *(f"  {r.task_id}{names[r.task_id]}  {r.check}: {r.evidence[:240]}" for r in found.rejected[:SHOWN]),
    ]
    more = len(found.rejected) - SHOWN
    return "\n".join([*lines, *([f"  and {more:,} more, in quarantine.parquet"] if more > 0 else [])])
