"""What every materialization shows in the catalogue: counts, columns, a sample, numbers worth plotting, one figure."""

import base64
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import dagster as dg
import polars as pl

from resources.lake import Lake

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SAMPLE_ROWS: Final = 5
CELL_CHARACTERS: Final = 80


def materialized(
    lake: Lake,
    table: str,
    frame: pl.DataFrame,
    *,
    numbers: Mapping[str, float | int | str] | None = None,
    figures: Mapping[str, "Figure"] | None = None,
    note: str | None = None,
) -> dg.MaterializeResult:
    """Write `frame` to the lake and report it with its content hash as data version.

    Args:
        lake: where to.
        table: `stage/asset`.
        frame: all rows of the table.
        numbers: what the catalogue plots over time.
        figures: by caption; shown in the catalogue as images.
        note: one paragraph of Markdown for the reader.
    """
    lake.write(table, frame)
    return described(lake, table, numbers=numbers, figures=figures, note=note)


def described(
    lake: Lake,
    table: str,
    *,
    numbers: Mapping[str, float | int | str] | None = None,
    figures: Mapping[str, "Figure"] | None = None,
    note: str | None = None,
    version: str | None = None,
) -> dg.MaterializeResult:
    """Report a table that is in the lake, as `materialized` does; by another version than its content's, if given."""
    shown = table_metadata(next(lake.pieces(table, rows=SAMPLE_ROWS)), lake.count(table))
    shown |= {"path": dg.MetadataValue.path(lake.path(table)), **number_metadata(numbers or {})}
    shown |= {caption: figure_markdown(figure) for caption, figure in (figures or {}).items()}
    if note is not None:
        shown["note"] = dg.MetadataValue.md(note)
    return dg.MaterializeResult(metadata=shown, data_version=dg.DataVersion(version or lake.version(table)))


def table_metadata(frame: pl.DataFrame, count: int | None = None) -> dict[str, dg.MetadataValue]:
    """Row count, column schema and a sample of the first five rows.

    Args:
        frame: the table, or its first rows.
        count: its rows, where it has more.
    """
    columns = [dg.TableColumn(name, str(dtype)) for name, dtype in frame.schema.items()]
    return {
        "dagster/row_count": dg.MetadataValue.int(len(frame) if count is None else count),
        "dagster/column_schema": dg.MetadataValue.table_schema(dg.TableSchema(columns=columns)),
        "sample": dg.MetadataValue.md(markdown_table(frame.head(SAMPLE_ROWS))),
    }


def number_metadata(numbers: Mapping[str, float | int | str]) -> dict[str, dg.MetadataValue]:
    """Numbers as the catalogue plots them; words as text."""
    return {name: _number(value) for name, value in numbers.items()}


def markdown_table(frame: pl.DataFrame) -> str:
    """The frame as a Markdown table; long cells are cut, and nothing in a cell can break the table."""
    head = "| " + " | ".join(frame.columns) + " |"
    rule = "|" + " --- |" * len(frame.columns)
    rows = ("| " + " | ".join(_cell(value) for value in row) + " |" for row in frame.iter_rows())
    return "\n".join([head, rule, *rows])


def figure_markdown(figure: "Figure") -> dg.MetadataValue:
    """A matplotlib figure as an image inside Markdown, so that it needs no file server."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=90, bbox_inches="tight")
    return dg.MetadataValue.md(f"![figure](data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()})")


def _number(value: float | int | str) -> dg.MetadataValue:
    if isinstance(value, str):
        return dg.MetadataValue.text(value)
    return dg.MetadataValue.int(value) if isinstance(value, int) else dg.MetadataValue.float(float(value))


def _cell(value: object) -> str:
    text = "" if value is None else " ".join(str(value).split())
    shown = text if len(text) <= CELL_CHARACTERS else text[: CELL_CHARACTERS - 1] + "…"
    return shown.replace("|", "\\|")
