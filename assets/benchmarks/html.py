"""Building blocks of the report page: escaped text, tables, captions. Plain HTML, no script, nothing fetched."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from resources.lake import Lake


class Made(NamedTuple):
    """What the event log knows of the latest materialization of one stage."""

    version: str
    """Data version."""
    numbers: Mapping[str, Any]
    """Numbers that the stage reported, by name."""
    settings: Mapping[str, Any]
    """Run configuration of the stage, as far as the run stated it."""


class Sources(NamedTuple):
    """Where every number of the page comes from."""

    lake: Lake
    made: Mapping[str, Made]
    """By table name; a stage that was never materialized is absent."""

    def number(self, table: str, name: str) -> float | None:
        """A number that a stage reported, if it did."""
        found = self.made[table].numbers.get(name) if table in self.made else None
        return float(found) if isinstance(found, int | float) else None


class Section(NamedTuple):
    """One part of the page."""

    anchor: str
    title: str
    needs: tuple[str, ...]
    """Tables without which it cannot be written."""
    build: Callable[[Sources], str]
    """Its body."""


def text(value: object) -> str:
    """Any value as escaped text; nothing for None."""
    return "" if value is None else escape(str(value))


def tag(name: str, *children: str, **attributes: str) -> str:
    """An element; `kind` is its class, and children are HTML already."""
    named = {("class" if key == "kind" else key.replace("_", "-")): value for key, value in attributes.items()}
    inside = "".join(f' {key}="{escape(value)}"' for key, value in named.items())
    return f"<{name}{inside}>{''.join(children)}</{name}>"


def prose(*sentences: str) -> str:
    """A paragraph of escaped sentences."""
    return tag("p", text(" ".join(sentences)))


def note(*sentences: str) -> str:
    """A paragraph in the small print."""
    return tag("p", text(" ".join(sentences)), kind="note")


def figure(drawing: str, caption: str) -> str:
    """A drawing with what it shows."""
    return tag("figure", drawing, tag("figcaption", text(caption)))


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, words: Iterable[int] = (0,)) -> str:
    """A table; columns are right-aligned numbers except those listed in `words`. Cells that start with `<` are HTML."""
    left = set(words)
    top = "".join(tag("th", text(name), kind=_side(i in left), scope="col") for i, name in enumerate(head))
    body = "".join(
        tag("tr", *(tag("td", _cell(cell), kind=_side(i in left)) for i, cell in enumerate(row))) for row in rows
    )
    return tag("div", tag("table", tag("thead", tag("tr", top)), tag("tbody", body)), kind="wide")


def details(summary: str, body: str) -> str:
    """Something that opens on a click."""
    return tag("details", tag("summary", text(summary)), body)


def missing(tables: Sequence[str]) -> str:
    """What a section says when its tables are not there."""
    commands = " ".join(f"'+{name}'" for name in tables)
    named = ", ".join(tables)
    return tag(
        "p",
        text(f"Not there yet: {named}. "),
        text("Materialize it on the Dagster page, or type "),
        tag("code", text(f"loopwright materialize {commands}")),
        text("."),
        kind="missing",
    )


def count(value: float | None) -> str:
    """A count with thousands separators; a dash when there is none."""
    return "–" if value is None else f"{value:,.0f}"


def share(value: float | None) -> str:
    """A share in per cent."""
    return "–" if value is None else f"{100 * value:.1f}%"


def rate(value: float | None) -> str:
    """A score between 0 and 1."""
    return "–" if value is None else f"{value:.3f}"


def shaded(value: float | None) -> str:
    """A score on a tint that grows with it."""
    if value is None:
        return "–"
    tint = f"background:color-mix(in srgb, var(--a) {45 * value:.0f}%, transparent)"
    return tag("span", text(rate(value)), kind="shade", style=tint)


def signed(value: float) -> str:
    """A difference, with its sign."""
    return f"{value:+.3f}".replace("-", "−")


def interval(low: float, high: float, *, sign: bool = False) -> str:
    """A 95% interval."""
    show = signed if sign else rate
    return f"[{show(low)}, {show(high)}]"


def _side(word: bool) -> str:
    return "word" if word else "figure"


def _cell(cell: object) -> str:
    return cell if isinstance(cell, str) and cell.startswith("<") else text(cell)
