"""Pre-filters: implicit constraints, added to a request before any host is checked.

Each is a function that returns the request with its additions, as Nova's do, in
Nova's order. The caller's own request is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gantt.model.spec import RequestSpec
from gantt.scheduler.request import contradictions, requested_devices
from gantt.scheduler.request.prefilters.aggregate_limits import (
    availability_zone,
    isolated_aggregates,
    tenant_aggregates,
)
from gantt.scheduler.request.prefilters.context import PrefilterContext
from gantt.scheduler.request.prefilters.routed_networks import routed_networks
from gantt.scheduler.request.prefilters.trait_requirements import (
    accelerators,
    compute_status,
    ephemeral_encryption,
    image_metadata,
    image_type,
    nova_providers,
    packed_virtqueue,
    remote_managed_ports,
    sound_device,
    tpm_secret,
)

PreFilter = Callable[[RequestSpec, PrefilterContext], RequestSpec]

PRE_FILTERS: Final[tuple[PreFilter, ...]] = (
    tenant_aggregates,
    availability_zone,
    image_type,
    compute_status,
    isolated_aggregates,
    image_metadata,
    accelerators,
    packed_virtqueue,
    routed_networks,
    remote_managed_ports,
    ephemeral_encryption,
    sound_device,
    tpm_secret,
    nova_providers,
)


def apply(spec: RequestSpec, context: PrefilterContext) -> RequestSpec:
    """``spec`` with what every pre-filter adds. Raises Invalid for contradictory
    requests, NoValidHost for what the fleet cannot supply."""
    contradictions.check(spec)
    options = context.options
    if options.pci_in_placement:
        # First, because the pre-filters read resource groups.
        spec = requested_devices.with_groups(
            spec, options.pci_alias, context.knows_trait
        )
    for pre_filter in PRE_FILTERS:
        spec = pre_filter(spec, context)
    return spec
