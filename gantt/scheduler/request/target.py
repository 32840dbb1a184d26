"""The tree of the one host that a request names, so that no other is searched.

Separate from the mask of named hosts (``targets``): this distinguishes a host that does
not exist from one without room.
"""

from __future__ import annotations

from gantt.errors import NoValidHost
from gantt.model.spec import RequestSpec
from gantt.state.fleet import Fleet


def target_tree(spec: RequestSpec, fleet: Fleet) -> str | None:
    """The provider of the host that ``spec`` names; None: it names none, or one of
    several nodes, or one without a provider. Raises NoValidHost: it does not exist."""
    destination = spec.requested_destination
    host = destination.host if destination else None
    node = destination.node if destination else None
    host = host or (spec.force_hosts[0] if spec.force_hosts else None)
    node = node or (spec.force_nodes[0] if spec.force_nodes else None)
    if not (host or node):
        return None
    rows = _rows(fleet, host, node)
    cell = destination.cell_uuid if destination else None
    if cell and destination and not destination.allow_cross_cell_move:
        rows = [row for row in rows if fleet.hosts.cells[row] in (cell, None)]
    if not rows:
        raise NoValidHost(f"No such host - host: {host} node: {node}")
    return fleet.hosts.uuids[rows[0]] if len(rows) == 1 else None


def _rows(fleet: Fleet, host: str | None, node: str | None) -> list[int]:
    hosts = fleet.hosts
    if host is None:
        return [row for row, name in enumerate(hosts.nodes) if name == node]
    rows = hosts.rows_of(host)
    if not rows:
        # Forced hosts are compared without regard to case.
        wanted = host.lower()
        rows = [row for row, name in enumerate(hosts.hosts) if name.lower() == wanted]
    return [row for row in rows if not node or hosts.nodes[row] == node]
