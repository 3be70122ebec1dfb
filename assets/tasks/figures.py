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


def judges_figure(grades: pl.DataFrame) -> "Figure":
    """Macro-F1 of each judge with its interval, by part and dimension."""
    from matplotlib.figure import Figure

    rows = grades.filter(pl.col("macro_f1").is_not_null()).rows(named=True)
    figure = Figure(figsize=(7, 0.6 + 0.4 * len(rows)))
    axes = figure.subplots()
    for place, row in enumerate(rows):
        axes.plot([row["macro_f1_low"], row["macro_f1_high"]], [place, place], color="grey")
        axes.plot(row["macro_f1"], place, "o", color="tab:green" if row["above_bar"] else "tab:red")
    axes.set_yticks(range(len(rows)), [f"{r['name']}, {r['part']}, {r['dimension']}" for r in rows])
    axes.set_xlabel("macro-F1 with 95% interval; green: above the bar")
    axes.set_xlim(0, 1.02)
    return figure
