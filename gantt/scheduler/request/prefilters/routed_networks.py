"""Hosts that reach a segment of each routed network.

Nova queries Neutron here for the segments. A decision calls no service, so they come
with the request: ``gantt scheduler`` queries Neutron first, and other callers name
them.
"""

from __future__ import annotations

from typing import Final

from gantt.errors import Invalid, NoValidHost
from gantt.model.spec import RequestedNetwork, RequestSpec
from gantt.scheduler.request.prefilters.additions import limit_to
from gantt.scheduler.request.prefilters.context import PrefilterContext

OPTION: Final = "query_placement_for_routed_network_aggregates"


def routed_networks(spec: RequestSpec, context: PrefilterContext) -> RequestSpec:
    """Into an aggregate of a segment of each network; one without segments is reached
    from every host. Raises NoValidHost when Neutron did not name the segments, or one
    has no aggregate; Invalid when they would have to be looked up."""
    if not context.options.query_placement_for_routed_network_aggregates:
        return spec
    for number, each in enumerate(spec.requested_networks):
        found = _aggregates(number, each, context)
        if found:
            spec = limit_to(spec, found)
    return spec


def _aggregates(
    number: int, network: RequestedNetwork, context: PrefilterContext
) -> frozenset[str]:
    if network.trouble:
        raise NoValidHost(
            f"No valid host was found. The segments of {_named(network)} are not "
            f"known: {network.trouble}"
        )
    if network.segments is None:
        raise Invalid(
            f"requested_networks.{number} ({_named(network)}) has no segments, and "
            f"{OPTION} is set, but a decision does not ask Neutron for them: name the "
            "segments (an empty list: the network is not routed), leave "
            "requested_networks out or switch the option off"
        )
    found: frozenset[str] = frozenset()
    for segment in sorted(network.segments):
        aggregates = context.aggregates_of(segment)
        if not aggregates:
            raise NoValidHost(
                f"No valid host was found. The segment {segment} of {_named(network)} "
                "has no aggregate in Placement: check that Neutron's segments plug-in "
                "runs and reached Placement."
            )
        found |= aggregates
    return found


def _named(network: RequestedNetwork) -> str:
    if network.port_id is not None:
        return f"port {network.port_id}"
    return f"network {network.network_id}"
