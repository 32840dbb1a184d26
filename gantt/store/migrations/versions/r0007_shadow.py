"""The latest shadow records of all processes.

Processes of the release before write and read none.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from gantt.store.columns import Bytes, Revision, exact, required, texts
from gantt.store.migrations.steps import create_table

revision = "0007_shadow"
down_revision = "0006_decisions"


def upgrade() -> None:
    create_table(
        "gantt_shadow",
        sa.Column("id", Revision, primary_key=True),
        *required(sa.BigInteger, "at"),
        *texts("request_id"),
        sa.Column("instance_uuid", exact()),
        *texts("verdict"),
        *required(Bytes, "record"),
    )


def downgrade() -> None:
    op.drop_table("gantt_shadow")
