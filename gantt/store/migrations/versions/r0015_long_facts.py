"""Facts of any length: a demand that waits is one, with all that it asks for."""

from __future__ import annotations

from alembic import op

from gantt.store.columns import Json, exact

revision = "0015_long_facts"
down_revision = "0014_bookings"

_TABLE = "gantt_facts"


def upgrade() -> None:
    with op.batch_alter_table(_TABLE) as table:
        table.alter_column("reason", existing_type=exact(), type_=Json)


def downgrade() -> None:
    """Demands go: the release before knows none."""
    op.execute(f"DELETE FROM {_TABLE} WHERE kind = 'demand'")  # noqa: S608
    with op.batch_alter_table(_TABLE) as table:
        table.alter_column("reason", existing_type=Json, type_=exact())
