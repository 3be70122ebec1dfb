"""Queries: the raw log without personal data, and the distinct requests in it."""

import dagster as dg
from pydantic import PositiveInt

from assets import keys
from assets.config import StageConfig
from assets.metadata import described
from assets.queries.figures import counts_figure, support_figure
from assets.queries.grammar import generate_log
from assets.queries.intake import order_free_digest, take_in
from assets.queries.normalise import distinct_queries as find_distinct
from assets.queries.planted import LOG_COLUMNS, planted_truth, write_log
from assets.queries.readers import MAX_CHARACTERS, Columns, left_out, read_logs
from assets.versions import version_of
from resources.lake import Lake

QUARANTINE, FILES, TRUTH, OCCURRENCES = (
    "queries/quarantine",
    "queries/files",
    "queries/planted_truth",
    "queries/occurrences",
)
GENERATED_LOG = "queries/query_log"
"""Folder of the demo's own log, a file of JSON lines."""


class RawQueriesConfig(StageConfig, stage=keys.RAW_QUERIES):
    """Which log, and which column is what."""

    logs: str = ""
    """File, folder or glob of Parquet, JSONL or CSV (also .gz, .zst). Empty: the demo's generated log."""
    column: str = "text"
    """Column of the query's text."""
    time_column: str = ""
    """Column of the time; empty if the log has none."""
    user_column: str = ""
    """Column of the user or session; stored as a keyed hash. Empty if the log has none."""
    context_column: str = ""
    """Column of the turn before, where a query cannot be understood without it; empty if the log has none."""
    max_characters: PositiveInt = MAX_CHARACTERS
    """A longer text goes to the quarantine."""
    user_salt: str = "loopwright"
    """Keys the hashes of users: set your own for a real log, or anybody can try out who a hash is."""
    lines: PositiveInt = 200_000
    """Lines of the generated log."""
    seed: int = 0
    """Seed of the generated log."""


@dg.asset(
    key=keys.RAW_QUERIES,
    group_name="queries",
    kinds={"polars", "parquet"},
    owners=["team:loopwright"],
    code_version="1",
)
def raw_queries(context: dg.AssetExecutionContext, config: RawQueriesConfig, lake: Lake) -> dg.MaterializeResult:
    """The log as it arrived, row by row, personal data scrubbed and users hashed before anything is stored."""
    logs, columns = config.logs, Columns(config.column, config.time_column, config.user_column, config.context_column)
    truth = None
    if not logs:
        path = lake.folder(GENERATED_LOG) / "log.jsonl"
        truth = generate_log(config.lines, config.seed)
        numbers_of_lines = write_log(truth, path, config.seed)
        logs, columns = str(path), LOG_COLUMNS
    reading = read_logs(logs, columns, max_characters=config.max_characters)
    taken = take_in(reading.rows, salt=config.user_salt)
    context.log.info("%s: %d rows kept, %d to quarantine", logs, len(taken.rows), len(reading.quarantine))
    if unread := [path.name for path in left_out(logs)]:
        context.log.warning("%d files of no kind that can be read left out: %s", len(unread), ", ".join(unread[:20]))
    lake.write(QUARANTINE, reading.quarantine)
    lake.write(FILES, reading.files)
    lake.path(TRUTH).unlink(missing_ok=True)  # the truth of another log
    if truth is not None:
        lake.write(TRUTH, planted_truth(truth, numbers_of_lines, taken.rows))
    causes = dict(reading.quarantine["cause"].value_counts().iter_rows())
    if taken.rows.is_empty():
        raise ValueError(f"no row of {logs!r} can be used: {causes}. The rows are in {lake.path(QUARANTINE)}")
    files = {"files": len(reading.files), "files_left_out": len(unread)}
    numbers = {"rows_in": int(reading.files["rows"].sum()), **files}
    numbers |= {f"quarantined: {cause}": count for cause, count in sorted(causes.items())}
    numbers |= {f"scrubbed: {kind}": count for kind, count in taken.scrubbed.items()}
    figures = {"scrubbed values": counts_figure(taken.scrubbed, "values replaced by a mark")}
    lake.write("queries/raw_queries", taken.rows)
    # where a row was read is no part of what it is: another file name is not another version
    version = version_of({"rows": order_free_digest(taken.rows["raw_id"])})
    return described(lake, "queries/raw_queries", numbers=numbers, figures=figures, version=version)


@dg.asset(
    key=keys.DISTINCT_QUERIES,
    deps=[keys.RAW_QUERIES],
    group_name="queries",
    kinds={"polars", "parquet"},
    owners=["team:loopwright"],
    code_version="1",
)
def distinct_queries(context: dg.AssetExecutionContext, lake: Lake) -> dg.MaterializeResult:
    """Each request once, by its folded text and context, with the number of raw rows that made it."""
    found = find_distinct(lake.read("queries/raw_queries", columns=["raw_id", "text", "time", "context"]))
    lake.write(OCCURRENCES, found.occurrences)
    lake.write_pieces("queries/distinct_queries", found.pieces())
    counted = lake.read("queries/distinct_queries", columns=["support", "language"])
    support = counted["support"]
    languages = dict(counted["language"].value_counts().sort("language").iter_rows())
    context.log.info("%d rows are %d queries: %s", len(found.keyed), len(counted), languages)
    numbers = {
        "raw_rows": len(found.keyed),
        "rows_per_query": len(found.keyed) / len(counted),
        "seen_once": int((support == 1).sum()),
        "largest_support": max(support.to_list(), default=0),
        **{f"language: {name}": count for name, count in languages.items()},
    }
    figures = {"support by rank": support_figure(support), "languages": counts_figure(languages, "distinct queries")}
    return described(lake, "queries/distinct_queries", numbers=numbers, figures=figures)
