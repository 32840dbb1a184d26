"""OpenStack Placement from its installed package, in this process, on one database.

It keeps its engine, its policy and what it has synchronized in modules, so that there
is one for a process and it is wiped for every world. Its code is run, never kept here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sqlalchemy as sa
import sqlalchemy.orm
from oslo_config import cfg
from placement import conf, db_api, deploy
from placement.db.sqlalchemy import migration, models

from tests.api.wsgi_client import WsgiClient

# Classes and traits below these are the standard ones, and stay.
FIRST_CUSTOM_CLASS = 10_000
CUSTOM = "CUSTOM\\_%"


class Upstream:
    """``call`` sends a request; the rest looks at the books behind it."""

    def __init__(self) -> None:
        options = cfg.ConfigOpts()
        conf.register_opts(options)
        for group, name, value in (
            ("placement_database", "connection", "sqlite://"),
            ("api", "auth_strategy", "noauth2"),
            ("oslo_policy", "enforce_new_defaults", False),
        ):
            options.set_override(name, value, group)
        options([], project="placement", default_config_files=[])
        db_api.configure(options)
        self._engine: sa.Engine = db_api.get_placement_engine()
        migration.create_schema(self._engine)
        self.app = deploy.loadapp(options)
        self.call = WsgiClient(self.app)

    def wipe(self) -> None:
        """Back to books without anything but the standard names."""
        with self._engine.begin() as connection:
            for table in reversed(models.BASE.metadata.sorted_tables):
                connection.execute(table.delete().where(*_not_standard(table)))

    def providers(self) -> dict[str, tuple[str, int, str | None]]:
        """Name, generation and parent of each, faster than by asking the service."""
        child, parent = models.ResourceProvider, sa.orm.aliased(models.ResourceProvider)
        columns = child.uuid, child.name, child.generation, parent.uuid
        asked = sa.select(*columns).outerjoin(
            parent, child.parent_provider_id == parent.id
        )
        with self._engine.begin() as connection:
            return {
                uuid: (name, generation, above)
                for uuid, name, generation, above in connection.execute(asked)
            }

    def ghosts(self) -> frozenset[str]:
        """Consumers without allocations."""
        with self._engine.begin() as connection:
            return frozenset(connection.scalars(sa.select(_CONSUMER).where(_IS_GHOST)))

    def lay_ghosts(self) -> None:
        """Forget consumers without allocations."""
        with self._engine.begin() as connection:
            connection.execute(sa.delete(models.Consumer).where(_IS_GHOST))


_CONSUMER = models.Consumer.uuid
_IS_GHOST = ~_CONSUMER.in_(sa.select(models.Allocation.consumer_id))


def _not_standard(table: Any) -> list[Any]:
    if table.name == "resource_classes":
        return [table.c.id >= FIRST_CUSTOM_CLASS]
    if table.name == "traits":
        return [table.c.name.like(CUSTOM, escape="\\")]
    return []


@cache
def upstream() -> Upstream:
    """The one of this process."""
    return Upstream()
