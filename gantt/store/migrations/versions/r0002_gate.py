"""Gantt's own tables: the head that is locked, the log, the fingerprint.

Apart from the books, because this is all that adopting a database adds to it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import sqlalchemy as sa
from alembic import op

from gantt.store.columns import Bytes, Revision, key, required
from gantt.store.migrations.steps import create_table

revision = "0002_gate"
down_revision = "0001_books"

FORMAT = 1


def upgrade() -> None:
    head = {
        "id": 1,
        "identity": str(uuid4()),
        "epoch": 1,
        "format": FORMAT,
        "compacted_to": 0,
        "created_at": datetime.now(UTC).replace(tzinfo=None),
    }
    create_table(
        "gantt_head",
        key("id"),
        *required(sa.String(36), "identity"),
        *required(sa.Integer, "epoch", "format"),
        *required(sa.BigInteger, "compacted_to"),
        *required(sa.DateTime, "created_at"),
        rows=[head],
    )
    create_table(
        "gantt_log",
        key("revision", Revision),
        *required(sa.String(36), "batch"),
        *required(sa.BigInteger, "at"),
        *required(sa.String(64), "kind"),
        *required(sa.String(255), "request_id"),
        *required(Bytes, "changes"),
    )
    create_table(
        "gantt_fingerprint",
        key("id"),
        *required(sa.BigInteger, "revision"),
        *required(sa.String(36), "batch"),
        *required(sa.Text, "facts"),
        rows=[{"id": 1, "revision": 0, "batch": "", "facts": ""}],
    )


def downgrade() -> None:
    for table in ("gantt_fingerprint", "gantt_log", "gantt_head"):
        op.drop_table(table)
