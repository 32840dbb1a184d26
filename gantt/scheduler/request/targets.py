"""Hosts named in the request: as destination, to ignore, or to force.

``target_tree`` narrows the search to one host, and tells one that does not exist from
one without room; ``targets`` is the mask. ``in_service`` is that of the hosts that no
request is given otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from gantt.errors import NoValidHost
from gantt.model.spec import RequestSpec
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.state.column import Bools
from gantt.state.fleet_columns import Fleet


def targets(hosts: Hosts, spec: RequestSpec) -> Bools | None:
    """bool[n]: which the request allows; None: all.

    As Nova compares: the destination's host and node exactly, hosts to ignore and to
    force without regard to case, forced nodes exactly.
    """
    destination = spec.requested_destination
    is_named = destination is not None and destination.host is not None
    cell = _cell(spec)
    if not (
        is_named or cell or spec.ignore_hosts or spec.force_hosts or spec.force_nodes
    ):
        return None
    mask = np.ones(len(hosts), np.bool_)
    if destination is not None and destination.host is not None:
        mask &= hosts.at_hosts((destination.host,))
        if destination.node:
            mask &= _are(hosts.nodes, {destination.node})
    if cell:
        mask &= _are(hosts.cells, {cell, None})
    if spec.ignore_hosts or spec.force_hosts:
        names = [name.lower() for name in hosts.names]
        if spec.ignore_hosts:
            mask &= ~_are(names, {name.lower() for name in spec.ignore_hosts})
        if spec.force_hosts:
            mask &= _are(names, {name.lower() for name in spec.force_hosts})
    if spec.force_nodes:
        mask &= _are(hosts.nodes, set(spec.force_nodes))
    return mask


def in_service(
    hosts: Hosts, spec: RequestSpec, options: SchedulerOptions
) -> Bools | None:
    """bool[n]: whose cell is enabled, or is the one that the request must stay in, and
    which have a service where the options require one; None: all."""
    off = frozenset() if _cell(spec) else hosts.fleet.facts.disabled_cells
    if not (off or options.requires_service):
        return None
    mask = np.ones(len(hosts), np.bool_)
    if off:
        mask &= ~_are(hosts.cells, off)
    if options.requires_service:
        mask &= hosts.has_service
    return mask


def _cell(spec: RequestSpec) -> str | None:
    destination = spec.requested_destination
    if destination is None or destination.allow_cross_cell_move:
        return None
    return destination.cell_uuid


def _are(values: Iterable[str | None], wanted: Collection[str | None]) -> Bools:
    return np.array([value in wanted for value in values], np.bool_)


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
    if cell := _cell(spec):
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
