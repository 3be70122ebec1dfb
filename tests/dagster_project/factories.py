"""A small factory with a tree of its own, on which the command works; and what the pages' API says of its leaves."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assets.taxonomy.migration import FOLDER
from dagster_project import profiles
from tests.dagster_project.pages import Pages
from tests.taxonomy.folders import INTO, WEATHER, copied, with_weather_split

APPEAR = {*INTO, f"{WEATHER}.other"}
"""Leaves that there are once weather is split."""
STATUS = """query($key: AssetKeyInput!, $leaf: String) { assetNodeOrError(assetKey: $key) {
  ... on AssetNode { staleStatus(partition: $leaf) } } }"""
TIMES = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
  partitionKeys assetMaterializations(limit: 2000) { partition timestamp } } } }"""


class Factory:
    """A state folder, a profile with a tree of its own, and the command on them."""

    def __init__(self, root: Path) -> None:
        self.home, self.tree, self.profile = root / "home", copied(root / "tree"), root / "own.toml"
        self.home.mkdir()
        own = f'\n[taxonomy.intent_taxonomy]\nfolder = "{self.tree}"\n'
        self.profile.write_text((profiles.PROFILES / "micro.toml").read_text(encoding="utf-8") + own, encoding="utf-8")

    def run(self, *arguments: str) -> str:
        """`loopwright ARGUMENTS`; returns what it said."""
        command = [sys.executable, "-c", "from dagster_project.commands import app; app()", *arguments]
        place = {"LOOPWRIGHT_HOME": str(self.home), "LOOPWRIGHT_PROFILE": str(self.profile), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env={**os.environ, **place}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def split_weather(self) -> None:
        """Edit the tree as a person would, and confirm the migration that the command drafts."""
        with_weather_split(self.tree)
        self.confirm()

    def confirm(self) -> None:
        """Confirm the migration that the command drafts for the tree as it is."""
        version = self.run("taxonomy", "versions").split()[0]
        self.run("taxonomy", "diff", version, str(self.tree), "--write")
        [draft] = (self.tree / FOLDER).glob("*.yaml")
        draft.write_text(draft.read_text().replace("confirmed: false", "confirmed: true"))


def until(what: Callable[[], Any], pages: Pages, seconds: float = 420) -> Any:
    """What `what` gives, as soon as it gives something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := what():
            return found
        time.sleep(1)
    raise TimeoutError(pages.said())


def status(pages: Pages, table: str, leaf: str | None = None) -> str:
    """FRESH, STALE or MISSING."""
    return str(pages.ask(STATUS, key={"path": table.split("/")}, leaf=leaf)["assetNodeOrError"]["staleStatus"])


def leaves_by_status(pages: Pages, table: str) -> dict[str, set[str]]:
    """The leaves of a table that are FRESH, STALE and MISSING."""
    leaves = known_leaves(pages, table)
    asked = " ".join(f"p{number}: staleStatus(partition: {json.dumps(leaf)})" for number, leaf in enumerate(leaves))
    query = f"query($key: AssetKeyInput!) {{ assetNodeOrError(assetKey: $key) {{ ... on AssetNode {{ {asked} }} }} }}"
    answer = pages.ask(query, key={"path": table.split("/")})["assetNodeOrError"]
    found: dict[str, set[str]] = {}
    for number, leaf in enumerate(leaves):
        found.setdefault(answer[f"p{number}"], set()).add(leaf)
    return found


def known_leaves(pages: Pages, table: str) -> list[str]:
    """The partitions of a table, in Dagster's order."""
    return list(pages.ask(TIMES, key={"path": table.split("/")})["assetNodeOrError"]["partitionKeys"])


def last_made(pages: Pages, table: str) -> dict[str, float]:
    """When each leaf of a table was last reported."""
    found = pages.ask(TIMES, key={"path": table.split("/")})["assetNodeOrError"]
    times: dict[str, float] = {}
    for event in found["assetMaterializations"]:
        leaf = str(event["partition"])
        times[leaf] = max(times.get(leaf, 0.0), float(event["timestamp"]))
    return times


def changed_too(plan: str) -> set[str]:
    """Leaves that stay and change, as the plan names them."""
    [line] = [line for line in plan.splitlines() if line.startswith("leaves that change:")]
    return set(line.split(": ", 2)[2].split(", ")) if line.count(": ") > 1 else set()
