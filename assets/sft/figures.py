"""Pictures of training runs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def loss_figure(
    history: Sequence[Mapping[str, float]], *, value: str = "loss", unit: str = "nats per token"
) -> "Figure":
    """One logged value over the steps of a run."""
    from matplotlib.figure import Figure

    points = [(h["step"], float(h[value])) for h in history if value in h and "step" in h]
    figure = Figure(figsize=(6, 3))
    axes = figure.subplots()
    axes.plot([p[0] for p in points], [p[1] for p in points])
    axes.set_xlabel("step")
    axes.set_ylabel(f"{value} ({unit})")
    return figure
