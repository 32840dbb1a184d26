"""Require aggregates of the requested availability zone."""

from __future__ import annotations

from gantt.model.spec import RequestSpec
from gantt.scheduler.request.prefilters.additions import limit_to
from gantt.scheduler.request.prefilters.context import Context


def availability_zone(spec: RequestSpec, context: Context) -> RequestSpec:
    """Require an aggregate of the zone. A zone without aggregates limits nothing: the
    default zone has none."""
    zone = spec.availability_zone
    if not zone:
        return spec
    found = [
        uuid
        for uuid, metadata in context.fleet.aggregates.metadata.items()
        if metadata.get("availability_zone") == zone
    ]
    return limit_to(spec, found) if found else spec
