"""Prefer hosts with more free memory, which spreads instances.

A negative multiplier fills hosts up instead.
"""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Floats


class RAMWeigher(Weigher):
    """The score is ``free_ram_mb``."""

    cacheable = Cacheable(needs=("free_ram_mb",), reads=(), elementwise=True)
    option = "ram_weight_multiplier"
    minval = 0.0

    def score(self, hosts: Hosts, request: Request) -> Floats:  # noqa: ARG002
        scores: Floats = hosts.free_ram_mb.astype(np.float64)
        return scores
