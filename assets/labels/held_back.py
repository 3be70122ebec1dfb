"""Labels against what experts said of the same queries: an annotator's figures on labels that it never learned from.

Experts' rows are read as `taxonomy/experts.py` reads them and matched by the query's id, so by its folded text. A query
that stands in the tree (as an example, counter-example or synonym) is not held back: annotators learn from those, so it
is left out, as is one with a tag that is no leaf. The rest says nothing to any annotator; it is only compared with.

Source: pipeline stages 2 and 3 (both annotators evaluated on held-back expert labels).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl

from assets.labels.agreement import Agreement, agreement
from assets.labels.rules import IRRELEVANT
from assets.queries.normalise import content_ids, fold
from assets.taxonomy.experts import read_expert_tags, votes_by_query

AGREEMENT = "labels/expert_agreement"
"""Table with one row: the numbers of the last comparison, and the accuracy asked for; no row without expert labels."""
_SHOWN = 10
_UNKNOWN_TAG, _IN_THE_TREE, _NOT_LABELLED = "unknown_tag", "in_the_tree", "not_labelled"


class HeldBack(NamedTuple):
    """What experts said."""

    rows: pl.DataFrame
    """query_id, leaf, secondary (null for none); tags as they were given, whether or not a tree knows them."""
    unreadable: int
    """Rows of the file that gave no tags."""


class AgainstExperts(NamedTuple):
    """An annotator's labels beside the experts'."""

    agreement: Agreement | None
    """None where no query could be compared."""
    left_out: Mapping[str, int]
    """Queries that experts labelled and that were not compared, by cause."""
    unknown: Mapping[str, int]
    """Tags that are no leaf of the tree, with how many queries have them; most frequent first."""
    unreadable: int
    """Rows of the experts' file that gave no tags."""

    @property
    def confused(self) -> tuple[tuple[str, str, int], ...]:
        """(experts' leaf, given leaf, how often), most frequent first."""
        return self.agreement.confused if self.agreement else ()

    @property
    def numbers(self) -> dict[str, float | int | str]:
        """The figures worth plotting over time."""
        found = self.agreement.numbers if self.agreement else {}
        shown = [f"{tag} ({count})" for tag, count in list(self.unknown.items())[:_SHOWN]]
        more = len(self.unknown) - len(shown)
        named = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
        matched = {"matched": self.agreement.requests if self.agreement else 0}
        counted = {**matched, **self.left_out, "unreadable": self.unreadable, "unknown_tags": len(self.unknown)}
        figures = {name: value for name, value in found.items() if name != "requests"}
        return {**counted, **figures, **({"unknown_tags_named": named} if named else {})}


def read_held_back(path: Path) -> HeldBack:
    """Expert labels from a CSV, JSONL or Label Studio JSON file.

    The tag that most experts gave is the first intent, of equally frequent ones the first named; the next is the
    second intent if more than half of the query's experts gave it.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is of no kind that can be read, lacks a column, or no row of it has tags.
    """
    said = read_expert_tags([path])
    if said.rows.is_empty():
        causes = ", ".join(f"{n} {cause}" for cause, n in said.quarantine["cause"].value_counts(sort=True).iter_rows())
        raise ValueError(f"{path} holds no expert label ({causes or 'no rows'}): give a query and its tags in each row")
    rows = said.rows.with_columns(query=_ids_of(said.rows["query"]))
    experts = rows.group_by("query").agg(experts=pl.col("annotator").n_unique())
    ranked = votes_by_query(rows).with_columns(rank=pl.int_range(pl.len()).over("query")).join(experts, on="query")
    counts = (pl.col("rank") == 0) | ((pl.col("rank") == 1) & (pl.col("votes") * 2 > pl.col("experts")))
    kept = ranked.filter(counts).sort("query", "rank").group_by("query", maintain_order=True).agg("tag")
    first, second = (pl.col("tag").list.get(place, null_on_oob=True) for place in (0, 1))
    return HeldBack(kept.select(query_id="query", leaf=first, secondary=second), len(said.quarantine))


def against_experts(labels: pl.DataFrame, held_back: HeldBack, taxonomy: pl.DataFrame) -> AgainstExperts:
    """Compare a label table with what experts said.

    Args:
        labels: query_id, primary, secondary, confidence.
        held_back: of `read_held_back`.
        taxonomy: leaf, examples, counter_examples, synonyms; the tree that the labels are of.
    """
    known, shown = {*taxonomy["leaf"], IRRELEVANT}, _ids_in(taxonomy)
    strange = [~pl.col(name).is_in(known) & pl.col(name).is_not_null() for name in ("leaf", "secondary")]
    cause = (
        pl.when(pl.any_horizontal(strange))
        .then(pl.lit(_UNKNOWN_TAG))
        .when(pl.col("query_id").is_in(shown.implode()))
        .then(pl.lit(_IN_THE_TREE))
        .when(~pl.col("query_id").is_in(labels["query_id"].implode()))
        .then(pl.lit(_NOT_LABELLED))
    )
    judged = held_back.rows.with_columns(cause=cause)
    said = judged.filter(pl.col("cause").is_null()).join(labels, on="query_id", suffix="_given").sort("query_id")
    counts = dict(judged["cause"].drop_nulls().value_counts().iter_rows())
    tags = pl.concat([held_back.rows["leaf"], held_back.rows["secondary"]]).drop_nulls().alias("tag")
    unknown = tags.filter(~tags.is_in(known)).value_counts().sort("count", "tag", descending=[True, False])
    columns = ("primary", "leaf", "confidence", "secondary_given", "secondary")
    return AgainstExperts(
        agreement(*(said[name].to_list() for name in columns)) if len(said) else None,
        {name: counts.get(name, 0) for name in (_UNKNOWN_TAG, _IN_THE_TREE, _NOT_LABELLED)},
        dict(unknown.iter_rows()),
        held_back.unreadable,
    )


def agreement_row(found: AgainstExperts | None, least: float) -> pl.DataFrame:
    """The table that the check reads: matched, accuracy (null where nothing was compared) and least."""
    schema = {"matched": pl.Int64, "accuracy": pl.Float64, "least": pl.Float64}
    if found is None:
        return pl.DataFrame(schema=schema)
    compared = found.agreement
    row = (compared.requests, compared.accuracy, least) if compared else (0, None, least)
    return pl.DataFrame([row], schema=schema, orient="row")


def _ids_in(taxonomy: pl.DataFrame) -> pl.Series:
    """Ids of the queries that stand in the tree."""
    lists = [taxonomy[name].explode().drop_nulls() for name in ("examples", "counter_examples", "synonyms")]
    texts = pl.concat(lists).unique()
    return _ids_of(texts)


def _ids_of(texts: pl.Series) -> pl.Series:
    """Ids of texts as queries that stand alone."""
    return content_ids(
        pl.DataFrame([fold(texts).alias("normal"), pl.Series("context", [None] * len(texts), pl.String)])
    )
