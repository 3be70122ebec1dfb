"""`loopwright dropped`: what became of one query."""

from typing import Annotated

import typer

from assets.pool.story import find, story, told
from dagster_project import profiles
from dagster_project.commands.console import clear_errors, say
from resources.lake import Lake

MOST = 20


def dropped(
    query: Annotated[str, typer.Argument(help="Id of a distinct query, or its text as it was said.")],
) -> None:
    """Tell the story of one query: which layer of the funnel let it go, by which rule, and who stands for it."""
    with clear_errors():
        lake = Lake(root=str(profiles.home() / "lake"))
        found = find(lake, query)
        if not found:
            raise ValueError(f"no distinct query has the id or the text {query!r}; ids are in queries/distinct_queries")
        stories = [told(lake, story(lake, query_id)) for query_id in found[:MOST]]
    say("\n\n".join(stories))
    if len(found) > MOST:
        say(f"\n{len(found) - MOST} more queries say this in another context")
