"""`loopwright pool`: what the funnel's thresholds do."""

from typing import Annotated

import polars as pl
import typer

from assets.pool.preview import Previewed, preview
from dagster_project import profiles
from dagster_project.commands.console import clear_errors, say
from dagster_project.commands.summary import columns
from resources.lake import Lake

app = typer.Typer(help="Ask about the pool.", no_args_is_help=True)


@app.command("preview")
def show(
    lexical: Annotated[float | None, typer.Option(help="Jaccard similarity at which letters are a near copy.")] = None,
    semantic: Annotated[float | None, typer.Option(help="Cosine similarity at which meanings are the same.")] = None,
) -> None:
    """Show what other thresholds would keep, by leaf, from stored similarities: nothing is run again."""
    with clear_errors():
        found = preview(Lake(root=str(profiles.home() / "lake")), lexical=lexical, semantic=semantic)
    say("\n\n".join(map(_text, found)))
    if found[-1].layer != "semantic":
        say("\nThe semantic layer stores no similarities (its setting `floor`): what it would keep of these is open.")
    elif found[0].layer == "lexical" and (unlabelled := _unlabelled(found[0])):
        say(f"\nLeft out of the semantic layer's table, for they have no label yet: {unlabelled:,}")


@app.callback()
def _pool() -> None:
    """Ask about the pool."""


def _text(found: Previewed) -> str:
    total = found.leaves.select(pl.lit("all leaves").alias("leaf"), pl.col("now", "then", "unlabelled").sum()).head(1)
    rows = [("", "now", "would be", "difference", "not labelled yet")]
    for leaf, now, then, unlabelled in pl.concat([found.leaves, total]).iter_rows():
        signed = f"{then - now:+,}" if then != now else "0"
        rows.append((leaf, f"{now:,}", f"{then:,}", signed, f"{unlabelled:,}" if unlabelled else ""))
    title = f"{found.layer.upper()} LAYER at {found.asked:g} (now {found.now:g}): queries kept, by leaf"
    unlabelled = _unlabelled(found)
    lines = [title, columns(rows if unlabelled else [row[:-1] for row in rows])]
    if unlabelled:
        lines.append(
            f"  {unlabelled:,} have no label yet: each counts under the leaf of the query that stands for it now."
        )
    if found.bounded:
        lines.append(
            f"  {found.bounded:,} queries have more similar ones than are stored: counts are near; at multiples of "
            f"{found.step:g} exact, unless a crowd or a very large group was searched by an index."
        )
    return "\n".join(lines)


def _unlabelled(found: Previewed) -> int:
    return int(found.leaves["unlabelled"].sum())
