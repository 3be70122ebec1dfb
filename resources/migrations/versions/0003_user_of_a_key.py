"""The user of a result key: an attempt at a task with several turns is scored under who spoke for the user."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column; keys from before had no user."""
    op.add_column("result_keys", sa.Column("user", sa.String(), nullable=False, server_default="none"))


def downgrade() -> None:
    """Forget it."""
    op.drop_column("result_keys", "user")
