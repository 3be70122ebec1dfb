"""Artefacts, edges, episodes, consumed rows."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the four tables."""
    op.create_table(
        "artefacts",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("data_version", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("numbers", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("key", "data_version", name="uq_artefacts_key"),
    )
    _create_edges()
    _create_episodes()
    op.create_table(
        "consumed",
        sa.Column("checkpoint", sa.String(200), primary_key=True),
        sa.Column("first_step", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("last_step", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("row_ids", sa.JSON(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
    )


def downgrade() -> None:
    """Drop them, the referring ones first."""
    for table in ("consumed", "episodes", "edges", "artefacts"):
        op.drop_table(table)


def _create_edges() -> None:
    op.create_table(
        "edges",
        sa.Column("upstream", sa.Integer(), sa.ForeignKey("artefacts.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("downstream", sa.Integer(), sa.ForeignKey("artefacts.id", ondelete="CASCADE"), primary_key=True),
    )
    op.create_index("ix_edges_downstream", "edges", ["downstream"])


def _create_episodes() -> None:
    op.create_table(
        "episodes",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("stage", sa.String(200), nullable=False),
        sa.Column("result_key", sa.String(64), nullable=False),
        sa.Column("task_id", sa.String(200), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("policy", sa.String(200), nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("reward", sa.Double(), nullable=True),
        sa.UniqueConstraint("stage", "result_key", "task_id", "attempt", name="uq_episodes_stage"),
        sa.CheckConstraint("status IN ('scored', 'no_result', 'invalid')", name="status"),
        sa.CheckConstraint("(status = 'scored') = (reward IS NOT NULL)", name="only_scored_has_a_reward"),
        sa.CheckConstraint("reward IS NULL OR (reward >= 0 AND reward <= 1)", name="reward_in_unit_interval"),
    )
    op.create_index("ix_episodes_policy", "episodes", ["policy"])
