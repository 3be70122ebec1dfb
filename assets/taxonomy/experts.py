"""Expert tags in: CSV, JSONL and Label Studio's JSON export to one table; what cannot be read to a quarantine.

Experts tag freely: several tags to a query, several experts to a query, tags that no tree knows yet. A tag is a leaf of
the tree by its dotted id, or a new word; paths of Label Studio's taxonomy tag are joined by dots. Conservation: every
row of every file gives tags or a row of the quarantine.

Source: pipeline stage 2 (expert labels: open tags, several per query); Label Studio's JSON export format.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from assets.queries.lines import Record, csv_records, json_records
from assets.taxonomy.schema import DEEPEST, line_at

TAG_SCHEMA: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "query": pl.String,
    "tags": pl.List(pl.String),
    "annotator": pl.String,
    "source_file": pl.String,
    "source_row": pl.Int64,
}
QUARANTINE_SCHEMA: Final = {"source_file": pl.String, "source_row": pl.Int64, "cause": pl.String, "excerpt": pl.String}
SUFFIXES: Final = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
NO_QUERY, NO_TAGS, SKIPPED = "no query", "no tags", "skipped by the annotator"
NO_ANNOTATIONS, NOT_A_TASK = "no annotations: export as JSON, not JSON-MIN", "not a Label Studio task"
_APART: Final = re.compile(r"[;|；]")
_EXCERPT: Final = 80
_UNKNOWN: Final = "unknown"
_OF_JSON: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}\n]')
"""Texts, brackets and ends of lines."""


class TagColumns(NamedTuple):
    """Which column of a CSV or JSONL file, or field of a Label Studio task's data, is what."""

    query: str = "query"
    tags: str = "tags"
    annotator: str = "annotator"


COLUMNS: Final = TagColumns()
"""What `write_seeds` calls them."""


class ExpertTags(NamedTuple):
    """What experts said."""

    rows: pl.DataFrame
    """query, tags, annotator, source_file (its whole path: two people's files may have one name), source_row; one row
    per query and expert's answer."""
    quarantine: pl.DataFrame
    """source_file, source_row, cause, excerpt."""


class _Said(NamedTuple):
    """One answer of one expert, or why there is none."""

    row: int
    query: object
    tags: object
    annotator: object
    cause: str | None = None


def read_expert_tags(files: Sequence[Path], columns: TagColumns = COLUMNS) -> ExpertTags:
    """Read the tags of several files; the same file's rows keep their order, files are taken by name.

    Args:
        files: CSV or TSV with a header; JSONL; JSON as Label Studio exports it. Several tags of one CSV cell stand
            apart by `;` or `|`.
        columns: names of the columns.

    Raises:
        FileNotFoundError: a file is not there.
        ValueError: a file is of no kind that can be read, lacks a column, or is no JSON at all.
    """
    kept: list[tuple[Any, ...]] = []
    bad: list[tuple[Any, ...]] = []
    for path in sorted(files):
        for said in _answers(path, columns):
            query, tags = _text(said.query), _tags(said.tags)
            cause = said.cause or (NO_QUERY if not query else NO_TAGS if not tags else None)
            if cause:
                bad.append((path.name, said.row, cause, (query or str(said.query or ""))[:_EXCERPT]))
            else:
                kept.append((query, tags, _text(said.annotator) or _UNKNOWN, str(path.resolve()), said.row))
    rows = pl.DataFrame(kept, schema=TAG_SCHEMA, orient="row")
    return ExpertTags(rows, pl.DataFrame(bad, schema=QUARANTINE_SCHEMA, orient="row"))


def tags_by_query(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per query: query, tags (most often given first, then named first), annotators; sorted by query."""
    tags = votes_by_query(rows).group_by("query", maintain_order=True).agg(tags="tag")
    return tags.join(rows.group_by("query").agg(annotators=pl.col("annotator").n_unique()), on="query").sort("query")


def votes_by_query(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per query and tag: query, tag, votes (experts who gave it), place (in their answers, from 0, on average).

    Sorted by query; of one query's tags the most often given comes first, of equal ones the first named.
    """
    each = rows.with_columns(place=pl.int_ranges(pl.col("tags").list.len())).explode("tags", "place")
    votes = each.group_by("query", tag="tags").agg(votes=pl.col("annotator").n_unique(), place=pl.col("place").mean())
    return votes.sort("query", "votes", "place", "tag", descending=[False, True, False, False])


def agreement_of_annotators(rows: pl.DataFrame) -> pl.DataFrame:
    """Cohen's kappa of each pair of annotators over the queries that both tagged.

    Where an expert gave several tags, two answers agree if they share one; the shared one counts for both.

    Returns:
        left, right, queries, kappa; sorted by the names.
    """
    from assets.labels.agreement import cohens_kappa

    said = {(a, q): t for q, t, a in _united(rows).iter_rows()}
    names = sorted({name for name, _ in said})
    found = []
    for left, right in combinations(names, 2):
        both = sorted({q for a, q in said if a == left} & {q for a, q in said if a == right})
        if both:
            pairs = [_pair(said[left, query], said[right, query]) for query in both]
            found.append((left, right, len(both), cohens_kappa([p[0] for p in pairs], [p[1] for p in pairs])))
    schema = {"left": pl.String, "right": pl.String, "queries": pl.Int64, "kappa": pl.Float64}
    return pl.DataFrame(found, schema=schema, orient="row")


def _united(rows: pl.DataFrame) -> pl.DataFrame:
    """All tags of one annotator for one query in one row, sorted."""
    each = rows.explode("tags").group_by("query", "annotator").agg(pl.col("tags").unique().sort())
    return each.select("query", "tags", "annotator").sort("query", "annotator")


def _pair(left: list[str], right: list[str]) -> tuple[str, str]:
    shared = sorted(set(left) & set(right))
    return (shared[0], shared[0]) if shared else (left[0], right[0])


def _answers(path: Path, columns: TagColumns) -> Iterator[_Said]:
    if not path.is_file():
        raise FileNotFoundError(f"no file of expert tags at {path}: give CSV, JSONL or a JSON export of Label Studio")
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path.name} is of no kind that can be read: allowed are {', '.join(SUFFIXES)}")
    if path.suffix == ".json":
        yield from _label_studio(path, columns)
        return
    blocks = csv_records(path, columns) if path.suffix in (".csv", ".tsv") else json_records(path)
    for record in (record for block in blocks for record in block):
        yield _flat(path, record, columns)


def _flat(path: Path, record: Record, columns: TagColumns) -> _Said:
    if record.cells is None:
        return _Said(record.line, record.raw.decode("utf-8", "replace"), None, None, record.cause)
    if path.suffix in (".csv", ".tsv") and (missing := {columns.query, columns.tags} - set(record.cells)):
        there = ", ".join(sorted(record.cells))
        raise ValueError(f"{path.name} has no column {', '.join(sorted(missing))}; its columns: {there}. Name yours")
    cells = record.cells
    return _Said(record.line, cells.get(columns.query), cells.get(columns.tags), cells.get(columns.annotator))


def _label_studio(path: Path, columns: TagColumns) -> Iterator[_Said]:
    """One answer per annotation of each task; rows are counted from 1 in the order of the tasks."""
    content = path.read_bytes()
    try:
        tasks = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        where = f"{path.name}:{line_at(content, error.start)}"
        raise ValueError(f"{where}: not UTF-8 (byte {error.start}): save it as UTF-8, or export it again") from error
    except RecursionError as error:
        where = f"{path.name}:{_deep_line(content)}"
        raise ValueError(f"{where}: nested deeper than {DEEPEST} levels, which no export of Label Studio is") from error
    except ValueError as error:
        raise ValueError(f"{path.name} is not a JSON export of Label Studio: {error}. Export it again") from error
    if not isinstance(tasks, list):
        raise ValueError(f"{path.name} must hold a list of tasks, not a {type(tasks).__name__}: export it as JSON")
    for row, task in enumerate(tasks, start=1):
        yield from _task(row, task, columns)


def _task(row: int, task: Any, columns: TagColumns) -> Iterator[_Said]:
    if not isinstance(task, dict) or not isinstance(task.get("data", task), dict):
        yield _Said(row, str(task), None, None, NOT_A_TASK)
        return
    data = task.get("data", task)
    query = data.get(columns.query) or data.get("text")
    given = task.get("annotations", task.get("completions"))
    if not isinstance(given, list) or not given:
        yield _Said(row, query, None, None, NO_TAGS if given == [] else NO_ANNOTATIONS)
        return
    for number, one in enumerate(given):
        if not isinstance(one, dict):
            yield _Said(row, query, None, None, NOT_A_TASK)
            continue
        skipped = SKIPPED if one.get("was_cancelled") or one.get("skipped") else None
        try:
            chosen, cause = _chosen(one.get("result"), f"annotations[{number}].result"), skipped
        except _Misshapen as error:
            chosen, cause = [], skipped or str(error)
        yield _Said(row, query, chosen, _annotator(one.get("completed_by")), cause)


class _Misshapen(ValueError):
    """A field of a task does not hold what Label Studio writes there."""

    def __init__(self, field: str, wanted: str, value: Any) -> None:
        super().__init__(f"{field}: must be {wanted}, not {str(value)[:_EXCERPT]!r}")


def _chosen(results: Any, field: str) -> list[str]:
    """Tags of an annotation: its choices, and the paths of its taxonomy tags.

    Raises:
        _Misshapen: naming the field.
    """
    found: list[str] = []
    for number, one in enumerate(_listed(results, field, "a list of results")):
        at = f"{field}[{number}]"
        if not isinstance(one, dict):
            raise _Misshapen(at, "a mapping of fields", one)
        value = one.get("value")
        if isinstance(value, dict):  # a relation has none
            found += _texts(value.get("choices"), f"{at}.value.choices")
            paths = _listed(value.get("taxonomy"), f"{at}.value.taxonomy", "a list of paths")
            named = [_texts(path, f"{at}.value.taxonomy[{i}]") for i, path in enumerate(paths)]
            found += [".".join(path) for path in named if path]
    return found


def _listed(value: Any, field: str, wanted: str) -> list[Any]:
    """A list; nothing where the field is not there."""
    if value is not None and not isinstance(value, list):
        raise _Misshapen(field, wanted, value)
    return value or []


def _texts(value: Any, field: str) -> list[str]:
    """A list of texts; nothing where the field is not there."""
    texts = _listed(value, field, "a list of texts")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise _Misshapen(f"{field}[{number}]", "a text", text)
    return texts


def _deep_line(content: bytes) -> int:
    """The line in which a JSON text is nested deeper than anybody writes."""
    depth, line = 0, 1
    for part in _OF_JSON.finditer(content):
        depth += (part[0] in b"[{") - (part[0] in b"]}")
        line += part[0] == b"\n"
        if depth > DEEPEST:
            break
    return line


def _annotator(who: Any) -> str:
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    return "" if who is None else str(who)


def _tags(given: object) -> list[str]:
    """Tags without repetitions, in the order given."""
    if isinstance(given, str):
        given = _cell(given.strip())
    texts = [_text(tag) for tag in given] if isinstance(given, list) else []
    return list(dict.fromkeys(text for text in texts if text))


def _cell(text: str) -> object:
    if text.startswith(("[", "{")):
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if found is not None:
            return found.get("choices") if isinstance(found, dict) else found
    return _APART.split(text)


def _text(value: object) -> str:
    return " ".join(str(value).split()) if isinstance(value, str | int) and not isinstance(value, bool) else ""
