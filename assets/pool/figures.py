"""Pictures of the funnel: what each layer takes and leaves, and how far the pool leaves the rest behind."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from assets.pool.coverage import Certificate
from assets.pool.spread import Spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def before_and_after_figure(before: pl.Series, after: pl.Series) -> "Figure":
    """Rows per leaf before and after a layer, most frequent leaf first, on a log scale."""
    from matplotlib.figure import Figure

    counts = [names.rename("leaf").value_counts(name="rows") for names in (before, after)]
    joined = counts[0].join(counts[1], on="leaf", how="left", suffix="_after").fill_null(0)
    ordered = joined.sort("rows", "leaf", descending=[True, False])
    figure = Figure(figsize=(7, 0.8 + 0.26 * max(1, len(ordered))))
    axes = figure.subplots()
    axes.barh(ordered["leaf"].to_list(), ordered["rows"].to_list(), color="#c9d3e6", label="before")
    bars = axes.barh(ordered["leaf"].to_list(), ordered["rows_after"].to_list(), height=0.5, label="after")
    axes.bar_label(bars, fmt="{:,.0f}", padding=3)
    axes.set_xscale("symlog")
    axes.invert_yaxis()
    axes.set_xlabel("queries")
    axes.margins(x=0.15)
    axes.legend(loc="lower right")
    return figure


def radius_figure(certificate: Certificate) -> "Figure":
    """The radius of the pool at every size, against a random choice of the same size."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.4))
    axes = figure.subplots()
    axes.plot([size for size, _ in certificate.curve], [radius for _, radius in certificate.curve], label="k-center")
    size = certificate.curve[-1][0]
    axes.plot([size], [certificate.random_radius], "x", label="random choice")
    axes.set_xlabel("size of the pool")
    axes.set_ylabel("largest distance to a kept query")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def waterfall_figure(steps: Mapping[str, int], left: int) -> "Figure":
    """What each layer took away, from the rows that went in (the first step) to those that are left."""
    from matplotlib.figure import Figure

    names, changes = [*steps, "pool"], [*steps.values(), left]
    level, bottoms, heights = 0, [], []
    for change in steps.values():
        bottoms.append(min(level, level + change))
        heights.append(abs(change))
        level += change
    figure = Figure(figsize=(6, 3.4))
    axes = figure.subplots()
    colours = ["#c9d3e6"] + ["#d99a8b"] * (len(steps) - 1) + ["#7f9ccb"]
    bars = axes.bar(names, [*heights, left], bottom=[*bottoms, 0], color=colours)
    axes.bar_label(bars, labels=[f"{change:+,}" if change < 0 else f"{change:,}" for change in changes], padding=2)
    axes.set_ylabel("queries")
    axes.margins(y=0.15)
    return figure


def similarity_figure(dropped: pl.DataFrame, threshold: float) -> "Figure":
    """How similar the dropped rows were to their survivors."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.0))
    axes = figure.subplots()
    axes.hist(dropped["similarity"].to_list(), bins=40)
    axes.axvline(threshold, linestyle="--", color="black")
    axes.set_xlabel("similarity with the survivor")
    axes.set_ylabel("dropped queries")
    return figure


def spread_figure(by_layer: Mapping[str, Spread]) -> "Figure":
    """Difficulty, entropy over the leaves and number of constraints, of the distinct queries and after each layer."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    names, spreads = list(by_layer), list(by_layer.values())
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    shares, entropy, constraints = figure.subplots(1, 3)
    bottom = [0.0] * len(names)
    for level in sorted({level for s in spreads for level in s.difficulty}):
        heights = [s.difficulty.get(level, 0.0) for s in spreads]
        shares.bar(names, heights, bottom=bottom, label=str(level), color=colormaps["viridis_r"]((level + 1) / 6))
        bottom = [below + height for below, height in zip(bottom, heights, strict=True)]
    shares.set_title("difficulty")
    shares.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5), reverse=True)
    for axes, title, values in (
        (entropy, "entropy over leaves, bits", [s.leaf_entropy for s in spreads]),
        (constraints, "constraints per query", [s.constraints for s in spreads]),
    ):
        axes.bar_label(axes.bar(names, values, color="#c9d3e6"), fmt="%.2f", padding=2)
        axes.set_title(title)
        axes.margins(y=0.15)
    for axes in (shares, entropy, constraints):
        axes.tick_params(axis="x", rotation=60)
    return figure
