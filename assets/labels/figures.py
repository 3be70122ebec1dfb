"""Pictures of the labels: how hard the queries are, and how often a stated confidence was right."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIFFICULTIES = range(-1, 6)


def difficulty_figure(labels: pl.DataFrame) -> "Figure":
    """Queries by difficulty, -1 to 5."""
    from matplotlib.figure import Figure

    counts = dict(labels["difficulty"].value_counts().iter_rows())
    figure = Figure(figsize=(6, 3.2))
    axes = figure.subplots()
    bars = axes.bar(list(DIFFICULTIES), [counts.get(d, 0) for d in DIFFICULTIES])
    axes.set_xticks(list(DIFFICULTIES))
    axes.bar_label(bars, fmt="{:,.0f}")
    axes.set_xlabel("difficulty (-1 unexecutable, 0 no tool needed)")
    axes.set_ylabel("queries")
    axes.margins(y=0.15)
    return figure


def leaves_figure(labels: pl.DataFrame) -> "Figure":
    """Queries by primary leaf, most frequent first."""
    from matplotlib.figure import Figure

    counts = labels["primary"].value_counts().sort("count", "primary", descending=[True, False])
    figure = Figure(figsize=(7, 0.8 + 0.24 * len(counts)))
    axes = figure.subplots()
    bars = axes.barh(counts["primary"].to_list(), counts["count"].to_list())
    axes.bar_label(bars, fmt="{:,.0f}", padding=3)
    axes.invert_yaxis()
    axes.set_xscale("symlog")
    axes.set_xlabel("queries")
    axes.margins(x=0.15)
    return figure


def confusion_figure(confused: Sequence[tuple[str, str, int]], most: int = 12) -> "Figure":
    """The pairs of leaves that were most often taken for each other."""
    from matplotlib.figure import Figure

    shown = confused[:most]
    figure = Figure(figsize=(8, 0.8 + 0.3 * max(1, len(shown))))
    axes = figure.subplots()
    names = [f"{_last(true)} taken for {_last(given)}" for true, given, _ in shown]
    bars = axes.barh(np.arange(len(shown)), [count for _, _, count in shown])
    axes.set_yticks(np.arange(len(shown)), names)
    axes.bar_label(bars, padding=3)
    axes.invert_yaxis()
    axes.set_xlabel("queries")
    axes.margins(x=0.15)
    return figure


def _last(leaf: str) -> str:
    return " ".join(leaf.split(".")[-2:]) if leaf.endswith(".other") else leaf.rpartition(".")[2]
