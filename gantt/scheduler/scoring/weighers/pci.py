"""Prefer hosts with few free PCI devices, which keeps devices available.

This holds for requests that need devices as well: using up partly used hosts first
leaves whole sets for requests that need many.
"""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Floats

MOST_DEVICES = 100
"""More free devices than this, less one, make no difference."""


class PCIWeigher(Weigher):
    """The score falls with each free device."""

    cacheable = Cacheable(needs=("pci_free",), reads=(), elementwise=True)
    option = "pci_weight_multiplier"

    def score(self, hosts: Hosts, request: Request) -> Floats:  # noqa: ARG002
        counted = np.minimum(hosts.pci_free, MOST_DEVICES - 1)
        scores: Floats = (MOST_DEVICES - counted).astype(np.float64)
        return scores
