"""`loopwright taxonomy`: what a change of the tree does and costs, before anything runs; and doing it."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from assets.labels.book import LabelBook, kinds, tree_in_force
from assets.taxonomy.approval import approve
from assets.taxonomy.bill import bill_of
from assets.taxonomy.changes import Diff
from assets.taxonomy.migration import write_draft
from assets.taxonomy.outline import as_json, outline
from assets.taxonomy.stale import stale_in
from assets.taxonomy.stored import version_of
from dagster_project import profiles
from dagster_project.commands.alone import alone_in
from dagster_project.commands.console import clear_errors, say
from dagster_project.commands.materialize import make
from dagster_project.tree_changes import between, planned, rates_in
from dagster_project.trees import configured_folder, migrations_of, tree_named
from resources.lake import Lake
from resources.registry import Registry

app = typer.Typer(help="Change the tree: what it does, what it costs, and doing it.", no_args_is_help=True)
SELECTION = 'key:"taxonomy/intent_taxonomy" or key:"labels/query_labels" or key:"labels/irrelevance_set"'
TREE = "A folder, a git revision of one (REV:path), or a version of the book"
Before = Annotated[str, typer.Argument(help=f"{TREE}; empty: the tree that the labels are of.")]
After = Annotated[str, typer.Argument(help=f"{TREE}; empty: the folder that the profile names.")]


@app.command("diff")
def show_diff(
    before: Annotated[str, typer.Argument(help=f"{TREE}.")],
    after: Annotated[str, typer.Argument(help=f"{TREE}.")],
    write: Annotated[bool, typer.Option("--write", help="Write what must be confirmed as a draft.")] = False,
) -> None:
    """Say what happened between two trees; what ids and meanings cannot tell is proposed."""
    with clear_errors():
        lake = _lake()
        found = between(tree_named(lake, before), tree_named(lake, after), after)
        for change in found.changes:
            say(f"{change}{f'  [{change.note}]' if change.note else ''}")
        if not found.changes:
            say("nothing changed")
        if write:
            _write(found, after)
        elif found.proposed:
            say(f"\n{len(found.proposed)} to confirm: run it with --write, set `confirmed: true` in the file it writes")


@app.command("plan")
def show_plan(
    before: Before = "",
    after: After = "",
    as_data: Annotated[bool, typer.Option("--json", help="For another program.")] = False,
) -> None:
    """Say what must be labelled again, which leaves change, what becomes stale, and what it costs; nothing is run."""
    with clear_errors():
        lake = _lake()
        plan, queries, _ = planned(lake, before, after)
        priced = rates_in(lake)
        price = bill_of(len(plan.asked), plan.fresh, priced.rates)
        follows = stale_in(lake, Registry(url=profiles.registry_url()), plan)
        if as_data:
            say(json.dumps(as_json(plan, priced, price, follows), ensure_ascii=False, indent=1))
        else:
            say(outline(plan, price, bill_of(0, queries, priced.rates), follows, priced.source))


@app.command("apply")
def apply(
    after: Annotated[str, typer.Argument(help="A folder; empty: the one that the profile names.")] = "",
    approve_only: Annotated[
        bool, typer.Option("--approve-only", help="Write the approval; a later step labels.")
    ] = False,
) -> None:
    """Approve the plan from the labels' tree to the folder's, and label by it here and now."""
    with clear_errors():
        lake, folder = _lake(), Path(after).expanduser() if after else configured_folder()
        if not folder.is_dir():
            raise FileNotFoundError(
                f"{after!r} is no folder of a tree: labels are made from files (`git show` has old ones)"
            )
        plan, _, leaves = planned(lake, "", after)
        with nullcontext() if approve_only else alone_in(profiles.home()):  # what may not run now approves nothing
            given = approve(lake, plan)
        price = bill_of(len(plan.asked), plan.fresh, rates_in(lake).rates)
        say(f"plan {given.plan} approved: {price}, from tree {given.before} to {given.after}")
        if approve_only and folder.resolve() != configured_folder().resolve():
            say(f"the profile names {configured_folder()}: until it names {folder}, the pages do not act on this")
    if not approve_only:
        own = {"folder": str(folder.absolute())} if after else {}
        make(SELECTION, settings={"taxonomy/intent_taxonomy": own}, leaves=leaves)


@app.command("versions")
def versions() -> None:
    """List the versions of the tree that have labels, by annotator, the newest last, and say which is in force."""
    with clear_errors():
        lake = _lake()
        for kind in kinds(lake):
            book = LabelBook(lake, kind)
            for version in book.versions():
                page, note = book.page(version), "  in force" if version == tree_in_force(lake) else ""
                say(f"{version}  {len(page):>4} leaves  {page['rows'].sum():>10,} labels  {kind}{note}")


@app.command("show")
def show(
    version: Annotated[str, typer.Argument(help="The beginning of a version.")],
    leaf: Annotated[str, typer.Argument(help="A leaf.")],
    most: Annotated[int, typer.Option(help="Rows shown.")] = 20,
) -> None:
    """Show the labels of one leaf as they were under one version of the tree."""
    with clear_errors():
        lake = _lake()
        found = [(LabelBook(lake, kind), v) for kind in kinds(lake) for v in LabelBook(lake, kind).versions()]
        mine = [(book, v) for book, v in found if v.startswith(version)]
        if not mine:
            raise ValueError(
                f"no version begins with {version!r}; there are {', '.join(v for _, v in found) or 'none'}"
            )
        for book, full in mine:
            if leaf not in set(book.page(full)["leaf"]):
                raise ValueError(f"tree {full} has no labels of {leaf!r}; it has {', '.join(book.page(full)['leaf'])}")
            rows = book.leaf(full, leaf)
            say(f"{leaf} under tree {full} by {book.annotator}: {len(rows):,} labels")
            for query_id, second, sure in rows.head(most).select("query_id", "secondary", "confidence").iter_rows():
                say(f"  {query_id}  {sure:.2f}{f'  and {second}' if second else ''}")


@app.callback()
def _taxonomy() -> None:
    """Change the tree: what it does, what it costs, and doing it."""


def _lake() -> Lake:
    return Lake(root=str(profiles.home() / "lake"))


def _write(found: Diff, after: str) -> None:
    if not found.proposed:
        say("nothing to confirm: no file was written")
        return
    folder = migrations_of(after)
    if file := write_draft(folder, version_of(found.before), version_of(found.after), found.proposed):
        say(f"\nwrote {file}: read it, and set `confirmed: true` where it is right")
        return
    places = ", ".join(sorted({entry.where for entry in found.proposed}))
    say(f"\n{len(found.proposed)} to confirm are in {folder} already ({places}): nothing was written")
