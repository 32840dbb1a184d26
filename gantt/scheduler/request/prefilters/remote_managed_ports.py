"""Hosts that serve ports managed by another machine's agent (SmartNICs).

Nova queries Neutron for the type of every port. Here it is known from the device that
such a port needs, which is in the request.
"""

from __future__ import annotations

from gantt.model.spec import RequestSpec
from gantt.scheduler.request import devices
from gantt.scheduler.request.prefilters.additions import require
from gantt.scheduler.request.prefilters.context import Context


def remote_managed_ports(spec: RequestSpec, context: Context) -> RequestSpec:  # noqa: ARG001
    """A PCI request for a device with the tag ``remote_managed``. Raises Invalid."""
    if not any(
        devices.is_remote_managed(wanted)
        for request in devices.requests(spec)
        for wanted in request.wanted
    ):
        return spec
    return require(spec, "COMPUTE_REMOTE_MANAGED_PORTS")
