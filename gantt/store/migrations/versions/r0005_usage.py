"""Capacity and use by resource class and period.

While a process of the release before leads, no sample is taken.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from gantt.store.columns import exact, key, required
from gantt.store.migrations.steps import create_table

revision = "0005_usage"
down_revision = "0004_leader"


def upgrade() -> None:
    create_table(
        "gantt_usage_history",
        key("period"),
        key("start", sa.BigInteger),
        sa.Column("resource_class", exact(), primary_key=True),
        *required(sa.Integer, "samples"),
        *required(sa.Double, "capacity", "used_min", "used_avg", "used_max"),
    )


def downgrade() -> None:
    op.drop_table("gantt_usage_history")
