"""How much there was and how much of it was used, by resource class and period.

It only adds a table, so that whoever still runs the release before can go on until the
last process is replaced; as long as that release leads the chores, no sample is taken.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from gantt.store.migrations.steps import create_table

revision = "0005_usage"
down_revision = "0004_leader"
branch_labels = None
depends_on = None

_EXACT = {"charset": "utf8mb4", "collation": "utf8mb4_bin"}


def upgrade() -> None:
    create_table(
        "gantt_usage_history",
        sa.Column("period", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("start", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column(
            "resource_class",
            sa.String(255).with_variant(mysql.VARCHAR(255, **_EXACT), "mysql"),
            primary_key=True,
        ),
        sa.Column("samples", sa.Integer(), nullable=False),
        sa.Column("capacity", sa.Double(), nullable=False),
        sa.Column("used_min", sa.Double(), nullable=False),
        sa.Column("used_avg", sa.Double(), nullable=False),
        sa.Column("used_max", sa.Double(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("gantt_usage_history")
