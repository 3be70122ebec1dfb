"""Pictures of the task pool."""

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def families_figure(tasks: pl.DataFrame) -> "Figure":
    """Tasks by family, stacked by where they come from."""
    from matplotlib.figure import Figure

    counts = tasks.group_by("family", "origin").len().sort("family", "origin")
    families = sorted(counts["family"].unique())
    figure = Figure(figsize=(7, 3.6))
    axes = figure.subplots()
    bottom = [0] * len(families)
    for origin in sorted(counts["origin"].unique()):
        own = dict(counts.filter(pl.col("origin") == origin).select("family", "len").iter_rows())
        heights = [own.get(f, 0) for f in families]
        axes.bar(families, heights, bottom=bottom, label=origin)
        bottom = [b + h for b, h in zip(bottom, heights, strict=True)]
    axes.tick_params(axis="x", rotation=60)
    axes.set_ylabel("tasks")
    axes.legend()
    return figure
