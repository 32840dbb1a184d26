"""Require aggregates of the requested availability zone."""

from __future__ import annotations

from gantt.model.spec import RequestSpec
from gantt.scheduler.request.prefilters.given import Given, limit_to


def availability_zone(spec: RequestSpec, given: Given) -> RequestSpec:
    """Require an aggregate of the zone. A zone without aggregates limits nothing: the
    default zone has none."""
    zone = spec.availability_zone
    if not zone:
        return spec
    found = [
        uuid
        for uuid, metadata in given.fleet.aggregates.metadata.items()
        if metadata.get("availability_zone") == zone
    ]
    return limit_to(spec, found) if found else spec
