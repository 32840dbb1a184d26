"""The latest decisions of all processes.

Those of processes of the release before are found in these processes alone.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from gantt.store.columns import Bytes, Json, Revision, exact, required, texts
from gantt.store.migrations.steps import create_table

revision = "0006_decisions"
down_revision = "0005_usage"


def upgrade() -> None:
    create_table(
        "gantt_decisions",
        sa.Column("id", Revision, primary_key=True),
        *texts("process"),
        *required(sa.BigInteger, "number", "at"),
        *texts("request_id"),
        sa.Column("project_id", exact()),
        *required(sa.Boolean, "is_refused"),
        *required(sa.Integer, "instances"),
        *required(Json, "instance_uuids"),
        *required(Bytes, "record"),
    )
    if op.get_bind().dialect.name == "postgresql":
        # To compress rows that are soon deleted would cost as much as to insert them.
        op.execute("ALTER TABLE gantt_decisions SET (toast_tuple_target = 8160)")


def downgrade() -> None:
    op.drop_table("gantt_decisions")
