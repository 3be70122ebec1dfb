"""The registry: what was made, from what, how each attempt ended, and which rows training really consumed.

SQLite by default, Postgres by URL; migrated by alembic when first used. Writing the same fact twice changes nothing;
writing a different fact under the same name is an error, because one of the two is wrong.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal, NamedTuple

import dagster as dg
from pydantic import ConfigDict
from sqlalchemy import Select, case, func, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, aliased

from environments.episode import ResultKey
from resources.migrations import RegistryError, ready_engine
from resources.schema import ArtefactRow, Base, ConsumedRow, EdgeRow, EpisodeRow, ResultKeyRow

__all__ = ["Artefact", "Consumed", "LedgerEntry", "Outcome", "Registry", "RegistryError"]

ROWS_AT_ONCE: Final = 2_000
"""Rows of one INSERT; SQLite allows 32,766 bound values."""
WON: Final = 1.0 - 1e-6
"""Reward from which an attempt is a success, as `environments.episode.Scored` has it."""


class Artefact(NamedTuple):
    """One version of one asset."""

    key: str
    """`stage/asset`."""
    data_version: str
    """Content hash."""
    kind: str
    """`table`, `checkpoint`, `file`."""
    path: str
    """Where it lies."""
    run_id: str = ""
    """The run that made it; empty when made by hand."""
    numbers: Mapping[str, Any] = {}
    """What is worth plotting over versions."""


class Outcome(NamedTuple):
    """How one attempt at a task ended."""

    stage: str
    """The asset it was made for, `stage/asset`."""
    result_key: str
    """Digest over everything that scored: world, tools, verifier, sampler, policy ..."""
    task_id: str
    """The task."""
    attempt: int
    """0 .. K - 1."""
    policy: str
    """Version of the policy."""
    status: Literal["scored", "no_result", "invalid"]
    """Only `scored` has a reward."""
    reward: float | None = None
    """0 to 1, or nothing."""


class LedgerEntry(NamedTuple):
    """What the capability ledger holds of one task under one result key, over all stages that probed it."""

    result_key: str
    """Digest; another policy, world, verifier or sampler has another."""
    task_id: str
    """The task."""
    scored: int
    """Attempts that were graded."""
    won: int
    """Those that were perfect."""
    next_attempt: int
    """Number after the last attempt on record, graded or not."""
    last: int
    """Grows with time: place of the last attempt in the ledger."""
    key: ResultKey | None
    """What the digest stands for; None where that was never recorded."""


class Consumed(NamedTuple):
    """Rows served between two optimiser steps, both included."""

    checkpoint: str
    """Version of the checkpoint that learned from them."""
    first_step: int
    """First step of the window."""
    last_step: int
    """Last step of the window."""
    row_ids: Sequence[str]
    """In the order served."""
    digest: str
    """Hash over them, as sealed beside the checkpoint."""


class Registry(dg.ConfigurableResource):
    """Facts about artefacts, in a database."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    url: str
    """SQLAlchemy URL: `sqlite:////abs/registry.db` or `postgresql://user@host/name`."""

    def record_artefact(self, artefact: Artefact, upstream: Sequence[tuple[str, str]] = ()) -> None:
        """Keep one artefact and what it was made from.

        Args:
            artefact: the first record of a (key, data version) stays: identical work re-done is the same artefact.
            upstream: (key, data version) of each input; all must be recorded already.

        Raises:
            RegistryError: an input was never recorded, or the database cannot be reached.
        """
        with self.session() as session:
            _insert_new(session, ArtefactRow, [artefact._asdict()])
            made = _artefact_id(session, artefact.key, artefact.data_version)
            edges = [{"upstream": _artefact_id(session, *version), "downstream": made} for version in upstream]
            _insert_new(session, EdgeRow, edges)

    def artefact(self, key: str, data_version: str | None = None) -> Artefact | None:
        """One version of an asset, the latest recorded when no version is named; None when there is none."""
        wanted = select(ArtefactRow).where(ArtefactRow.key == key).order_by(ArtefactRow.id.desc()).limit(1)
        if data_version is not None:
            wanted = wanted.where(ArtefactRow.data_version == data_version)
        with self.session() as session:
            row = session.scalar(wanted)
            return None if row is None else _artefact(row)

    def made_from(self, key: str, data_version: str) -> list[Artefact]:
        """What went directly into this artefact, by key."""
        below, above = aliased(ArtefactRow), aliased(ArtefactRow)
        wanted = select(above).join(EdgeRow, EdgeRow.upstream == above.id).join(below, EdgeRow.downstream == below.id)
        wanted = wanted.where(below.key == key, below.data_version == data_version).order_by(above.key, above.id)
        return self._artefacts(wanted)

    def made_into(self, key: str, data_version: str) -> list[Artefact]:
        """What was directly made from this artefact, by key."""
        below, above = aliased(ArtefactRow), aliased(ArtefactRow)
        wanted = select(below).join(EdgeRow, EdgeRow.downstream == below.id).join(above, EdgeRow.upstream == above.id)
        wanted = wanted.where(above.key == key, above.data_version == data_version).order_by(below.key, below.id)
        return self._artefacts(wanted)

    def record_outcomes(self, outcomes: Sequence[Outcome]) -> int:
        """Keep how attempts ended; returns how many were new.

        Raises:
            RegistryError: an attempt is recorded with another outcome, or a reward contradicts its status.
        """
        names = ("stage", "result_key", "task_id", "attempt")
        with self.session() as session:
            return _insert_same(session, EpisodeRow, [o._asdict() for o in outcomes], names)

    def outcomes(self, stage: str | None = None, result_key: str | None = None) -> list[Outcome]:
        """Recorded attempts of a stage, or of all, by result key, task and attempt."""
        wanted = select(EpisodeRow).order_by(
            EpisodeRow.result_key, EpisodeRow.task_id, EpisodeRow.attempt, EpisodeRow.stage
        )
        if stage is not None:
            wanted = wanted.where(EpisodeRow.stage == stage)
        if result_key is not None:
            wanted = wanted.where(EpisodeRow.result_key == result_key)
        with self.session() as session:
            return [Outcome(*(getattr(row, name) for name in Outcome._fields)) for row in session.scalars(wanted)]

    def record_result_key(self, key: ResultKey) -> None:
        """Keep what the digest of a result key stands for.

        Raises:
            RegistryError: the digest stands for something else.
        """
        with self.session() as session:
            _insert_same(session, ResultKeyRow, [{"digest": key.digest, **key.model_dump()}], ("digest",))

    def ledger(self) -> list[LedgerEntry]:
        """The capability ledger, summed by result key and task, in that order."""
        scored = EpisodeRow.status == "scored"
        sums = (
            func.sum(case((scored, 1), else_=0)),
            func.sum(case((scored & (EpisodeRow.reward >= WON), 1), else_=0)),
            func.max(EpisodeRow.attempt) + 1,
            func.max(EpisodeRow.id),
        )
        names = (EpisodeRow.result_key, EpisodeRow.task_id)
        with self.session() as session:
            keys = {row.digest: _result_key(row) for row in session.scalars(select(ResultKeyRow))}
            rows = session.execute(select(*names, *sums).group_by(*names).order_by(*names)).all()
        return [LedgerEntry._make((*row, keys.get(row[0]))) for row in rows]

    def record_consumed(self, windows: Sequence[Consumed]) -> int:
        """Keep which rows were served when; returns how many windows were new.

        Raises:
            RegistryError: a window is recorded with other rows.
        """
        rows = [window._asdict() | {"row_ids": list(window.row_ids)} for window in windows]
        with self.session() as session:
            return _insert_same(session, ConsumedRow, rows, ("checkpoint", "first_step", "last_step"))

    def consumed(self, checkpoint: str) -> list[Consumed]:
        """The windows of a checkpoint, in step order."""
        wanted = select(ConsumedRow).where(ConsumedRow.checkpoint == checkpoint).order_by(ConsumedRow.first_step)
        with self.session() as session:
            return [Consumed(*(getattr(row, name) for name in Consumed._fields)) for row in session.scalars(wanted)]

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A transaction: kept when the block ends well, undone when it raises.

        Raises:
            RegistryError: the database cannot be reached, or a row breaks one of its constraints.
        """
        with Session(ready_engine(self.url)) as session:
            try:
                with session.begin():
                    yield session
            except IntegrityError as error:
                raise RegistryError(
                    f"the registry refused a row: {error.orig}; values: {error.params!r:.300}"
                ) from error

    def _artefacts(self, wanted: Select[ArtefactRow]) -> list[Artefact]:
        with self.session() as session:
            return [_artefact(row) for row in session.scalars(wanted)]


def _artefact(row: ArtefactRow) -> Artefact:
    return Artefact(row.key, row.data_version, row.kind, row.path, row.run_id, row.numbers)


def _result_key(row: ResultKeyRow) -> ResultKey:
    return ResultKey(**{name: getattr(row, name) for name in ResultKey.model_fields})


def _artefact_id(session: Session, key: str, data_version: str) -> int:
    wanted = select(ArtefactRow.id).where(ArtefactRow.key == key, ArtefactRow.data_version == data_version)
    found = session.scalar(wanted)
    if found is None:
        raise RegistryError(f"{key} in version {data_version} was never recorded: record what it is made from first")
    return found


def _insert_new(session: Session, table: type[Base], rows: Sequence[Mapping[str, Any]]) -> int:
    """Insert the rows that are not there yet, in batches; returns how many were new."""
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    new = 0
    for start in range(0, len(rows), ROWS_AT_ONCE):
        batch = rows[start : start + ROWS_AT_ONCE]
        statement = insert(table).values(list(batch)).on_conflict_do_nothing()
        new += len(session.execute(statement.returning(*table.__table__.primary_key)).all())
    return new


def _insert_same(session: Session, table: type[Base], rows: Sequence[Mapping[str, Any]], names: tuple[str, ...]) -> int:
    """Insert new rows, and insist that those already there say the same.

    Raises:
        RegistryError: a row of the same name has other values.
    """
    new = _insert_new(session, table, rows)
    name_columns = tuple_(*(getattr(table, name) for name in names))
    for start in range(0, len(rows), ROWS_AT_ONCE):
        batch = {tuple(row[name] for name in names): row for row in rows[start : start + ROWS_AT_ONCE]}
        for kept in session.scalars(select(table).where(name_columns.in_(list(batch)))):
            given = batch[tuple(getattr(kept, name) for name in names)]
            other = {k: (getattr(kept, k), v) for k, v in given.items() if getattr(kept, k) != v}
            if other:
                where = ", ".join(f"{name}={given[name]}" for name in names)
                says = "; ".join(f"{k} {was!r:.80} recorded, {now!r:.80} given" for k, (was, now) in other.items())
                raise RegistryError(
                    f"{table.__tablename__} {where}: {says}. One of the two is wrong; nothing was written"
                )
    return new
