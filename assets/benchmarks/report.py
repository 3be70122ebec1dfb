"""The report: one self-contained HTML page about a whole run of the factory.

Every number on it comes from the lake or from what the event log recorded of a stage. A section whose tables are not
there says what to materialize instead. The page has no clock and no path in it: the same state gives the same page.
"""

from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from assets.benchmarks.data_sections import COVERAGE, FUNNEL, TASKS
from assets.benchmarks.episode_samples import SAMPLES
from assets.benchmarks.html import Made, Section, Sources, missing, tag, text
from assets.benchmarks.score_sections import DIFFERENCES, GAINS, KINDS, RESULTS, SCORES, headline
from assets.benchmarks.training_sections import AGAIN, CURVES, FRONTIER, LINEAGE

__all__ = ["PAGE", "SECTIONS", "Made", "Page", "Sources", "build_page"]

PAGE: Final = "report.html"
STYLE: Final = Path(__file__).with_name("report.css")
SECTIONS: Final = (SCORES, DIFFERENCES, KINDS, SAMPLES, FUNNEL, COVERAGE, TASKS, FRONTIER, CURVES, LINEAGE, AGAIN)


class Page(NamedTuple):
    """The page and what is on it."""

    html: str
    sections: pl.DataFrame
    """section, title, written, missing (tables)."""


def build_page(sources: Sources) -> Page:
    """Write the page from what there is."""
    absent = {s.anchor: [table for table in s.needs if not sources.lake.exists(table)] for s in SECTIONS}
    body = "".join(_section(section, sources, absent[section.anchor]) for section in SECTIONS)
    links = (tag("a", text(section.title), href=f"#{section.anchor}") for section in SECTIONS)
    top = tag("header", tag("h1", "From raw queries to a better policy"), _lead(sources), tag("nav", *links))
    foot = tag("footer", text("Made by Loopwright from its lake and event log; nothing on this page is fetched."))
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head += tag("title", "Loopwright report") + f"<style>{STYLE.read_text(encoding='utf-8')}</style>"
    page = f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{top}{tag("main", body)}{foot}</body></html>\n'
    sections = pl.DataFrame(
        {
            "section": [section.anchor for section in SECTIONS],
            "title": [section.title for section in SECTIONS],
            "written": [not absent[section.anchor] for section in SECTIONS],
            "missing": [", ".join(absent[section.anchor]) for section in SECTIONS],
        }
    )
    return Page(page, sections)


def _section(section: Section, sources: Sources, absent: list[str]) -> str:
    body = missing(absent) if absent else section.build(sources)
    return tag("section", tag("h2", text(section.title)), body, id=section.anchor)


def _lead(sources: Sources) -> str:
    """What this is in one sentence, and the scores at a glance where they were measured."""
    said = "What one run of the factory made of a log, what its policies can do on tasks they never saw, and how "
    lead = tag("p", text(f"{said}sure that is."), kind="lead")
    measured = sources.lake.exists(RESULTS) and sources.lake.exists(GAINS)
    return lead + (headline(sources) if measured else missing([RESULTS]))
