"""What a materialization shows, and versions of what is not a table."""

from pathlib import Path

import polars as pl
import pytest

from assets.metadata import described, markdown_table, materialized
from assets.versions import version_of
from resources.lake import Lake

ROWS = pl.DataFrame({"id": list(range(9)), "text": ["a|b\nc", None, "x" * 200, *"defghi"]})


def test_a_materialization_shows_counts_columns_a_sample_and_its_numbers(tmp_path: Path) -> None:
    lake = Lake(root=str(tmp_path))
    result = materialized(
        lake, "pool/lexical_survivors", ROWS, numbers={"kept": 9, "rate": 0.5, "rule": "exact"}, note="*n*"
    )
    assert result.data_version is not None
    assert result.data_version.value == lake.version("pool/lexical_survivors")
    shown = {name: getattr(value, "value", None) for name, value in (result.metadata or {}).items()}
    assert (shown["dagster/row_count"], shown["kept"], shown["rate"], shown["rule"]) == (9, 9, 0.5, "exact")
    assert [column.name for column in shown["dagster/column_schema"].columns] == ["id", "text"]
    assert str(shown["sample"]).count("\n") == 6


def test_a_table_in_pieces_shows_what_the_whole_table_shows(tmp_path: Path) -> None:
    lake = Lake(root=str(tmp_path))
    whole = materialized(lake, "pool/lexical_survivors", ROWS)
    lake.write_pieces("pool/lexical_survivors", ROWS.iter_slices(2))
    assert described(lake, "pool/lexical_survivors") == whole


def test_nothing_in_a_cell_breaks_the_table() -> None:
    assert markdown_table(ROWS.head(2)) == "| id | text |\n| --- | --- |\n| 0 | a\\|b c |\n| 1 |  |"
    assert len(markdown_table(ROWS[2:3]).splitlines()[-1]) < 100


def test_a_figure_is_shown_without_a_file_server(tmp_path: Path) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    figure.subplots().plot([1, 2])
    result = materialized(Lake(root=str(tmp_path)), "pool/lexical_survivors", ROWS, figures={"survivors": figure})
    image = (result.metadata or {})["survivors"]
    assert str(getattr(image, "value", "")).startswith("![figure](data:image/png;base64,")


def test_a_version_depends_on_content_and_not_on_the_order_of_its_parts() -> None:
    assert version_of({"rows": "abc", "seed": 1}) == version_of({"seed": 1, "rows": "abc"})
    assert version_of({"rows": "abc", "seed": 1}) != version_of({"rows": "abc", "seed": 2})
