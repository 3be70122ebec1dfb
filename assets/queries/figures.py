"""Pictures of a log: how popularity falls, which languages it speaks, what was scrubbed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def support_figure(support: pl.Series) -> "Figure":
    """Raw rows per query against the query's rank, both on a log scale: the head that the funnel must not follow."""
    from matplotlib.figure import Figure

    runs = support.sort(descending=True).rle().struct.unnest()  # of millions of queries most were asked once
    ends = runs["len"].cum_sum()
    ranks = [rank for end, length in zip(ends, runs["len"], strict=True) for rank in (end - length + 1, end)]
    figure = Figure(figsize=(6, 3.4))
    axes = figure.subplots()
    axes.loglog(ranks, [count for count in runs["value"] for _ in range(2)])
    axes.set_xlabel("rank of the query")
    axes.set_ylabel("raw rows")
    axes.grid(alpha=0.3)
    return figure


def counts_figure(counts: Mapping[str, int], unit: str) -> "Figure":
    """One bar per name.

    Args:
        counts: name to count.
        unit: what is counted, for the axis.
    """
    from matplotlib.figure import Figure

    names = sorted(counts, key=lambda name: (-counts[name], name))
    figure = Figure(figsize=(6, 0.6 + 0.35 * max(1, len(names))))
    axes = figure.subplots()
    bars = axes.barh(names, [counts[name] for name in names])
    axes.bar_label(bars, fmt="{:,.0f}", padding=3)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.margins(x=0.15)
    return figure
