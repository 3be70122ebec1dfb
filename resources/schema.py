"""The registry's tables: artefacts, the edges between them, episodes, their keys, and the rows that training consumed.

Episodes and their keys are the capability ledger: rows are added, and the database refuses to change or delete one.

Values here are small facts to be asked across stages; the rows themselves lie in the lake. A change to this file needs
a migration (`resources/migrations/versions/`); a test compares the two.
"""

from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import JSON, CheckConstraint, DateTime, Double, ForeignKey, MetaData, String, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

CONSTRAINT_NAMES: Final = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """Common ground of the tables; named constraints, so that a migration can drop each of them."""

    metadata = MetaData(naming_convention=CONSTRAINT_NAMES)


class ArtefactRow(Base):
    """One version of one asset."""

    __tablename__ = "artefacts"
    __table_args__ = (UniqueConstraint("key", "data_version"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(200))
    data_version: Mapped[str] = mapped_column(String(64))
    kind: Mapped[str] = mapped_column(String(40))
    path: Mapped[str]
    run_id: Mapped[str] = mapped_column(String(64))
    numbers: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), default=lambda: datetime.now(UTC))


class EdgeRow(Base):
    """`downstream` was made from `upstream`."""

    __tablename__ = "edges"

    upstream: Mapped[int] = mapped_column(ForeignKey("artefacts.id", ondelete="CASCADE"), primary_key=True)
    downstream: Mapped[int] = mapped_column(
        ForeignKey("artefacts.id", ondelete="CASCADE"), primary_key=True, index=True
    )


class EpisodeRow(Base):
    """One attempt's outcome. Only `scored` has a reward: the constraint keeps the other two out of every mean."""

    __tablename__ = "episodes"
    __table_args__ = (
        UniqueConstraint("stage", "result_key", "task_id", "attempt"),
        CheckConstraint("status IN ('scored', 'no_result', 'invalid')", name="status"),
        CheckConstraint("(status = 'scored') = (reward IS NOT NULL)", name="only_scored_has_a_reward"),
        CheckConstraint("reward IS NULL OR (reward >= 0 AND reward <= 1)", name="reward_in_unit_interval"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    stage: Mapped[str] = mapped_column(String(200))
    result_key: Mapped[str] = mapped_column(String(64), index=True)
    task_id: Mapped[str] = mapped_column(String(200))
    attempt: Mapped[int]
    policy: Mapped[str] = mapped_column(String(200), index=True)
    status: Mapped[str] = mapped_column(String(10))
    reward: Mapped[float | None] = mapped_column(Double)


class ResultKeyRow(Base):
    """What an episode's result key stands for; results of different keys never mix."""

    __tablename__ = "result_keys"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    world: Mapped[str]
    tools: Mapped[str]
    verifier: Mapped[str]
    judge: Mapped[str]
    rubric: Mapped[str]
    user: Mapped[str] = mapped_column(server_default="none")
    sampler: Mapped[str]
    template: Mapped[str]
    policy: Mapped[str] = mapped_column(String(200))


class ConsumedRow(Base):
    """The rows that the loader served in one window of optimiser steps."""

    __tablename__ = "consumed"

    checkpoint: Mapped[str] = mapped_column(String(200), primary_key=True)
    first_step: Mapped[int] = mapped_column(primary_key=True)
    last_step: Mapped[int] = mapped_column(primary_key=True)
    row_ids: Mapped[list[str]] = mapped_column(JSON)
    digest: Mapped[str] = mapped_column(String(64))
