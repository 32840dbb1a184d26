"""Refuse requests that need PCI devices.

Assigning devices is not implemented yet. Where an operator enables the
filter, letting such a request through would promise what was not checked.
"""

from __future__ import annotations

import numpy as np

from gantt import errors
from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.request import exact_fit
from gantt.state.column import Bools


class PciPassthroughFilter(Filter):
    """A request without PCI devices passes everywhere. Raises Invalid for others."""

    cacheable = Cacheable(
        needs=(), reads=("pci_requests", "flavor.extra_specs"), elementwise=True
    )

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        asked = exact_fit.devices_of(request.spec)
        if asked is not None:
            raise errors.Invalid(exact_fit.refusal(exact_fit.DEVICES, asked))
        return np.ones(len(hosts), np.bool_)
