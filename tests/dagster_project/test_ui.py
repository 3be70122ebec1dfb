"""The pages in headless Chromium: the graph shows, one asset is made from the page and turns green."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from resources.lake import Lake
from resources.registry import Registry

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
OFFLINE = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
OFFLINE += ["--disable-component-update", "--disable-sync"]
ASSET = "queries/raw_queries"


class Pages(NamedTuple):
    """A running `loopwright ui`."""

    url: str
    process: "subprocess.Popen[bytes]"
    home: Path

    def ask(self, query: str) -> Any:
        """The data that Dagster's own API answers."""
        body = json.dumps({"query": query}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["data"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """`loopwright ui` on the micro profile with a state folder of its own; stopped as Ctrl-C stops it."""
    home = tmp_path_factory.mktemp("home")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", "from dagster_project.commands import app; app()", "ui", "--port", str(port)]
    environment = {**os.environ, "LOOPWRIGHT_HOME": str(home), "LOOPWRIGHT_PROFILE": "micro"}
    with (home / "ui.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        running = Pages(f"http://127.0.0.1:{port}", process, home)
        try:
            wait_for_assets(running)
            yield running
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0, (home / "ui.log").read_text()[-2000:]
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0, "the pages outlived their command"


def wait_for_assets(pages: Pages) -> None:
    """Return once the code location has loaded."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert pages.process.poll() is None, (pages.home / "ui.log").read_text()[-2000:]
        try:
            if pages.ask("{assetNodes{id}}")["assetNodes"]:
                return
        except OSError:
            pass
        time.sleep(0.3)
    raise TimeoutError((pages.home / "ui.log").read_text()[-2000:])


def latest_run(pages: Pages) -> str | None:
    """The run that made the asset last."""
    path = json.dumps(ASSET.split("/"))
    answer = pages.ask(f"{{assetNodes(assetKeys: [{{path: {path}}}]) {{assetMaterializations(limit: 1) {{runId}}}}}}")
    made = answer["assetNodes"][0]["assetMaterializations"]
    return made[0]["runId"] if made else None


def test_an_asset_is_made_from_the_page_and_turns_green(pages: Pages, tmp_path: Path) -> None:
    if CHROMIUM is None:
        pytest.skip("needs Chromium (apt-get install chromium)")
    sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright
    shots = Path(os.environ.get("LOOPWRIGHT_SCREENSHOTS") or tmp_path)
    outside: set[str] = set()
    errors: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OFFLINE)
        page = browser.new_context(viewport={"width": 1600, "height": 1000}).new_page()
        page.on(
            "request", lambda r: outside.add(r.url) if r.url.startswith("http") and pages.url not in r.url else None
        )
        page.on("pageerror", lambda error: errors.append(str(error)))
        look(page, f"{pages.url}/asset-groups", "queries", shots / "graph.png")
        look(page, f"{pages.url}/assets/{ASSET}", "raw_queries", shots / "asset_before.png")
        page.locator("button", has_text="Materialize").first.click(timeout=30_000)
        wait_until_made(pages)
        look(page, f"{pages.url}/assets/{ASSET}", "Row count", shots / "asset_raw_queries.png")
        assert page.get_by_text("Never materialized", exact=True).count() == 0
        look(page, f"{pages.url}/assets/queries/distinct_queries", "distinct_queries", shots / "asset_distinct.png")
        look(page, f"{pages.url}/asset-groups", "queries", shots / "graph_after.png")
        browser.close()
    assert not errors
    assert not outside, "the pages need nothing from the internet"
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
        assert time.monotonic() < deadline, (pages.home / "ui.log").read_text()[-2000:]
        time.sleep(0.5)
    while True:
        status = pages.ask(f'{{runOrError(runId: "{run_id}") {{... on Run {{status}}}}}}')["runOrError"]["status"]
        assert status != "FAILURE"
        if status == "SUCCESS":
            return
        assert time.monotonic() < deadline
        time.sleep(0.5)
