"""Maps hosts that Nova's API database does not know to the cell that they are in.

A new compute only writes rows in its cell. Until it is mapped, conductors cannot reach
it. Column names are facts of Nova 34.0.0.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from gantt.conf import FeedOptions
from gantt.errors import GanttError
from gantt.openstack.feed.cell_mappings import (
    CellMapping,
    open_cell,
    read_mappings,
    with_user,
)
from gantt.openstack.feed.nova_connection import NovaDatabase

LOG = logging.getLogger(__name__)

_HOSTS: Final = sa.Table(
    "host_mappings",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("created_at", sa.DateTime),
    sa.Column("cell_id", sa.Integer),
    sa.Column("host", sa.String(255)),
)
_NODES: Final = sa.Table(
    "compute_nodes",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("host", sa.String(255)),
    sa.Column("mapped", sa.Integer),
    sa.Column("deleted", sa.Integer),
)
# Nodes of one cell that one turn maps; the next turn goes on.
MOST: Final = 1_000


class Discovery:
    """``options``: with a user that may write. ``mapped``: hosts so far; ``cut``: turns
    over a cell that reached their limit."""

    def __init__(self, options: FeedOptions) -> None:
        self._options = options
        self._api = NovaDatabase(
            "Nova's API database",
            with_user(options.api_url, options),
            options.feed_timeout,
            writes=True,
        )
        self._cells: dict[str, NovaDatabase] = {}
        self.mapped = self.cut = 0

    def map_hosts(self, now: datetime) -> None:
        """One turn over all cells; a cell that fails does not keep the others. Raises
        Refused, StoreFailed, for the last that failed."""
        failure: GanttError | None = None
        cells, _ = read_mappings(self._api, self._options)
        for cell in cells:
            try:
                self._map_cell(cell, now)
            except GanttError as error:
                failure = error
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Close all connections that are not in use."""
        for database in (self._api, *self._cells.values()):
            database.close()

    def _map_cell(self, cell: CellMapping, now: datetime) -> None:
        database = self._cells.get(cell.url)
        if database is None:
            database = open_cell(cell, self._options, writes=True)
            self._cells[cell.url] = database
        nodes = database.rows(
            sa.select(_NODES.c.id, _NODES.c.host)
            .where(_NODES.c.mapped < 1, _NODES.c.deleted == 0)
            .limit(MOST)
        )
        self.cut += len(nodes) == MOST
        for number, host in nodes:
            if self._map_host(cell, host, now):
                LOG.info("Mapped host %s to cell %s", host, cell.name)
                self.mapped += 1
            database.write(
                sa.update(_NODES).where(_NODES.c.id == number).values(mapped=1)
            )

    def _map_host(self, cell: CellMapping, host: str, now: datetime) -> bool:
        """Whether it was not mapped yet."""
        known = self._api.rows(sa.select(_HOSTS.c.cell_id).where(_HOSTS.c.host == host))
        if not known:
            values = {"created_at": now, "cell_id": cell.number, "host": host}
            return bool(self._api.write(sa.insert(_HOSTS).values(values)))
        if known[0][0] != cell.number:
            LOG.warning(
                "Host %s of cell %s is mapped to another cell already: give hosts of "
                "different cells different names",
                host,
                cell.name,
            )
        return False
