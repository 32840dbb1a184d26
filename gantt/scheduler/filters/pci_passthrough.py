"""Says no to what devices would have to be fitted for.

Which device a host would give is not worked out yet. Where an operator enables the
filter, letting such a request through would promise what nobody looked at.
"""

from __future__ import annotations

import numpy as np

from gantt import errors
from gantt.scheduler.contract import Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools

ALIAS = "pci_passthrough:alias"


class PciPassthroughFilter(Filter):
    """A request without PCI devices passes everywhere. Raises Invalid for others."""

    reads = ("pci_requests", "flavor.extra_specs")

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        spec = request.spec
        alias = spec.flavor.extra_specs.get(ALIAS)
        if spec.pci_requests or alias:
            asked = (
                f"{ALIAS}={alias}" if alias else f"{len(spec.pci_requests)} device(s)"
            )
            raise errors.Invalid(
                f"The request asks for PCI devices ({asked}) and PciPassthroughFilter "
                "is enabled, but fitting devices exactly comes with a later release. "
                "Take PciPassthroughFilter out of enabled_filters to let amounts alone "
                "decide."
            )
        return np.ones(len(hosts), np.bool_)
