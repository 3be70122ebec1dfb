"""Pictures of trajectory synthesis."""

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def yield_figure(trajectories: pl.DataFrame) -> "Figure":
    """Perfect attempts per attempt, by family."""
    from matplotlib.figure import Figure

    rates = trajectories.group_by("family").agg(rate=pl.col("perfect").sum() / pl.col("attempts").sum()).sort("family")
    figure = Figure(figsize=(7, 3.2))
    axes = figure.subplots()
    axes.bar(rates["family"].to_list(), rates["rate"].to_list())
    axes.set_ylabel("perfect / attempts")
    axes.set_ylim(0, 1)
    axes.tick_params(axis="x", rotation=60)
    return figure
