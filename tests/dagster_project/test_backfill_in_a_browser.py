"""A leaf was split: the pages show which leaves wait, and a backfill launched there makes those and no other."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.dagster_project.chromium import chromium_on, require_chromium, shots_in
from tests.dagster_project.factories import APPEAR, Factory, changed_too, known_leaves, last_made, leaves_by_status
from tests.dagster_project.pages import Pages, running_pages
from tests.taxonomy.folders import WEATHER

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TABLE, AFTER_IT = "pool/semantic_survivors", "pool/candidate_pool"
GROUP = "locations/dagster_project.definitions/asset-groups/pool"
PATIENCE_MS = 240_000
"""For a backfill: the daemon looks every half minute, and each run is a process of its own."""


@pytest.fixture(scope="module")
def factory(tmp_path_factory: pytest.TempPathFactory) -> Factory:
    require_chromium()
    made = Factory(tmp_path_factory.mktemp("backfill"))
    made.run("demo", "--until", AFTER_IT)
    return made


def test_a_backfill_from_the_page_makes_the_leaves_of_a_split_anew_and_no_other(
    factory: Factory, tmp_path: Path
) -> None:
    factory.split_weather()
    changed = changed_too(factory.run("taxonomy", "plan"))
    factory.run("taxonomy", "apply")
    with running_pages(factory.home, str(factory.profile)) as pages:
        fresh = set(known_leaves(pages, TABLE)) - APPEAR - changed
        for table in (TABLE, AFTER_IT):
            assert leaves_by_status(pages, table) == {"FRESH": fresh, "STALE": changed, "MISSING": APPEAR}, table
        assert changed, "the split changes a leaf that stays"
        assert WEATHER not in fresh
        before = {table: last_made(pages, table) for table in (TABLE, AFTER_IT)}
        with chromium_on(pages, shots_in(tmp_path)) as page:
            share = f"{100 * (len(fresh) + len(changed)) // (len(fresh) + len(changed) + len(APPEAR))}% filled"
            see_what_waits(page, pages, share, changed)
            backfill = launch_backfill(page, pages)
            wait_for_backfill(page, pages, backfill)
            page.goto(f"{pages.url}/assets/{TABLE}?view=partitions")
            page.get_by_text("Missing (0)").wait_for()
        after = last_made(pages, TABLE)
        again = {leaf for leaf, when in after.items() if when != before[TABLE].get(leaf)}
        assert again == APPEAR | changed, "what was stale is made with what was missing"
        assert leaves_by_status(pages, TABLE) == {"FRESH": fresh | again}
        assert last_made(pages, AFTER_IT) == before[AFTER_IT], "what was not asked for waits"
        assert leaves_by_status(pages, AFTER_IT) == {"FRESH": fresh, "STALE": changed, "MISSING": APPEAR}


def see_what_waits(page: Any, pages: Pages, share: str, changed: set[str]) -> None:
    """The graph counts the leaves that are missing and proposes what to make; a stale leaf says so on its page."""
    page.goto(f"{pages.url}/{GROUP}")
    page.get_by_text(share).first.wait_for()
    page.locator("button", has_text="Materialize all").locator("xpath=../following-sibling::*[1]").click()
    page.get_by_text("Materialize unsynced").click()
    for table in (TABLE, AFTER_IT):
        page.locator(".dagster-dialog").get_by_text(table.replace("/", " / ")).first.wait_for()
    for leaf in changed:
        page.goto(f"{pages.url}/assets/{TABLE}?view=partitions&partition={leaf}")
        page.get_by_text("Unsynced").first.wait_for()


def launch_backfill(page: Any, pages: Pages) -> str:
    """On the asset's page: make what is missing; returns the backfill's id."""
    page.goto(f"{pages.url}/assets/{TABLE}?view=partitions")
    page.get_by_text(f"Missing ({len(APPEAR)})").wait_for()
    page.locator("button", has_text="Materialize").first.click()
    dialog = page.locator(".dagster-dialog")
    dialog.get_by_role("button", name="Missing", exact=True).click()
    dialog.get_by_text(f"{len(APPEAR)} partitions", exact=True).wait_for()
    dialog.get_by_role("button", name="Launch backfill").click()
    said: str = page.get_by_text("Created backfill").first.inner_text()
    return said.split()[2]


def wait_for_backfill(page: Any, pages: Pages, backfill: str) -> None:
    """The list of backfills shows it, and in the end that it went well."""
    page.goto(f"{pages.url}/runs?view=backfills")
    page.get_by_text(backfill, exact=True).first.wait_for()
    outcome = page.get_by_text(re.compile("^(Success|Failure|Canceled)$")).first
    outcome.wait_for(timeout=PATIENCE_MS)
    assert outcome.inner_text() == "Success"
