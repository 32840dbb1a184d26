"""Who leads the chores: compaction and the end of leases.

It only adds a table, so that whoever still runs the release before can go on until the
last process is replaced; that release does its chores without asking who leads.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from gantt.store.migrations.steps import create_table

revision = "0004_leader"
down_revision = "0003_fleet"
branch_labels = None
depends_on = None

_EXACT = {"charset": "utf8mb4", "collation": "utf8mb4_bin"}


def upgrade() -> None:
    create_table(
        "gantt_leader",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column(
            "holder",
            sa.String(255).with_variant(mysql.VARCHAR(255, **_EXACT), "mysql"),
            nullable=False,
        ),
        sa.Column("beat", sa.BigInteger(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("gantt_leader")
