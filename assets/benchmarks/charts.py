"""Drawings of the report page as inline SVG: they scale, follow light and dark, and are read out by their titles."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from assets.benchmarks.html import tag, text

WIDTH, LABELS, VALUES, ROW = 760, 180, 182, 30
"""Units of the drawing: whole width, room for labels on the left and for values on the right, height of a row."""
SHADES = ("a", "b", "c", "d", "e")
"""Classes that the style sheet gives a colour each."""


Place = Callable[[float], float]
"""From a value to its place on an axis, in units from the left."""


class Estimate(NamedTuple):
    """A value with its 95% interval."""

    value: float
    low: float
    high: float


def intervals(rows: Mapping[str, Sequence[Estimate]], names: Sequence[str], *, low: float = 0, high: float = 1) -> str:
    """Dots with whiskers, one row per label, one shade per name.

    Args:
        rows: by label, one estimate per name.
        names: what the estimates are.
        low: left end of the axis.
        high: right end of the axis.
    """
    left, right = LABELS, WIDTH - VALUES
    step = ROW if len(names) == 1 else 17 * len(names) + 8

    def place(value: float) -> float:
        """Units from the left; what lies beyond the axis stands at its end."""
        return left + (min(max(value, low), high) - low) / (high - low) * (right - left)

    bottom = step * len(rows) + 10
    parts = [_axis(low, high, place, bottom)]
    if low < 0 < high:
        parts.append(_line(place(0), 4, place(0), bottom, "zero"))
    for number, (label, estimates) in enumerate(rows.items()):
        top = 10 + step * number
        parts.append(_text(left - 12, top + step / 2, label, "end"))
        for i, found in enumerate(estimates):
            y = top + (step / 2 if len(names) == 1 else 12 + 17 * i)
            parts += _whisker(place, found, y, SHADES[i])
            shown = "{:.3f} [{:.3f}, {:.3f}]".format(*found).replace("-", "−")
            parts.append(_text(right + 12, y, shown, "start", "value"))
    return _legend(names, when=len(names) > 1) + _drawing(parts, bottom + 26, ", ".join(names))


def _whisker(place: Place, found: Estimate, y: float, shade: str) -> list[str]:
    bar = _line(place(found.low), y, place(found.high), y, f"whisker {shade}")
    dot = tag("circle", cx=f"{place(found.value):.1f}", cy=f"{y:.1f}", r="4.5", kind=f"fill {shade}")
    return [bar, dot]


def stacks(rows: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> str:
    """Stacked bars, one row per label, one shade per name; the longest fills the width."""
    left, right = LABELS, WIDTH - 70
    longest = max((sum(parts.values()) for parts in rows.values()), default=0) or 1
    drawn = []
    for number, (label, values) in enumerate(rows.items()):
        top, x = 4 + 24 * number, float(left)
        drawn.append(_text(left - 12, top + 9, label, "end"))
        for i, name in enumerate(names):
            wide = values.get(name, 0) / longest * (right - left)
            title = tag("title", text(f"{label}, {name}: {values.get(name, 0):,.0f}"))
            if wide > 0:
                drawn.append(_bar(x, top, wide, 18, SHADES[i % len(SHADES)], title))
            x += wide
        drawn.append(_text(x + 8, top + 9, f"{sum(values.values()):,.0f}", "start", "value"))
    return _legend(names, when=len(names) > 1) + _drawing(drawn, 24 * len(rows) + 8, ", ".join(names))


def bars(rows: Mapping[str, float], said: Mapping[str, str]) -> str:
    """One bar per label; the longest fills the width, and what there is little of still shows.

    Args:
        rows: counts by label.
        said: what stands at the end of each bar.
    """
    top = max(rows.values(), default=0) or 1
    drawn = []
    for number, (label, value) in enumerate(rows.items()):
        y, wide = 4 + 24 * number, value / top * (WIDTH - LABELS - VALUES)
        wide = max(wide, 1.5) if value else 0
        drawn.append(_text(LABELS - 12, y + 9, label, "end"))
        drawn.append(_bar(LABELS, y, wide, 18, "a", tag("title", text(f"{label}: {value:,.0f}"))))
        drawn.append(_text(LABELS + wide + 8, y + 9, said[label], "start", "value"))
    return _drawing(drawn, 24 * len(rows) + 8, "counts")


def curve(points: Sequence[tuple[float, float]], *, x: str, y: str, log_x: bool = False) -> str:
    """One line over its points, thinned to at most 300 of them.

    Args:
        points: (x, y), in order of x.
        x: what x is.
        y: what y is.
        log_x: whether x is drawn on a logarithmic scale.
    """
    if len(points) < 2:
        return tag("p", text(f"Only {len(points)} point of {y} was logged."), kind="note")
    every = max(1, len(points) // 300)
    thinned = [*points[:-1:every], points[-1]]
    xs = [math.log(p[0]) if log_x else p[0] for p in thinned]
    low, high = _rounded(min(p[1] for p in thinned), max(p[1] for p in thinned))
    wide, tall, left = 370, 170, 44

    def across(value: float) -> float:
        """Units from the left."""
        return left + (value - xs[0]) / ((xs[-1] - xs[0]) or 1) * (wide - left - 12)

    def down(value: float) -> float:
        """Units from the top."""
        return 10 + (high - value) / ((high - low) or 1) * (tall - 50)

    path = " ".join(f"{across(a):.1f},{down(p[1]):.1f}" for a, p in zip(xs, thinned, strict=True))
    ticks = [low, (low + high) / 2, high]
    parts = [_line(left, down(t), wide - 12, down(t), "grid") for t in ticks]
    parts += [_text(left - 6, down(t), _short(t), "end", "value") for t in ticks]
    parts += [tag("polyline", points=path, kind="curve")]
    parts += [_text(left, tall - 22, _short(thinned[0][0]), "start", "value")]
    parts += [_text(wide - 12, tall - 22, _short(thinned[-1][0]), "end", "value")]
    parts += [_text((left + wide - 12) / 2, tall - 22, x, "middle", "value")]
    return _drawing(parts, tall - 8, f"{y} over {x}", width=wide)


def _rounded(low: float, high: float) -> tuple[float, float]:
    """The ends of an axis that holds both, on multiples of a round step."""
    span = (high - low) or abs(high) or 1.0
    step = 10 ** math.floor(math.log10(span)) / 2
    return math.floor(low / step) * step, math.ceil(high / step) * step


def _axis(low: float, high: float, place: Place, bottom: float) -> str:
    parts = []
    for tick in (low + (high - low) * i / 4 for i in range(5)):
        parts.append(_line(place(tick), 4, place(tick), bottom, "grid"))
        parts.append(_text(place(tick), bottom + 14, _short(tick), "middle", "value"))
    return "".join(parts)


def _legend(names: Sequence[str], *, when: bool) -> str:
    if not when:
        return ""
    marks = (
        tag("span", tag("i", kind=f"mark {SHADES[i % len(SHADES)]}"), text(n.replace("_", " ")))
        for i, n in enumerate(names)
    )
    return tag("div", *marks, kind="legend")


def _drawing(parts: Sequence[str], height: float, title: str, width: int = WIDTH) -> str:
    box = f"0 0 {width} {height:.0f}"
    head = tag("title", text(title))
    return tag("svg", head, *parts, viewBox=box, role="img", xmlns="http://www.w3.org/2000/svg")


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", kind=kind)


def _bar(x: float, y: float, wide: float, tall: float, shade: str, title: str) -> str:
    sizes = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{wide:.1f}", "height": f"{tall:.1f}"}
    return tag("rect", title, kind=f"fill {shade}", **sizes)


def _text(x: float, y: float, said: str, anchor: str, kind: str = "label") -> str:
    place = {"x": f"{x:.1f}", "y": f"{y + 4:.1f}", "text-anchor": anchor}
    return tag("text", text(said), kind=kind, **place)


def _short(value: float) -> str:
    return (f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.2g}").replace("-", "−")
