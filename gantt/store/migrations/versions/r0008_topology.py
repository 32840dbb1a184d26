"""What claims promise of NUMA cells and devices, and when their instances were named.

Processes of the release before neither read nor write these columns: they refuse
requests that would need them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from gantt.store.columns import Json
from gantt.store.migrations.steps import add_column

revision = "0008_topology"
down_revision = "0007_shadow"

_TABLE = "gantt_claims"


def upgrade() -> None:
    add_column(_TABLE, sa.Column("topology", Json))
    add_column(_TABLE, sa.Column("counted_at", sa.BigInteger))


def downgrade() -> None:
    op.drop_column(_TABLE, "counted_at")
    op.drop_column(_TABLE, "topology")
