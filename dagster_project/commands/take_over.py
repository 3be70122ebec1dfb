"""`loopwright import`: tasks of other tools as tasks for the gate."""

from pathlib import Path
from typing import Annotated

import typer

from dagster_project import profiles
from dagster_project.commands.console import clear_errors, say

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
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text("".join(f"{task.model_dump_json()}\n" for task in taken.tasks), encoding="utf-8")
    say(f"{len(taken.tasks):,} tasks of {domain} in {out}; {len(taken.aside):,} not used:")
    for aside in taken.aside:
        say(f"  {aside.name}  {aside.cause}: {aside.evidence[:160]}")
