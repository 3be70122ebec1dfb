"""What a change of the tree would do to the labels in the lake: for the command line, and for the sensor."""

import hashlib
from dataclasses import replace
from typing import Any, Final, NamedTuple

import polars as pl

from assets import keys
from assets.labels.book import LabelBook, tree_in_force
from assets.labels.relabel import PLANNED
from assets.labels.table import keyed
from assets.partitions import partition_of_each
from assets.taxonomy.bill import RATES, TEACHER, Priced, Rates, rates_of
from assets.taxonomy.changes import Diff
from assets.taxonomy.diff import diff
from assets.taxonomy.migration import read_migrations, said_of
from assets.taxonomy.plan import Plan, make_plan, plan_anew, plan_back, touching_all
from assets.taxonomy.stored import TREES, taxonomy_of, version_of
from assets.taxonomy.tree import Taxonomy
from dagster_project import profiles
from dagster_project.trees import (
    configured_bound,
    configured_folder,
    configured_kind,
    configured_labels,
    migrations_of,
    tree_named,
)
from resources.lake import Lake

LABELS: Final = "labels/query_labels"
_PLANNED: Final = ("query_id", "primary", "secondary", "annotator")
_ID: Final = ("query_id", "key")
WAITING: Final = "taxonomy/waiting_plan"
"""Table with one row: the plan that was shown last, and waits for its approval or was carried out."""


class Planned(NamedTuple):
    """A plan, and what it is compared with."""

    plan: Plan
    queries: int
    """Queries of the pool: those that labelling everything anew would be about."""
    leaves: list[str]
    """The partitions that it touches."""


def between(old: Taxonomy, new: Taxonomy, after: str) -> Diff:
    """What happened between two trees, with what was confirmed in the migration files beside the second."""
    migrations = read_migrations(migrations_of(after))
    return diff(old, new, said_of(migrations, old, new))


def planned(lake: Lake, before: str = "", after: str = "") -> Planned:
    """The plan from one tree to another, as `labels/query_labels` by the profile's annotator then does it.

    Args:
        lake: holds the labels.
        before: a tree as `tree_named` takes it; empty: the one that is gone on from.
        after: likewise; empty: the folder that the profile names.

    Raises:
        FileNotFoundError: there are no labels yet, or no such tree.
        TaxonomyError, MigrationError: a file does not follow its schema.
        ValueError: the tree after has more branches than can be partitions, so that the plan could not be carried out.
    """
    labels, texts = lake.read(LABELS, columns=_PLANNED), _texts(lake)
    tree = tree_named(lake, after or str(configured_folder()))
    old = tree_named(lake, before) if before else gone_on_from(lake, labels, tree)
    found, book = between(old, tree, after), LabelBook(lake, configured_kind())
    plan = _plan(found, labels, texts, book)
    plan = replace(plan, by="" if _is_by(labels, book) else book.annotator)
    return Planned(plan, len(texts), leaves_of(plan, tree))


def gone_on_from(lake: Lake, labels: pl.DataFrame, after: Taxonomy) -> Taxonomy:
    """The tree whose labels a change to another tree goes on from: the one in force, or the annotator's last.

    Where the profile's annotator has labelled nothing, or has labels of the tree after already, what changes are the
    labels in force, whoever they are by.
    """
    book = LabelBook(lake, configured_kind())
    known = book.gone_on_from(tree_in_force(lake))
    return taxonomy_of(lake.read(TREES, known)) if known and not book.has(version_of(after)) else in_force(lake, labels)


def _plan(found: Diff, labels: pl.DataFrame, texts: pl.DataFrame, book: LabelBook) -> Plan:
    """What `labels_under` does with this book, without doing it.

    Args:
        found: the changes.
        labels: those in force, by this annotator or by another: query_id, primary, secondary, annotator.
        texts: the pool: query_id, key.
        book: of the profile's annotator.
    """
    before, after = version_of(found.before), version_of(found.after)
    is_by = _is_by(labels, book)
    if book.has(after) and (not is_by or after != before):
        plan = plan_back(found, *_differing(book, after))
        return replace(plan, fresh=_without_label(texts, book.present(after, _ID)))
    version = book.gone_on_from(before)
    if version is None:
        return plan_anew(found, labels, len(texts))
    rows = book.present(version, PLANNED).join(texts, on=_ID, how="semi")
    plan = make_plan(found, rows, near_below=configured_bound(), aliases=book.aliases(version))
    plan = replace(plan, fresh=_without_label(texts, rows))
    return plan if is_by else touching_all(plan, labels, found)


def _differing(book: LabelBook, version: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The labels in force that are others in a version of the book, and what they are there; read in pieces."""
    ours, theirs, after = list[pl.DataFrame](), list[pl.DataFrame](), None
    for piece in book.lake.pieces(LABELS):
        last = next(iter(piece["query_id"].tail(1).to_list()), None)
        kept = book.between(version, after, last).select(piece.columns)
        ours.append(piece.join(kept, on=piece.columns, how="anti", nulls_equal=True))
        theirs.append(kept.join(ours[-1].select("query_id"), on="query_id", how="semi"))
        after = last
    return pl.concat(ours), pl.concat(theirs)


def _is_by(labels: pl.DataFrame, book: LabelBook) -> bool:
    """Whether the labels in force are by the annotator of a book."""
    return _book_of(book.lake, labels).annotator == book.annotator


def _texts(lake: Lake) -> pl.DataFrame:
    """The pool that is labelled: query_id, and the key of the text."""
    from assets.labels.assets import pool_queries  # here, so that the stage takes the profile's settings

    return keyed(pool_queries(lake)).select("query_id", "key")


def _without_label(texts: pl.DataFrame, rows: pl.DataFrame) -> int:
    """Queries of the pool that are not among these labels, or say something else there."""
    return len(texts.join(rows, on=_ID, how="anti"))


def in_force(lake: Lake, labels: pl.DataFrame) -> Taxonomy:
    """The tree that the current labels are of; where that was not noted, the last one in the book."""
    known = _book_of(lake, labels).versions()
    if version := next((version for version in (tree_in_force(lake), *known[-1:]) if version in known), None):
        return taxonomy_of(lake.read(TREES, version))
    return taxonomy_of(lake.read(keys.table_of(keys.INTENT_TAXONOMY)))


def rates_in(lake: Lake) -> Priced:
    """As measured by the last run of the profile's annotator; before any, its defaults."""
    kind = configured_kind()
    if lake.exists(RATES, kind):
        return Priced(rates_of(lake.read(RATES, kind)), f"measured in runs of {kind}")
    if configured_labels().annotator == "embedded":
        return Priced(Rates(), "defaults of the embedded annotator: no run was measured yet")
    endpoint = profiles.active().teacher
    prices = {name: getattr(endpoint, name) for name in ("usd_per_million_in", "usd_per_million_out")}
    return Priced(TEACHER._replace(**prices), "defaults of a teacher: no run of this one was measured yet")


def leaves_of(plan: Plan, tree: Taxonomy) -> list[str]:
    """The partitions that a plan touches, sorted; one of any kind where it touches none of those that are left.

    Args:
        plan: what will be done.
        tree: the tree after.
    """
    partition_of = partition_of_each(leaf.id for leaf in tree.leaves)
    touched = {partition_of[leaf] for leaf in (*plan.partitions.changed, *plan.partitions.appear)}
    return sorted(touched) or [min(partition_of.values())]


def waiting(lake: Lake) -> dict[str, Any] | None:
    """The plan that was shown last: plan, before, after, leaves, vanish; None where there is none."""
    return lake.read(WAITING).row(0, named=True) if lake.exists(WAITING) else None


def what_a_plan_is_for(lake: Lake) -> str:
    """The labels, who labels, what was confirmed and the bounds: with others of these, the plan is another.

    Who labels, with the versions in the book: a run that failed may have left one there that is to be taken up.
    """
    files = sorted(path for path in migrations_of("").glob("*.yaml") if path.is_file())
    confirmed = [(path.name, path.read_bytes()) for path in files]
    kind = configured_kind()
    known = LabelBook(lake, kind).versions()
    content = repr((lake.path(LABELS).stat().st_mtime_ns, confirmed, configured_bound(), kind, known))
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def wait_for_approval(lake: Lake, plan: Plan, leaves: list[str], made_for: str) -> None:
    """Keep what was shown, so that a later step carries out exactly that.

    Args:
        lake: where to.
        plan: the plan.
        leaves: partitions that it touches.
        made_for: `what_a_plan_is_for` when it was made.
    """
    row = {"plan": plan.hash, "before": plan.before, "after": plan.after, "made_for": made_for, "leaves": leaves}
    gone = list(plan.partitions.vanish)
    lists = dict.fromkeys(("leaves", "vanish"), pl.List(pl.String))
    lake.write(WAITING, pl.DataFrame([row | {"vanish": gone}], schema_overrides=lists))


def _book_of(lake: Lake, labels: pl.DataFrame) -> LabelBook:
    """The book of the annotator of the current labels."""
    return LabelBook(lake, str(labels["annotator"].first()) if len(labels) else "nobody")
