"""What the pages for readers say about the tree is true: links lead somewhere, the graph shows every asset."""

import re
from pathlib import Path

import pytest

from assets import keys
from dagster_project.commands import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMED = re.compile(r"`((?:assets|resources|training|environments|dagster_project|tests|docs)/[\w./-]+)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_named_files_are_there(page: Path) -> None:
    said = page.read_text(encoding="utf-8")
    links = {link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", said) if not link.startswith("http")}
    assert not [link for link in links if link and not (page.parent / link).exists()]
    written_later = {"docs/benchmarks.md"}
    assert not [name for name in NAMED.findall(said) if not (ROOT / name).exists() and name not in written_later]


def test_the_picture_of_the_graph_shows_every_asset_and_no_other() -> None:
    drawn = re.findall(r'class="t"[^>]*>(\w+)<', (ROOT / "docs" / "graph.svg").read_text(encoding="utf-8"))
    assert sorted(drawn) == sorted(key.path[-1] for key in (*keys.PIPELINE, *keys.BY_THE_CLOCK))


def test_the_readme_names_every_command_and_only_those() -> None:
    said = (ROOT / "README.md").read_text(encoding="utf-8") + (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    commands = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    assert commands >= set(re.findall(r"`loopwright (\w+)", said))
    assert all(name in said for name in commands if name)
