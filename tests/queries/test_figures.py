"""Pictures of a log stay small however long the log is."""

import polars as pl

from assets.queries.figures import support_figure


def test_the_support_of_a_million_queries_is_drawn_as_its_steps() -> None:
    figure = support_figure(pl.Series([1] * 1_000_000 + [5, 2, 2]))
    [line] = figure.axes[0].lines
    assert list(zip(*line.get_data(), strict=True)) == [(1, 5), (1, 5), (2, 2), (3, 2), (4, 1), (1_000_003, 1)]
