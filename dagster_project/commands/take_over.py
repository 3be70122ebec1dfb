"""`loopwright import`: tasks of other tools as tasks for the gate."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dagster_project import profiles
from dagster_project.commands.console import clear_errors, say
from environments.task import Task

Side = Literal["train", "dev", "hidden"]
app = typer.Typer(no_args_is_help=True, help="Read tasks of other tools; what cannot be used is named with its reason.")


@app.command("tau2")
def tau2(
    domain: Annotated[str, typer.Argument(help="retail or airline.")],
    out: Annotated[Path, typer.Argument(help="JSON lines, one task each: `loopwright gate` reads them.")],
    folder: Annotated[Path | None, typer.Option(help="A tau2 folder; else LOOPWRIGHT_TAU2 or the profile's.")] = None,
    conversation: Annotated[bool, typer.Option(help="Whether a user speaks, or the instruction says it all.")] = False,
) -> None:
    """Take over a tau2 domain: facts by type, refusals with what must be looked at, each beside a twin."""
    from environments.worlds.tau2_tasks import tau2_tasks, world_of

    with clear_errors():
        world_of(domain)
        found_in = folder or profiles.tau2_folder()
        if found_in is None:
            raise ValueError("name a tau2 folder: --folder, LOOPWRIGHT_TAU2, or [worlds] tau2_folder in the profile")
        taken = tau2_tasks(domain, found_in, conversation=conversation)
        _write(out, taken.tasks)
    say(f"{len(taken.tasks):,} tasks of {domain} in {out}; {len(taken.aside):,} not used:")
    for aside in taken.aside:
        say(f"  {aside.name}  {aside.cause}: {aside.evidence[:160]}")


@app.command("harbor")
def harbor(
    folders: Annotated[list[Path], typer.Argument(help="Task folders, or folders that hold task folders.")],
    out: Annotated[Path, typer.Option(help="JSON lines, one task each: `loopwright gate` reads them.")],
    build: Annotated[bool, typer.Option(help="Build every image now, or leave that to the gate.")] = True,
    calls: Annotated[int, typer.Option(min=1, help="Calls that an agent has; Harbor bounds time only.")] = 40,
    split: Annotated[Side, typer.Option(help="Which side of the hidden line they are on.")] = "train",
) -> None:
    """Take over Harbor task folders: played in containers without a network, graded by their own tests apart."""
    from environments.formats.harbor_import import import_folders
    from environments.worlds.harbor.grounds import Grounds

    with clear_errors():
        taken = import_folders(folders, grounds=Grounds() if build else None, calls=calls, split=split)
        _write(out, taken.tasks)
    say(f"{len(taken.tasks):,} tasks in {out}; {len(taken.aside):,} not used:")
    for aside in taken.aside:
        say(f"  {aside.name}  {aside.cause}: {aside.evidence[:300]}")


def _write(out: Path, tasks: list[Task]) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join(f"{task.model_dump_json()}\n" for task in tasks), encoding="utf-8")
