"""Segments of routed networks: which ones a request names, and their aggregates.

A segment is a resource provider, and the hosts that reach it share an aggregate with
it. Separate from the pre-filter because a remote Placement is asked for these
aggregates before, and the shape cache notices when they change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec.structs import replace

from gantt.model.spec import RequestSpec
from gantt.scheduler.options import SchedulerOptions
from gantt.state.state import State

AggregatesOf: TypeAlias = Callable[[str], frozenset[str]]
"""The uuid of a segment -> those of its aggregates; none: it has none, or is
unknown."""


def segments_of(spec: RequestSpec, options: SchedulerOptions) -> tuple[str, ...]:
    """The segments whose aggregates the pre-filter reads, each once, in order."""
    if not options.query_placement_for_routed_network_aggregates:
        return ()
    found = {one for each in spec.requested_networks for one in each.segments or ()}
    return tuple(sorted(found))


def as_far_as_known(spec: RequestSpec) -> RequestSpec:
    """``spec``, where networks whose segments are not named count as not routed: for
    requests that others decide, who ask Neutron by themselves."""
    networks = spec.requested_networks
    if all(one.segments is not None for one in networks):
        return spec
    known = (replace(one, segments=one.segments or frozenset()) for one in networks)
    return replace(spec, requested_networks=tuple(known))


def in_books(state: State) -> AggregatesOf:
    """Aggregates of segments, as the providers here have them."""

    def aggregates_of(segment: str) -> frozenset[str]:
        row = state.providers.row_of(segment)
        if row is None:
            return frozenset()
        names = state.aggregates
        labels = state.provider_aggregates.labels_of(row)
        return frozenset(names.at(label).name for label in labels)

    return aggregates_of


def as_listed(aggregates: Mapping[str, frozenset[str]]) -> AggregatesOf:
    """Aggregates of segments, as another Placement listed them, by segment."""
    return lambda segment: aggregates.get(segment, frozenset())


def none_known(segment: str) -> frozenset[str]:  # noqa: ARG001
    """The aggregates of a segment where none is known."""
    return frozenset()
