"""What alembic runs: the connection comes from ``gantt.store.schema``.

It is a file of its own because alembic asks for it by this name. Gantt keeps its
place in a version table of its own: ``alembic_version`` belongs to Placement.
"""

from __future__ import annotations

from alembic import context

from gantt.store.tables import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
