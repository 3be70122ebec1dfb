"""Pictures of benchmark results."""

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def scores_figure(scores: pl.DataFrame, suite: str = "hidden") -> "Figure":
    """pass@1 and pass^k of each policy with 95% intervals."""
    from matplotlib.figure import Figure

    rows = scores.filter(pl.col("suite") == suite)
    figure = Figure(figsize=(6.5, 3.2))
    axes = figure.subplots()
    for offset, name, label in ((-0.18, "pass_1", "pass@1"), (0.18, "pass_hat_k", "pass^k")):
        values = rows[name].to_numpy()
        spread = [values - rows[f"{name}_low"].to_numpy(), rows[f"{name}_high"].to_numpy() - values]
        axes.bar([i + offset for i in range(len(rows))], values, 0.34, yerr=spread, capsize=3, label=label)
    axes.set_xticks(range(len(rows)), rows["policy"].to_list())
    axes.set_ylim(0, 1)
    axes.legend()
    return figure
