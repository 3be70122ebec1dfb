"""The pages in headless Chromium: the graph shows, one asset is made from the page and turns green."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from resources.lake import Lake
from resources.registry import Registry
from tests.dagster_project.chromium import chromium_on, shots_in
from tests.dagster_project.pages import Pages, running_pages

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ASSET = "queries/raw_queries"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """`loopwright ui` on the micro profile with a state folder of its own."""
    with running_pages(tmp_path_factory.mktemp("home")) as running:
        yield running


def latest_run(pages: Pages) -> str | None:
    """The run that made the asset last."""
    path = json.dumps(ASSET.split("/"))
    answer = pages.ask(f"{{assetNodes(assetKeys: [{{path: {path}}}]) {{assetMaterializations(limit: 1) {{runId}}}}}}")
    made = answer["assetNodes"][0]["assetMaterializations"]
    return made[0]["runId"] if made else None


def test_an_asset_is_made_from_the_page_and_turns_green(pages: Pages, tmp_path: Path) -> None:
    shots = shots_in(tmp_path)
    with chromium_on(pages, shots) as page:
        look(page, f"{pages.url}/asset-groups", "queries", shots / "graph.png")
        look(page, f"{pages.url}/assets/{ASSET}", "raw_queries", shots / "asset_before.png")
        page.locator("button", has_text="Materialize").first.click(timeout=30_000)
        wait_until_made(pages)
        look(page, f"{pages.url}/assets/{ASSET}", "Row count", shots / "asset_raw_queries.png")
        assert page.get_by_text("Never materialized", exact=True).count() == 0
        look(page, f"{pages.url}/assets/queries/distinct_queries", "distinct_queries", shots / "asset_distinct.png")
        look(page, f"{pages.url}/asset-groups", "queries", shots / "graph_after.png")
    assert all(path.stat().st_size > 10_000 for path in shots.glob("*.png"))


def test_what_the_page_made_is_registered_without_being_asked(pages: Pages) -> None:
    registry = Registry(url=f"sqlite:///{pages.home / 'registry.db'}")
    deadline = time.monotonic() + 90
    while (made := registry.artefact(ASSET)) is None:
        assert time.monotonic() < deadline, "the daemon's sensor registered nothing"
        time.sleep(1)
    assert made.run_id == latest_run(pages)
    assert made.numbers["dagster/row_count"] == len(Lake(root=str(pages.home / "lake")).read(ASSET))


def look(page: Any, url: str, expected: str, shot: Path) -> None:
    """Open a page, wait for a word on it, and keep a picture."""
    page.goto(url)
    page.get_by_text(expected, exact=False).first.wait_for(timeout=60_000)
    page.wait_for_timeout(1_500)
    page.screenshot(path=shot)


def wait_until_made(pages: Pages) -> None:
    """Return once the asset's run ended well."""
    deadline = time.monotonic() + 180
    while (run_id := latest_run(pages)) is None:
        assert time.monotonic() < deadline, pages.said()
        time.sleep(0.5)
    while True:
        status = pages.ask(f'{{runOrError(runId: "{run_id}") {{... on Run {{status}}}}}}')["runOrError"]["status"]
        assert status != "FAILURE"
        if status == "SUCCESS":
            return
        assert time.monotonic() < deadline
        time.sleep(0.5)
