"""The book of labels: those of every version of the tree, at the cost of what differs between them.

The rows of one leaf are one file, named by the hash of its rows; a version is a page that lists the file of each leaf.
So two versions share the leaves that are equal, and going back to an earlier one finds its labels as they were. A page
is written after its files: killed anywhere, the book holds the versions that it held, or one more, whole.

Pages are kept per kind of annotator (its code, rule tables, embedder, bound: everything but the tree), since labels of
different annotators do not mix.
"""

import logging
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from assets.labels.cache import TABLE as ANNOTATED
from assets.labels.table import BOOKED
from assets.taxonomy.stored import TREES
from resources.lake import Digest, Lake, LakeError

LOG: Final = logging.getLogger(__name__)
LEAVES, PAGES, ALIASES = "labels/book", "labels/pages", "labels/aliases"
PIECES: Final = "labels/book_pieces"
"""What is being written: all leaves together, a range of queries each."""
IN_FORCE: Final = "labels/tree_in_force"
"""Table with one row, the version that `labels/query_labels` is of: noted once that is written, for a run that was
killed, or failed, may have left the book one version ahead of it."""
PAGE: Final = {"leaf": pl.String, "content": pl.String, "rows": pl.Int64, "number": pl.Int64, "planned_from": pl.String}
"""`number` is the page's own and grows: the version in force has the highest. `planned_from` is the version that a plan
went on from when this one came into force; null where it was taken up again, or labelled from nothing."""


class BookError(LakeError):
    """A file of the book is torn or gone: it is set aside, and what it held is named."""


class Written(NamedTuple):
    """What writing a version did."""

    leaves: int
    """Leaves of the version that have rows."""
    new_files: int
    """How many of them no version had before."""


class LabelBook:
    """The labels of every version of the tree by one kind of annotator."""

    def __init__(self, lake: Lake, annotator: str) -> None:
        """Open the book of an annotator.

        Args:
            lake: where it lies.
            annotator: its kind, without the tree.
        """
        self.lake = lake
        self.annotator = re.sub(r"[^A-Za-z0-9_.\-]", "_", annotator)

    def versions(self) -> list[str]:
        """Versions of the tree that have labels, the one last in force last.

        Raises:
            BookError: a page is torn; it is set aside.
        """
        found = [path.stem.removesuffix(f".{self.annotator}") for path in self._pages()]
        return sorted(found, key=lambda version: (self._number(version), version))

    def gone_on_from(self, in_force: str | None) -> str | None:
        """The version that a change goes on from: the one in force if its labels are here, else the last; or none."""
        known = self.versions()
        return in_force if in_force in known else next(reversed(known), None)

    def page(self, version: str) -> pl.DataFrame:
        """The leaves of a version: leaf, content (name of its file), rows; sorted by leaf.

        Raises:
            FileNotFoundError: the book has no such version.
            BookError: the page is torn; it is set aside.
        """
        if not self.has(version):
            known = ", ".join(self.versions()) or "none yet"
            raise FileNotFoundError(f"the book holds no labels of tree {version} by {self.annotator}; it has: {known}")
        return self._read(PAGES, self._page(version), f"tree {version} has no labels now: they are made again")

    def has(self, version: str) -> bool:
        """Whether there are labels of this version of the tree."""
        return self.lake.exists(PAGES, self._page(version))

    def leaf(self, version: str, leaf: str) -> pl.DataFrame:
        """The rows of one leaf under one version, sorted by query; empty where it has none.

        Raises:
            FileNotFoundError: the book has no such version.
            BookError: the file is torn; it is set aside.
        """
        return self._of(self.page(version).filter(pl.col("leaf") == leaf), version)

    def read(self, version: str) -> pl.DataFrame:
        """All labels of one version, sorted by query.

        Raises:
            FileNotFoundError: the book has no such version.
            BookError: a file of it is torn; it is set aside.
        """
        return self._of(self.page(version), version)

    def present(self, version: str, columns: Sequence[str] = tuple(BOOKED)) -> pl.DataFrame:
        """As `read`, some of the columns, without the leaves whose files are gone since they were set aside."""
        page = self.page(version)
        there = self._there(page)
        lost = page.join(there, on="leaf", how="anti")
        if len(lost):
            LOG.warning("%d labels of %s are lost and made again", lost["rows"].sum(), ", ".join(lost["leaf"]))
        return self._of(there, version, columns)

    def between(self, version: str, after: str | None, last: str | None) -> pl.DataFrame:
        """As `present`, all columns of the queries whose id is greater than one and at most the other; None: no bound.

        Raises:
            FileNotFoundError: the book has no such version.
            BookError: a file of it is torn; it is set aside.
        """
        there = self._there(self.page(version))
        if there.is_empty():
            return pl.DataFrame(schema=BOOKED)
        rows = pl.scan_parquet([self.lake.path(LEAVES, name) for name in there["content"]], hive_partitioning=False)
        if after is not None:
            rows = rows.filter(pl.col("query_id") > after)
        if last is not None:
            rows = rows.filter(pl.col("query_id") <= last)
        try:
            return rows.select(*BOOKED).collect().sort("query_id")
        except pl.exceptions.PolarsError:
            self._of(there, version)  # says which
            raise

    def write(
        self, version: str, pieces: Iterable[pl.DataFrame], tree: pl.DataFrame, planned_from: str | None = None
    ) -> Written:
        """Keep the labels of a version, which is then the one in force.

        Args:
            version: of the tree.
            pieces: `BOOKED` columns, one row per query, the queries in order; each is on disk before the next is taken.
            tree: the taxonomy's table.
            planned_from: the version that a plan went on from.

        Raises:
            LakeError: the disk is full; the book is as it was before.
        """
        written, new, number = [], 0, self._next()
        digests: dict[str, Digest] = {}
        self._clear_pieces()
        try:
            for count, piece in enumerate(pieces):
                ordered = piece.select(*BOOKED).sort("primary", "query_id")
                self.lake.write(PIECES, ordered, f"{count:06}.{self.annotator}")
                for (leaf,), rows in ordered.partition_by("primary", as_dict=True).items():
                    digests.setdefault(str(leaf), Digest(ordered.schema)).add(rows)
            for leaf, digest in sorted(digests.items()):
                if not self.lake.exists(LEAVES, digest.version()):
                    self.lake.write_pieces(LEAVES, self._pieces_of(leaf), digest.version())
                    new += 1
                written.append((leaf, digest.version(), digest.count, number, planned_from))
        finally:
            self._clear_pieces()
        self.lake.write(TREES, tree, version)
        self.lake.write(PAGES, pl.DataFrame(written, schema=PAGE, orient="row"), self._page(version))
        return Written(len(written), new)

    def _pieces_of(self, leaf: str) -> Iterator[pl.DataFrame]:
        """The rows of a leaf among those that are being written, in order."""
        for path in self._pieces():
            rows = pl.scan_parquet(path, hive_partitioning=False).filter(pl.col("primary") == leaf).collect()
            if len(rows):
                yield rows

    def _pieces(self) -> list[Path]:
        return sorted(self.lake.folder(PIECES).glob(f"*.{self.annotator}.parquet"))

    def _clear_pieces(self) -> None:
        for path in self._pieces():
            path.unlink()

    def aliases(self, version: str) -> dict[str, str | None]:
        """What runner-ups of earlier trees are called under this version; None: the leaf is gone."""
        if not self.lake.exists(ALIASES, self._page(version)):
            return {}
        return dict(self.lake.read(ALIASES, self._page(version)).iter_rows())

    def alias(self, version: str, aliases: Mapping[str, str | None]) -> None:
        """Keep what runner-ups of earlier trees are called under a version."""
        rows = sorted(aliases.items())
        schema = {"was": pl.String, "now": pl.String}
        self.lake.write(ALIASES, pl.DataFrame(rows, schema=schema, orient="row"), self._page(version))

    def use(self, version: str) -> None:
        """Note a version as the one in force."""
        if self.versions()[-1:] != [version]:
            page = self.page(version).with_columns(number=pl.lit(self._next(), pl.Int64))
            again = page.with_columns(planned_from=pl.lit(None, pl.String))
            self.lake.write(PAGES, again, self._page(version))

    def planned_from(self, version: str) -> str | None:
        """The version that a plan went on from when this one came into force last; None: there was no plan."""
        page = self.page(version)
        return next(iter(page["planned_from"].to_list()), None) if "planned_from" in page.columns else None

    def _pages(self) -> list[Path]:
        found = self.lake.folder(PAGES).glob("*.parquet")
        return [path for path in found if path.stem.partition(".")[2] == self.annotator]

    def _number(self, version: str) -> int:
        return max(self.page(version)["number"].to_list(), default=0)

    def _next(self) -> int:
        return 1 + max((self._number(version) for version in self.versions()), default=0)

    def _page(self, version: str) -> str:
        return f"{version}.{self.annotator}"

    def _there(self, page: pl.DataFrame) -> pl.DataFrame:
        """The lines of a page whose files are there."""
        there = [self.lake.exists(LEAVES, content) for content in page["content"]]
        return page.filter(pl.Series(there, dtype=pl.Boolean))

    def _of(self, page: pl.DataFrame, version: str, columns: Sequence[str] = tuple(BOOKED)) -> pl.DataFrame:
        parts = [pl.DataFrame(schema={name: BOOKED[name] for name in columns})]
        for leaf, content, rows in page.select("leaf", "content", "rows").iter_rows():
            lost = f"the {rows} labels of {leaf} under tree {version} are lost: materialize"
            parts.append(self._read(LEAVES, content, lost, columns))
        return pl.concat(parts).sort("query_id")

    def _read(self, table: str, partition: str, lost: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """A file of the book.

        Raises:
            BookError: it is torn or gone.
        """
        path = self.lake.path(table, partition)
        try:
            return self.lake.read(table, partition, columns=columns)
        except FileNotFoundError as error:
            raise BookError(f"{path} is gone: {lost} the labels again and they are made anew") from error
        except LakeError as error:
            aside = _set_aside(path)
            raise BookError(f"{path} was torn and is set aside as {aside.name}: {lost}") from error


def tree_in_force(lake: Lake) -> str | None:
    """The version of the tree that the labels in the lake are of; None where that was not noted."""
    return next(iter(lake.read(IN_FORCE)["tree"].to_list()), None) if lake.exists(IN_FORCE) else None


def kinds(lake: Lake) -> Sequence[str]:
    """The annotators that have a book, in alphabetical order."""
    return sorted({path.stem.partition(".")[2] for path in lake.folder(PAGES).glob("*.parquet")})


def forget_labels(lake: Lake) -> None:
    """Empty the book of every annotator, and what a killed run left: everything is labelled anew.

    What a teacher answered is kept by the questions, and not paid for again.
    """
    for table in (PAGES, ALIASES, LEAVES, PIECES, TREES, ANNOTATED):  # first what names the others
        shutil.rmtree(lake.folder(table))


def _set_aside(path: Path) -> Path:
    return path.rename(path.with_suffix(".torn"))
