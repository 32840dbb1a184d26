"""Hosts named in the request: as destination, to ignore, or to force."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from gantt.model.spec import RequestSpec
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools


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


def _cell(spec: RequestSpec) -> str | None:
    """The cell of the request."""
    destination = spec.requested_destination
    if destination is None or destination.allow_cross_cell_move:
        return None
    return destination.cell_uuid


def _are(values: Iterable[str | None], wanted: Collection[str | None]) -> Bools:
    return np.array([value in wanted for value in values], np.bool_)
