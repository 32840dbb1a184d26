"""Which request a claim answers, so that the same one again is told from another.

Claims of processes of the release before have none: a request for their instances is
another one.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from gantt.store.columns import Json
from gantt.store.migrations.steps import add_column

revision = "0012_answered"
down_revision = "0011_zone_usage"

_TABLE = "gantt_claims"


def upgrade() -> None:
    add_column(_TABLE, sa.Column("answered", Json))


def downgrade() -> None:
    op.drop_column(_TABLE, "answered")
