"""When hosts were heard of last, as the processes that took their reports wrote it.

Processes of the release before write and read none.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from gantt.store.columns import key, required
from gantt.store.migrations.steps import create_table

revision = "0009_heartbeats"
down_revision = "0008_topology"


def upgrade() -> None:
    create_table(
        "gantt_heartbeats",
        key("host_id"),
        *required(sa.BigInteger, "heard_at"),
    )


def downgrade() -> None:
    op.drop_table("gantt_heartbeats")
