"""Facts of their own: cells, agents, operators' words, the group of agents, the switch.

They stood among the services. Processes of the release before would not find them, and
would write them where this release does not look: so a new log begins in format 2,
whereupon they stop.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from gantt.store import head
from gantt.store.columns import exact, required, row_id, texts, unique
from gantt.store.migrations.steps import create_table

revision = "0013_facts"
down_revision = "0012_answered"

FORMAT = 2
_KINDS = {
    "nova-cell": "cell",
    "gantt-agent": "agent",
    "gantt-operator": "operator",
    "gantt-liveness": "liveness",
    "gantt-scheduler": "switch",
}
_SERVICES = sa.table(
    "gantt_services",
    *map(sa.column, ("id", "created_at", "updated_at", "host", "binary", "disabled")),
    *map(sa.column, ("forced_down", "last_seen_up", "disabled_reason")),
)
_HEAD = sa.table("gantt_head", sa.column("format"))
_LOG = sa.table("gantt_log", sa.column("revision"))
_FACTS = sa.table(
    "gantt_facts",
    *map(sa.column, ("id", "created_at", "updated_at", "kind", "subject", "disabled")),
    *map(sa.column, ("away", "at", "reason")),
)


def upgrade() -> None:
    create_table(
        "gantt_facts",
        *row_id(),
        *required(exact(32), "kind"),
        *texts("subject"),
        *required(sa.Boolean, "disabled", "away"),
        sa.Column("at", sa.BigInteger),
        sa.Column("reason", exact()),
        unique("gantt_facts", "kind", "subject"),
    )
    # MariaDB ended the transaction with the table: what follows is one of its own.
    connection = op.get_bind()
    was = head.lock(connection)
    for binary, kind in _KINDS.items():
        _move(connection, binary, kind)
    if was == FORMAT - 1:
        _raise_format(connection)


def _move(connection: sa.Connection, binary: str, kind: str) -> None:
    """Facts keep the ids that they had as services."""
    mine = _SERVICES.c.binary == binary
    if kind == "switch":
        mine &= _SERVICES.c.host == ""
    s = _SERVICES.c
    moved = sa.select(
        s.id,
        s.created_at,
        s.updated_at,
        sa.literal_column(f"'{kind}'"),
        s.host,
        s.disabled,
        s.forced_down,
        s.last_seen_up,
        s.disabled_reason,
    ).where(mine)
    connection.execute(sa.insert(_FACTS).from_select(list(_FACTS.c.keys()), moved))
    connection.execute(sa.delete(_SERVICES).where(mine))


def _raise_format(connection: sa.Connection) -> None:
    """Where nothing was ever written there is no process to stop."""
    if connection.execute(sa.select(_LOG.c.revision).limit(1)).first() is None:
        connection.execute(sa.update(_HEAD).values(format=FORMAT))
    else:
        head.begin_history(connection, head.UPGRADE, becomes=FORMAT)


def downgrade() -> None:
    for binary, kind in _KINDS.items():
        f = _FACTS.c
        told = sa.select(
            f.id,
            f.created_at,
            f.updated_at,
            f.subject,
            sa.literal_column(f"'{binary}'"),
            f.disabled,
            f.away,
            f.at,
            f.reason,
        ).where(f.kind == kind)
        op.get_bind().execute(
            sa.insert(_SERVICES).from_select(list(_SERVICES.c.keys()), told)
        )
    op.drop_table("gantt_facts")
