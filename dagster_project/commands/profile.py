"""`loopwright profile`: which profiles there are and what the active one sets."""

import json

import typer

from assets import keys
from assets.config import declared
from dagster_project import profiles
from dagster_project.commands.console import clear_errors, say

app = typer.Typer(help="Show profiles: which resources, which sizes.", no_args_is_help=True)


@app.command("list")
def list_profiles() -> None:
    """Name every profile; the active one carries a star."""
    with clear_errors():
        active = profiles.active().name
        for name in profiles.names():
            say(f"{'*' if name == active else ' '} {name:8} {profiles.load(name).description}")


@app.command()
def show(name: str = typer.Argument("", help="A profile; the active one when none is named.")) -> None:
    """Print what a profile resolves to: resources, and the settings of every stage with its defaults."""
    with clear_errors():
        profile = profiles.choose(name) if name else profiles.active()
        import dagster_project.definitions  # noqa: F401  (declares the stages, with this profile's sizes)

        say(f"# profile {profile.name}: {profile.description}")
        say(f"home = {json.dumps(str(profiles.home()))}\nregistry = {json.dumps(profiles.shown_registry())}")
        _say_table("trainer", profile.trainer.model_dump())
        _say_table("teacher", profile.teacher.model_dump())
        _say_table("judge", profile.judge.model_dump())
        _say_table("nightly", profile.nightly.model_dump())
        for stage in filter(declared.__contains__, map(keys.table_of, (*keys.PIPELINE, *keys.BY_THE_CLOCK))):
            _say_table(stage.replace("/", "."), declared[stage]().model_dump())


def _say_table(title: str, settings: dict[str, object]) -> None:
    say(f"\n[{title}]")
    for key, value in settings.items():
        say(f"{key} = {json.dumps(value, ensure_ascii=False, default=str)}")
