"""Put hosts that are building, migrating or saving instances last.

The multiplier is negative unless it is configured: more work counts against a host.
"""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Floats


class IoOpsWeigher(Weigher):
    """The score is ``num_io_ops``."""

    cacheable = Cacheable(needs=("num_io_ops",), reads=(), elementwise=True)
    option = "io_ops_weight_multiplier"
    minval = 0.0

    def score(self, hosts: Hosts, request: Request) -> Floats:  # noqa: ARG002
        scores: Floats = hosts.num_io_ops.astype(np.float64)
        return scores
