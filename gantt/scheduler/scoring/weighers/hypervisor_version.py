"""Prefer hosts with newer hypervisors.

Instances move on to upgraded hosts and can still be migrated between like versions.
"""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Floats


class HypervisorVersionWeigher(Weigher):
    """The score is ``hypervisor_version``."""

    cacheable = Cacheable(needs=("hypervisor_version",), reads=(), elementwise=True)
    option = "hypervisor_version_weight_multiplier"

    def score(self, hosts: Hosts, request: Request) -> Floats:  # noqa: ARG002
        scores: Floats = hosts.hypervisor_version.astype(np.float64)
        return scores
