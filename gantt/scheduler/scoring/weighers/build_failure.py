"""Put hosts with recent build failures last.

Its multiplier outweighs all others, so that a broken host, which looks empty and
therefore attractive, does not draw every new instance.
"""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Floats


class BuildFailureWeigher(Weigher):
    """The score is ``failed_builds``."""

    cacheable = Cacheable(needs=("failed_builds",), reads=(), elementwise=True)
    option = "build_failure_weight_multiplier"
    sign = -1

    def score(self, hosts: Hosts, request: Request) -> Floats:  # noqa: ARG002
        scores: Floats = hosts.failed_builds.astype(np.float64)
        return scores
