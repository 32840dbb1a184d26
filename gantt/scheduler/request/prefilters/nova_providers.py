"""Require Nova's own providers, where other services have theirs in the same
Placement.

Where the books are here, the host itself is not asked: a candidate is the provider of a
host that is known, which may have none, or one that its reports made. Nova marks its
own alone.
"""

from __future__ import annotations

from typing import Final

from msgspec import structs

from gantt.model.spec import RequestSpec
from gantt.scheduler.request import devices
from gantt.scheduler.request.prefilters.additions import require
from gantt.scheduler.request.prefilters.context import Context

_OWNER: Final = "OWNER_NOVA"
_SINCE: Final = 73
"""The version of nova-compute that marks its providers."""


def nova_providers(spec: RequestSpec, context: Context) -> RequestSpec:
    """Each PCI device, and at a remote Placement the host, must be marked as Nova's,
    once every nova-compute marks its own."""
    if _OWNER in spec.request_level_params.root_required:
        return spec
    oldest = context.fleet.services.oldest_compute
    if oldest is None or oldest < _SINCE:
        return spec
    spec = _mark_devices(spec)
    return require(spec, _OWNER) if context.is_remote else spec


def _mark_devices(spec: RequestSpec) -> RequestSpec:
    if not (spec.pci_requests and spec.requested_resources):
        return spec
    mine = {suffix for request in devices.requests(spec) for suffix in request.suffixes}
    groups = tuple(
        structs.replace(group, required_traits=group.required_traits | {_OWNER})
        if group.requester_id in mine
        else group
        for group in spec.requested_resources
    )
    return structs.replace(spec, requested_resources=groups)
