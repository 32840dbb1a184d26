"""Gantt's own tables: the head that is locked, the log, the fingerprint.

Apart from the books, because this is all that adopting a database adds to it.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

from gantt.store.migrations.steps import create_table

revision = "0002_gate"
down_revision = "0001_books"
branch_labels = None
depends_on = None

FORMAT = 1


def upgrade() -> None:
    create_table(
        "gantt_head",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("identity", sa.String(36), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("format", sa.Integer(), nullable=False),
        sa.Column("compacted_to", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        rows=[
            {
                "id": 1,
                "identity": str(uuid.uuid4()),
                "epoch": 1,
                "format": FORMAT,
                "compacted_to": 0,
                "created_at": datetime.now(UTC).replace(tzinfo=None),
            }
        ],
    )
    create_table(
        "gantt_log",
        sa.Column(
            "revision",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("batch", sa.String(36), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("request_id", sa.String(255), nullable=False),
        sa.Column("changes", sa.LargeBinary(2**31 - 1), nullable=False),
    )
    create_table(
        "gantt_fingerprint",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("batch", sa.String(36), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        rows=[{"id": 1, "revision": 0, "batch": "", "facts": ""}],
    )


def downgrade() -> None:
    for table in ("gantt_fingerprint", "gantt_log", "gantt_head"):
        op.drop_table(table)
