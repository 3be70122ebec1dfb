"""`loopwright serve`: a world for others, over MCP."""

import os
import secrets
from pathlib import Path
from typing import Annotated, Final

import typer

from dagster_project import profiles
from dagster_project.commands.console import clear_errors, say
from environments.task import Task
from environments.worlds.catalogue import world_maker
from resources.lake import Lake

ADMITTED: Final = "tasks/admitted_tasks"


def serve(
    world: Annotated[str, typer.Argument(help="Name of the world: atlas, atlas_full, atlas_places, retail, ...")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 picks a free one.")] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 opens it to the network.")] = "127.0.0.1",
    task: Annotated[str | None, typer.Option(help="What sessions begin with: a task's id, or a JSON file.")] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Of tau2 (retail, airline; else the profile's) or of places.")
    ] = None,
    sessions: Annotated[int, typer.Option(min=1, help="Most clients at once; others are refused.")] = 64,
    idle: Annotated[float, typer.Option(min=0.1, help="Seconds of silence after which a session is taken back.")] = 600,
    at_once: Annotated[int, typer.Option(min=1, help="Calls side by side; more than 1 where they wait outside.")] = 1,
    owner_token: Annotated[
        Path | None,
        typer.Option(help="File with the token that opens the owner's paths (state, reset); made if it is not there."),
    ] = None,
) -> None:
    """Serve a world over MCP (streamable HTTP): each client plays in a session of its own."""
    from environments.listening import listen, run
    from environments.mcp import PATH, served_world

    with clear_errors():
        chosen = None if task is None else find_task(task, world)
        token = None if owner_token is None else read_token(owner_token)
        local = host in ("127.0.0.1", "localhost", "::1")
        served = served_world(
            world_maker(world, folder=folder or profiles.world_folder(world)),
            task=chosen, limit=sessions, idle_s=idle, at_once=at_once, token=token, local=local,
        )  # fmt: skip
        listening = listen(host, port)
    at = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}{PATH}"
    begun = f", each with task {chosen.task_id}" if chosen else ""
    say(f"world {world} at {at}: up to {sessions} sessions{begun}. Stop with Ctrl-C.")
    if chosen is not None and chosen.user is not None:
        say("the task has a user to talk with: MCP carries tools only, so the conversation is the client's business")
    run(served.app, listening)
    say("stopped")


def find_task(named: str, world: str) -> Task:
    """A task from a JSON file, or an admitted one by its id.

    Raises:
        FileNotFoundError: neither a file nor an admitted task goes by that name.
        ValueError: the file holds no task, or several, or the task is set in another world.
    """
    path = Path(named)
    try:
        found = Task.model_validate_json(path.read_text(encoding="utf-8-sig") if path.is_file() else _admitted(named))
    except ValueError as error:  # pydantic's goes over several lines
        raise ValueError(f"{named} is not one task as JSON: {str(error).splitlines()[0]}") from error
    if found.world != world:
        raise ValueError(f"task {named} is set in world {found.world!r}: loopwright serve {found.world} --task {named}")
    return found


def _admitted(task_id: str) -> str:
    import polars as pl

    lake = Lake(root=str(profiles.home() / "lake"))
    rows: list[str] = []
    if lake.exists(ADMITTED):
        rows = pl.scan_parquet(lake.path(ADMITTED)).filter(pl.col("task_id") == task_id).collect()["task"].to_list()
    if not rows:
        raise FileNotFoundError(
            f"no file and no admitted task {task_id!r} in {profiles.home()}: give a JSON file of a task, or an id "
            f"from the table {ADMITTED} (loopwright materialize makes it)"
        )
    return rows[0]


def read_token(path: Path) -> str:
    """The token in a file that only its owner can read; a new one is written where there is none.

    Raises:
        ValueError: the file is empty.
    """
    try:
        written = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if token := path.read_text(encoding="utf-8").strip():
            return token
        raise ValueError(f"{path} is empty: delete it, and a new token is written there") from None
    token = secrets.token_urlsafe(32)
    with os.fdopen(written, "w", encoding="utf-8") as file:
        file.write(token + "\n")
    return token
