"""The `loopwright` command: one module per verb or group of verbs, joined here."""

import typer

from dagster_project.commands import (
    demo,
    dropped,
    gate,
    materialize,
    pool,
    profile,
    rescore,
    serve,
    taxonomy,
    taxonomy_growth,
    ui,
)

app = typer.Typer(
    name="loopwright",
    help="From raw query logs to a better agent policy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)
app.add_typer(profile.app, name="profile")
app.add_typer(pool.app, name="pool")
taxonomy_growth.add_to(taxonomy.app)
app.add_typer(taxonomy.app, name="taxonomy")
app.command("demo")(demo.demo)
app.command("materialize")(materialize.materialize)
app.command("dropped")(dropped.dropped)
app.command("rescore")(rescore.rescore)
app.command("gate")(gate.gate)
app.command("serve")(serve.serve)
app.command("ui")(ui.ui)
