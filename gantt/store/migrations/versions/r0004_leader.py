"""The leader of the leader tasks: compaction and the end of leases.

Processes of the release before do these tasks without looking at it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from gantt.store.columns import key, required, texts
from gantt.store.migrations.steps import create_table

revision = "0004_leader"
down_revision = "0003_fleet"


def upgrade() -> None:
    beat = required(sa.BigInteger, "beat")
    create_table("gantt_leader", key("id"), *texts("holder"), *beat)


def downgrade() -> None:
    op.drop_table("gantt_leader")
