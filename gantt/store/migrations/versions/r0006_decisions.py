"""What was decided lately, by whichever process.

It only adds a table, so that whoever still runs the release before can go on until the
last process is replaced; what that release decides, only its own processes tell.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from gantt.store.migrations.steps import create_table

revision = "0006_decisions"
down_revision = "0005_usage"
branch_labels = None
depends_on = None

_EXACT = {"charset": "utf8mb4", "collation": "utf8mb4_bin"}


def upgrade() -> None:
    text = sa.String(255).with_variant(mysql.VARCHAR(255, **_EXACT), "mysql")
    long = sa.Text().with_variant(mysql.LONGTEXT(**_EXACT), "mysql")
    create_table(
        "gantt_decisions",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            primary_key=True,
        ),
        sa.Column("process", text, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("request_id", text, nullable=False),
        sa.Column("project_id", text),
        sa.Column("is_refused", sa.Boolean(), nullable=False),
        sa.Column("instances", sa.Integer(), nullable=False),
        sa.Column("instance_uuids", long, nullable=False),
        sa.Column("record", sa.LargeBinary(2**31 - 1), nullable=False),
    )
    if op.get_bind().dialect.name == "postgresql":
        # To compress what is soon gone would cost as much as to insert it.
        op.execute("ALTER TABLE gantt_decisions SET (toast_tuple_target = 8160)")


def downgrade() -> None:
    op.drop_table("gantt_decisions")
