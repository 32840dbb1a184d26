"""Capacity and use by zone, resource class and period.

While a process of the release before leads, no sample of zones is taken, and what it
drops of the whole fleet's history the next leader drops of the zones'.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from gantt.store.columns import exact, key, required
from gantt.store.migrations.steps import create_table

revision = "0011_zone_usage"
down_revision = "0010_reasons"


def upgrade() -> None:
    create_table(
        "gantt_zone_usage",
        key("period"),
        key("start", sa.BigInteger),
        sa.Column("zone", exact(), primary_key=True),
        sa.Column("resource_class", exact(), primary_key=True),
        *required(sa.Integer, "samples"),
        *required(sa.Double, "capacity", "used_min", "used_avg", "used_max"),
    )


def downgrade() -> None:
    op.drop_table("gantt_zone_usage")
