"""Rank hosts by their number of instances.

Off unless a multiplier is configured: positive packs, negative spreads by count.
"""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Floats


class NumInstancesWeigher(Weigher):
    """The score is ``num_instances``."""

    cacheable = Cacheable(needs=("num_instances",), reads=(), elementwise=True)
    option = "num_instances_weight_multiplier"

    def score(self, hosts: Hosts, request: Request) -> Floats:  # noqa: ARG002
        scores: Floats = hosts.num_instances.astype(np.float64)
        return scores
