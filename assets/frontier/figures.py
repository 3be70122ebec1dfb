"""Pictures of the frontier."""

from typing import TYPE_CHECKING

import polars as pl

from training.curriculum import Region

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def regions_figure(frame: pl.DataFrame) -> "Figure":
    """Tasks by family, stacked by region."""
    from matplotlib.figure import Figure

    families = sorted(frame["family"].unique())
    figure = Figure(figsize=(7, 3.6))
    axes = figure.subplots()
    bottom = [0] * len(families)
    for region in Region:
        counts = dict(frame.filter(pl.col("region") == region).group_by("family").len().iter_rows())
        heights = [counts.get(f, 0) for f in families]
        axes.bar(families, heights, bottom=bottom, label=str(region))
        bottom = [b + h for b, h in zip(bottom, heights, strict=True)]
    axes.tick_params(axis="x", rotation=60)
    axes.set_ylabel("tasks")
    axes.legend()
    return figure
