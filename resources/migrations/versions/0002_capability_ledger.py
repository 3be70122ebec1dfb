"""Result keys by their parts, episodes found by key, and a ledger that only grows."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

LEDGER = ("episodes", "result_keys")
PARTS = ("world", "tools", "verifier", "judge", "rubric", "sampler", "template")
REFUSAL = "the capability ledger only grows: a row is never changed or deleted"


def upgrade() -> None:
    """Create the keys' table and the index, and make both tables of the ledger append-only."""
    op.create_table(
        "result_keys",
        sa.Column("digest", sa.String(64), primary_key=True),
        *(sa.Column(part, sa.String(), nullable=False) for part in PARTS),
        sa.Column("policy", sa.String(200), nullable=False),
    )
    op.create_index("ix_episodes_result_key", "episodes", ["result_key"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE FUNCTION ledger_only_grows() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
        )
    for table in LEDGER:
        _refuse_changes(table)


def downgrade() -> None:
    """Let the ledger be changed again, and drop what was added."""
    postgres = op.get_bind().dialect.name == "postgresql"
    for table in LEDGER:
        for change in ("update", "delete"):
            op.execute(f"DROP TRIGGER {table}_no_{change}{f' ON {table}' if postgres else ''}")
    if postgres:
        op.execute("DROP FUNCTION ledger_only_grows()")
    op.drop_index("ix_episodes_result_key", "episodes")
    op.drop_table("result_keys")


def _refuse_changes(table: str) -> None:
    for change in ("update", "delete"):
        head = f"CREATE TRIGGER {table}_no_{change} BEFORE {change.upper()} ON {table} FOR EACH ROW"
        if op.get_bind().dialect.name == "postgresql":
            op.execute(f"{head} EXECUTE FUNCTION ledger_only_grows()")
        else:
            op.execute(f"{head} BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END")
