"""Why a service is disabled, as an operator or Nova said.

Processes of the release before neither read nor write this column.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from gantt.store.columns import exact
from gantt.store.migrations.steps import add_column

revision = "0010_reasons"
down_revision = "0009_heartbeats"

_TABLE = "gantt_services"


def upgrade() -> None:
    add_column(_TABLE, sa.Column("disabled_reason", exact()))


def downgrade() -> None:
    op.drop_column(_TABLE, "disabled_reason")
