"""What a change of the tree would do to the labels in the lake: for the command line, and for the sensor."""

import hashlib
from dataclasses import replace
from typing import Any, Final, NamedTuple

import polars as pl

from assets import keys
from assets.labels.book import LabelBook
from assets.partitions import partition_of_each
from assets.taxonomy.bill import RATES, TEACHER, Priced, Rates, rates_of
from assets.taxonomy.changes import Diff
from assets.taxonomy.diff import diff
from assets.taxonomy.migration import read_migrations, said_of
from assets.taxonomy.plan import Plan, make_plan, plan_back
from assets.taxonomy.stored import TREES, taxonomy_of, version_of
from assets.taxonomy.tree import Taxonomy
from dagster_project import profiles
from dagster_project.trees import configured_annotator, configured_bound, configured_folder, migrations_of, tree_named
from resources.lake import Lake

LABELS: Final = "labels/query_labels"
WAITING: Final = "taxonomy/waiting_plan"
"""Table with one row: the plan that was shown last, and waits for its approval or was carried out."""


class Planned(NamedTuple):
    """A plan and the labels that it is for."""

    labels: pl.DataFrame
    plan: Plan


def between(old: Taxonomy, new: Taxonomy, after: str) -> Diff:
    """What happened between two trees, with what was confirmed in the migration files beside the second."""
    migrations = read_migrations(migrations_of(after))
    return diff(old, new, said_of(migrations, old, new))


def planned(lake: Lake, before: str = "", after: str = "") -> Planned:
    """The plan from one tree to another, for the labels in the lake.

    Args:
        lake: holds the labels.
        before: a tree as `tree_named` takes it; empty: the one that the labels are of.
        after: likewise; empty: the folder that the profile names.

    Raises:
        FileNotFoundError: there are no labels yet, or no such tree.
        TaxonomyError, MigrationError: a file does not follow its schema.
    """
    labels = lake.read(LABELS)
    old = tree_named(lake, before) if before else in_force(lake, labels)
    found = between(old, tree_named(lake, after or str(configured_folder())), after)
    book, version = _book_of(lake, labels), version_of(found.after)
    if book.has(version) and version != version_of(old):
        return Planned(labels, plan_back(found, labels, book.read(version).select(labels.columns)))
    aliases = book.aliases(version_of(old))
    plan = make_plan(found, labels, near_below=configured_bound(), aliases=aliases)
    return Planned(labels, replace(plan, fresh=_unlabelled(lake, labels)))


def _unlabelled(lake: Lake, labels: pl.DataFrame) -> int:
    """Queries of the lexical pool without a label: they are asked about when the plan is carried out."""
    pool = keys.table_of(keys.LEXICAL_SURVIVORS)
    if not lake.exists(pool):
        return 0
    return len(lake.read(pool, columns=["query_id"]).join(labels, on="query_id", how="anti"))


def in_force(lake: Lake, labels: pl.DataFrame) -> Taxonomy:
    """The tree that the current labels are of."""
    known = _book_of(lake, labels).versions()
    return taxonomy_of(lake.read(TREES, known[-1]) if known else lake.read(keys.table_of(keys.INTENT_TAXONOMY)))


def rates_in(lake: Lake) -> Priced:
    """As measured by the last run of the annotator of the labels; before any, the defaults of the profile's annotator.

    Labels of the embedded annotator in a profile that asks a teacher have the teacher's defaults: it is what will be
    asked, about every query, since labels of two annotators do not mix.
    """
    kind = _book_of(lake, lake.read(LABELS, columns=["annotator"])).annotator
    taught = configured_annotator() == "teacher"
    is_other = taught != kind.startswith("teacher")
    if lake.exists(RATES, kind) and not is_other:
        return Priced(rates_of(lake.read(RATES, kind)), f"measured in runs of {kind}")
    other = f"; the labels are by {kind}, so the profile's annotator labels every query anew" if is_other else ""
    if not taught:
        return Priced(Rates(), f"defaults of the embedded annotator: no run was measured yet{other}")
    endpoint = profiles.active().teacher
    prices = {name: getattr(endpoint, name) for name in ("usd_per_million_in", "usd_per_million_out")}
    return Priced(TEACHER._replace(**prices), f"defaults of a teacher: no run of one was measured yet{other}")


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
    """The labels, what was confirmed and the bounds: with others of these, the plan is another."""
    confirmed = [(path.name, path.read_bytes()) for path in sorted(migrations_of("").glob("*.yaml"))]
    content = repr((lake.path(LABELS).stat().st_mtime_ns, confirmed, configured_bound()))
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
