"""The three layers on tables: rows in, survivors and dropped rows out, support conserved.

Between the Dagster assets and the algorithms: puts rows into keep order, asks the layer, and names each row that went.

Shapes: N rows, D dimensions.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.pool.coverage import Certificate, certify
from assets.pool.decisions import decide, open_decisions, save_decisions
from assets.pool.epoch import Epoch, Wanted, begin, drift_of, open_epoch, pick, save_epoch, why_end, why_new
from assets.pool.facts import rules_version
from assets.pool.geometric import CoreSet, central_picks, centred, centres_of, core_set
from assets.pool.increment import LexicalIndex
from assets.pool.index_store import open_index, save_index
from assets.pool.lexical import Progress, silent
from assets.pool.lexical_days import fresh_rows, take_in
from assets.pool.lexical_pairs import lexical_pairs
from assets.pool.pairs import Stored, stored
from assets.pool.readings import Reader
from assets.pool.semantic_pairs import semantic_pairs
from assets.pool.survival import Survival, dropped_rows, keep_order, kept_rows
from assets.queries.normalise import fold
from training.code import code_of

NEAR_COPY, SAME_MEANING, COVERED = "near_copy", "same_meaning", "covered"


class Layer(NamedTuple):
    """What one layer made of its rows."""

    kept: pl.DataFrame
    """Sorted by query_id, support merged."""
    dropped: pl.DataFrame
    """query_id, layer, rule, survivor, similarity; sorted by query_id."""
    measured: Mapping[str, float] = MappingProxyType({})
    """What the layer found out about itself."""
    stored: Stored | None = None
    """Similar pairs, for `assets.pool.preview`."""

    @property
    def numbers(self) -> dict[str, float]:
        """Rows in, kept and dropped."""
        rows = len(self.kept) + len(self.dropped)
        return {
            "rows_in": rows,
            "kept": len(self.kept),
            "dropped": len(self.dropped),
            "kept_share": len(self.kept) / max(1, rows),
            **self.measured,
            **(self.stored.numbers if self.stored is not None else {}),
        }


class Policy(NamedTuple):
    """What keeps two rows apart however similar they are."""

    numbers: bool = True
    """Numbers that differ keep both."""
    names: bool = True
    """Cities, days, modes and other slots that differ keep both."""


def lexical_layer(
    queries: pl.DataFrame,
    folder: Path | None = None,
    *,
    threshold: float,
    policy: Policy,
    floor: float = 0.0,
    progress: Progress = silent,
) -> Layer:
    """Drop near copies in letters; rows that were decided before are not decided again.

    Args:
        queries: query_id, normal, context, support, first_seen.
        folder: of the index that remembers earlier rows; None remembers nothing.
        threshold: Jaccard similarity of character n-grams at which a row is a copy.
        policy: what keeps both; without names only digits are looked at, which costs next to nothing.
        floor: similarity down to which pairs are stored for a preview; 0, or one not below the threshold: none are.
        progress: told what is being done, and how far it is.
    """
    key = f"{threshold} {policy} {code_of(__name__, ('assets',))} {rules_version()}"
    index = open_index(folder, key, threshold) if folder is not None else LexicalIndex(threshold)
    ordered = keep_order(queries)
    del queries  # of a large log there is one copy, where the caller keeps none
    told = told_by(ordered)
    fresh_N = fresh_rows(ordered, index)
    if fresh_N is None:
        index, fresh_N = LexicalIndex(threshold), np.arange(len(ordered))
    known = len(index)
    if len(fresh_N):
        fresh = (ordered, told) if len(fresh_N) == len(ordered) else (ordered[fresh_N], told.gather(fresh_N))
        take_in(index, *fresh, folder, numbers=policy.numbers, names=policy.names, progress=progress)
        if folder is not None:
            save_index(folder, key, index, 1)
    order = index.in_keep_order()
    survival = index.survival(order)
    pairs = lexical_pairs(told, index.groups(order), survival, threshold=threshold, floor=floor, progress=progress)
    layer = _layer(ordered, survival, layer="lexical", rule=NEAR_COPY)
    measured = {"decided_before": known, "decided_now": len(fresh_N)}
    return layer._replace(measured=measured, stored=stored(pairs, ordered["query_id"], floor, threshold))


def semantic_layer(
    queries: pl.DataFrame,
    reader: Reader,
    folder: Path | None = None,
    *,
    threshold: float,
    policy: Policy,
    floor: float = 0.0,
    progress: Progress = silent,
) -> Layer:
    """Drop paraphrases inside each <primary, secondary> bucket; what was decided before holds as far as it can.

    Args:
        queries: query_id, normal, context, support, first_seen, primary, secondary.
        reader: reads and embeds what it has not read before.
        folder: of earlier decisions; None remembers nothing.
        threshold: cosine similarity at which a row is a copy.
        policy: what keeps both.
        floor: similarity down to which pairs are stored for a preview; 0, or one not below the threshold: none are.
        progress: told what is being done, and how far it is.
    """
    ordered = keep_order(queries)
    readings = reader.read(ordered["query_id"], told_by(ordered))
    facts = readings.facts(numbers=policy.numbers, names=policy.names).to_list()
    key = f"{threshold} {reader.key} {code_of('assets.pool.decisions', ('assets', 'resources'))}"
    remembered = open_decisions(folder, key) if folder is not None else None
    ids, buckets = ordered["query_id"].to_list(), buckets_of(ordered)
    found = decide(ids, readings.vectors, buckets, facts, threshold, remembered)
    if folder is not None and (remembered is None or found.now or len(remembered) != len(ordered)):
        save_decisions(folder, key, found.remembered)
    counts = {"read_before": readings.before, "read_now": readings.now}
    counts |= {"decided_before": found.before, "decided_now": found.now}
    pairs = semantic_pairs(
        readings.vectors, buckets, facts, found.survival, threshold=threshold, floor=floor, progress=progress
    )
    recall = {} if found.recall is None else {"recall_sampled": found.recall}
    layer = _layer(ordered, found.survival, layer="semantic", rule=SAME_MEANING)
    return layer._replace(measured=counts | recall, stored=stored(pairs, ordered["query_id"], floor, threshold))


class Space(NamedTuple):
    """Where the geometric layer measures distances."""

    ordered: pl.DataFrame
    """The queries in the order in which equally far ones are picked: the most frequent first."""
    points_ND: NDArray[np.float32]
    """Unit vectors, measured from the middle of each language."""
    buckets: list[str]
    """<primary, secondary> and language: a query is covered by one of its own bucket."""
    centres: Mapping[str, NDArray[np.float32]]
    """The middle of each language."""


def space_of(queries: pl.DataFrame, reader: Reader, centres: Mapping[str, NDArray[np.float32]] | None = None) -> Space:
    """The space of some queries; for them and the reader see `geometric_layer`.

    Args:
        queries: the rows.
        reader: gives their vectors.
        centres: middles of the languages that are fixed, or None for those of these queries.
    """
    ordered = queries.sort("support", "query_id", descending=[True, False])
    languages = ordered["language"].to_list()
    unit_ND = reader.read(ordered["query_id"], told_by(ordered)).vectors.directions()
    centres = centres_of(unit_ND, languages) if centres is None else centres
    buckets = [f"{bucket} + {language}" for bucket, language in zip(buckets_of(ordered), languages, strict=True)]
    return Space(ordered, centred(unit_ND, languages, centres), buckets, centres)


class Selected(NamedTuple):
    """What the geometric layer made of its rows, and how well that covers them."""

    layer: Layer
    certificate: Certificate
    epoch: Epoch
    began: str | None
    """Why the epoch was begun, or None where it was there before."""
    should_end: str
    """Why a new epoch should be begun, or "no"."""


def geometric_layer(
    queries: pl.DataFrame,
    reader: Reader,
    folder: Path | None = None,
    *,
    wanted: Wanted,
    keep: bool = True,
    most: float = 0.1,
) -> Selected:
    """Pick the rows that cover the rest under one radius; every pick takes over the support of the rows it covers.

    Distances are measured from the middle of each language, and a query is covered by one of its own language. Both
    the radius and the middles are those of the pool's epoch (`assets.pool.epoch`).

    Args:
        queries: query_id, normal, context, language, support, primary, secondary.
        reader: knows what it has read before.
        folder: of the epoch; None remembers none.
        wanted: the size or radius, and versions.
        keep: whether the epoch goes on where it can.
        most: see `why_end`.
    """
    before = open_epoch(folder, strict=keep) if folder is not None else None
    began = why_new(before, wanted, queries["query_id"]) if keep else "it was asked for"
    fixed = before.centres if before is not None and began is None else None
    ordered, points_ND, buckets, centres = space_of(queries, reader, fixed)
    ids = ordered["query_id"]
    if before is not None and began is None:
        epoch, greedy = before, pick(before, points_ND, buckets)
    else:
        greedy = core_set(points_ND, buckets, size=wanted.size, radius=wanted.radius)
        epoch = begin(before.number + 1 if before is not None else 1, wanted, ids, buckets, greedy, centres)
        if folder is not None:
            save_epoch(folder, epoch)
    core = central_picks(points_ND, greedy, buckets)
    drift = drift_of(epoch, points_ND, buckets, ids)
    should_end = why_end(epoch, len(core.picks_K), len(ordered), drift, wanted.taxonomy, most=most)
    layer = _selected(ordered, core)
    numbers = {"epoch": epoch.number, "epoch_radius": epoch.radius, "epoch_rows": len(layer.kept)}
    numbers |= {"epoch_new": drift.new, "epoch_beyond_share": drift.beyond, "epoch_expected_share": drift.expected}
    certificate = certify(points_ND, buckets, ordered["primary"].to_list(), greedy, core)
    return Selected(layer._replace(measured=numbers), certificate, epoch, began, should_end)


def _selected(ordered: pl.DataFrame, core: CoreSet) -> Layer:
    similarity_N = (1.0 - core.cover_N**2 / 2.0).astype(np.float32)
    layer = _layer(ordered, Survival(core.nearest_N, similarity_N), layer="geometric", rule=COVERED)
    distances = pl.DataFrame(
        {
            "query_id": ordered["query_id"][core.picks_K.tolist()],
            "distance": pl.Series(core.distance_K.astype(np.float64), dtype=pl.Float64),
        }
    )
    return layer._replace(kept=layer.kept.join(distances, on="query_id").sort("query_id"))


def buckets_of(queries: pl.DataFrame) -> list[str]:
    """The <primary, secondary> bucket of each row."""
    named = queries.select(pl.concat_str("primary", pl.col("secondary").fill_null(""), separator=" + "))
    return named.to_series().to_list()


def told_by(queries: pl.DataFrame) -> pl.Series:
    """What each row says, the turn before it included: "and tomorrow?" after Beijing is not the same after Paris.

    Folded, as in its id: the turn that is shown with a query may change when an earlier row arrives late.
    """
    if queries["context"].is_null().all():
        return queries["normal"].alias("context")
    folded = queries.select(fold(queries["context"].cast(pl.String)).alias("context"), "normal")
    said = pl.concat_str("context", "normal", separator="\n", ignore_nulls=True)
    return folded.select(said).to_series()


def _layer(ordered: pl.DataFrame, survival: Survival, *, layer: str, rule: str) -> Layer:
    dropped = dropped_rows(ordered["query_id"], survival, layer=layer, rule=rule)
    return Layer(kept_rows(ordered, survival), dropped)
