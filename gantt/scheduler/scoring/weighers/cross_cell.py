"""Prefer hosts in the instance's own cell when a move may leave it.

Its multiplier outweighs all others: a move across cells costs far more than a host
that is a little less good.
"""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Floats


class CrossCellWeigher(Weigher):
    """The score is 1 in the wanted cell, else -1."""

    cacheable = Cacheable(needs=(), reads=("requested_destination",), elementwise=True)
    option = "cross_cell_move_weight_multiplier"

    def is_neutral(self, request: Request) -> bool:
        wanted = request.spec.requested_destination
        return (
            wanted is None
            or wanted.cell_uuid is None
            or not wanted.allow_cross_cell_move
        )

    def score(self, hosts: Hosts, request: Request) -> Floats:
        wanted = request.spec.requested_destination
        if wanted is None or self.is_neutral(request):
            return np.zeros(len(hosts))
        cells = hosts.fleet.hosts.cells
        is_there = [cells[row] == wanted.cell_uuid for row in hosts.rows.tolist()]
        return np.where(is_there, 1.0, -1.0)
