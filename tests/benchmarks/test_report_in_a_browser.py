"""The report page as a reader opens it: from the file, on wide and narrow screens, in the light and in the dark."""

import os
import shutil
from pathlib import Path

import pytest

from assets.benchmarks.report import SECTIONS, Sources, build_page
from tests.benchmarks.builders import finished_lake, made

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    page = folder / "report.html"
    page.write_text(build_page(Sources(finished_lake(folder / "lake", hidden=12, training=30), made())).html)
    return page


def test_it_opens_without_a_fault_a_request_or_a_side_scroll(page_file: Path) -> None:
    if CHROMIUM is None:
        pytest.skip("needs Chromium (apt-get install chromium)")
    sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright
    shots = Path(os.environ.get("LOOPWRIGHT_SCREENSHOTS") or page_file.parent)
    faults: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for width, scheme in ((1100, "light"), (1100, "dark"), (420, "light")):
            view = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
            view.on("console", lambda message: faults.append(message.text))
            view.on("request", lambda r: faults.append(r.url) if not r.url.startswith("file:") else None)
            view.goto(page_file.as_uri())
            view.screenshot(path=shots / f"report_{scheme}_{width}.png", full_page=True)
            assert view.locator("section").count() == len(SECTIONS)
            assert view.evaluate("document.documentElement.scrollWidth") <= width
        browser.close()
    assert faults == []
