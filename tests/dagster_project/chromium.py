"""Headless Chromium on Dagster's pages: nothing from outside, no error on a page, and a picture where a test fails."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.dagster_project.pages import Pages

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
OFFLINE = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
OFFLINE += ["--disable-component-update", "--disable-sync"]
PATIENCE_MS = 60_000
"""Pages on a busy machine take their time."""


def require_chromium() -> Any:
    """Playwright's entry; the test is skipped where it or the browser is missing."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium (apt-get install chromium)")
    return pytest.importorskip("playwright.sync_api").sync_playwright


@contextmanager
def chromium_on(pages: Pages, shots: Path) -> Iterator[Any]:
    """A page of the browser; when it is left, it must have shown no error and have asked nobody else."""
    outside: set[str] = set()
    errors: list[str] = []
    with require_chromium()() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OFFLINE)
        page = browser.new_context(viewport={"width": 1600, "height": 1000}).new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on(
            "request", lambda r: outside.add(r.url) if r.url.startswith("http") and pages.url not in r.url else None
        )
        page.on("pageerror", lambda error: errors.append(str(error)))
        try:
            yield page
        except BaseException:
            page.screenshot(path=shots / "failed.png")
            raise
        finally:
            browser.close()
    assert not errors
    assert not outside, "the pages need nothing from the internet"


def shots_in(folder: Path) -> Path:
    """Where pictures are kept: LOOPWRIGHT_SCREENSHOTS, else the test's own folder."""
    return Path(os.environ.get("LOOPWRIGHT_SCREENSHOTS") or folder)
