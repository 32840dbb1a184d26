"""Segments of routed networks, which the caller must provide.

Nova queries Neutron on every request for the segments of a network. A decision here
calls no service, so the caller must do so; ignoring it would place instances where
their network is missing.
"""

from __future__ import annotations

from gantt.errors import Invalid
from gantt.model.spec import RequestSpec
from gantt.scheduler.request.prefilters.context import Context


def routed_networks(spec: RequestSpec, context: Context) -> RequestSpec:
    """Raises Invalid when segments would have to be looked up."""
    if (
        context.options.query_placement_for_routed_network_aggregates
        and spec.requested_networks
    ):
        raise Invalid(
            f"the request names {len(spec.requested_networks)} networks, and "
            "query_placement_for_routed_network_aggregates is set, but a decision does "
            "not ask Neutron for their segments: put the aggregates of the segments "
            "into requested_destination.aggregates, leave requested_networks out or "
            "switch the option off"
        )
    return spec
