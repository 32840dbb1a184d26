"""Pre-filters: implicit constraints, added to a request before any host is checked.

One function per file; each returns the request with its additions, as Nova's do, in
Nova's order. The caller's own request is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gantt.model.spec import RequestSpec
from gantt.scheduler.request import contradictions, devices
from gantt.scheduler.request.prefilters.accelerators import accelerators
from gantt.scheduler.request.prefilters.availability_zone import availability_zone
from gantt.scheduler.request.prefilters.compute_status import compute_status
from gantt.scheduler.request.prefilters.context import Context
from gantt.scheduler.request.prefilters.ephemeral_encryption import ephemeral_encryption
from gantt.scheduler.request.prefilters.image_metadata import image_metadata
from gantt.scheduler.request.prefilters.image_type import image_type
from gantt.scheduler.request.prefilters.isolated_aggregates import isolated_aggregates
from gantt.scheduler.request.prefilters.nova_providers import nova_providers
from gantt.scheduler.request.prefilters.packed_virtqueue import packed_virtqueue
from gantt.scheduler.request.prefilters.remote_managed_ports import remote_managed_ports
from gantt.scheduler.request.prefilters.routed_networks import routed_networks
from gantt.scheduler.request.prefilters.sound_device import sound_device
from gantt.scheduler.request.prefilters.tenant_aggregates import tenant_aggregates
from gantt.scheduler.request.prefilters.tpm_secret import tpm_secret

PreFilter = Callable[[RequestSpec, Context], RequestSpec]

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


def apply(spec: RequestSpec, context: Context) -> RequestSpec:
    """``spec`` with what every pre-filter adds. Raises Invalid for contradictory
    requests, NoValidHost for what the fleet cannot supply."""
    contradictions.check(spec)
    options = context.options
    if options.pci_in_placement:
        # First, because the pre-filters read resource groups.
        spec = devices.with_groups(spec, options.pci_alias, context.knows_trait)
    for pre_filter in PRE_FILTERS:
        spec = pre_filter(spec, context)
    return spec
