"""Pre-filters that limit a request to aggregates, or keep it out of some."""

from __future__ import annotations

from typing import Final

from gantt.errors import NoValidHost
from gantt.model.spec import RequestSpec
from gantt.scheduler.request.prefilters.additions import keep_out_of, limit_to
from gantt.scheduler.request.prefilters.context import PrefilterContext
from gantt.scheduler.request.shape import required_traits

_TENANT_KEY: Final = "filter_tenant_id"


def tenant_aggregates(spec: RequestSpec, context: PrefilterContext) -> RequestSpec:
    """Into an aggregate with a metadata key ``filter_tenant_id…`` that names the
    project. Raises NoValidHost when one is required and there is none."""
    if not context.options.limit_tenants_to_placement_aggregate:
        return spec
    found = [
        uuid
        for uuid, metadata in context.fleet.aggregates.metadata.items()
        if any(
            value == spec.project_id and key.startswith(_TENANT_KEY)
            for key, value in metadata.items()
        )
    ]
    if found:
        return limit_to(spec, found)
    if context.options.placement_aggregate_required_for_tenants:
        raise NoValidHost(
            f"No hosts found for project {spec.project_id}: no aggregate has it as "
            f"{_TENANT_KEY}, and placement_aggregate_required_for_tenants is set"
        )
    return spec


def availability_zone(spec: RequestSpec, context: PrefilterContext) -> RequestSpec:
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


def isolated_aggregates(spec: RequestSpec, context: PrefilterContext) -> RequestSpec:
    """Exclude aggregates with metadata ``trait:X=required`` for an X that no group of
    the request requires."""
    if not context.options.enable_isolated_aggregate_filtering:
        return spec
    mine = {f"trait:{name}" for name in required_traits(spec)}
    found = [
        uuid
        for uuid, metadata in context.fleet.aggregates.metadata.items()
        if any(
            value == "required" and key.startswith("trait:") and key not in mine
            for key, value in metadata.items()
        )
    ]
    return keep_out_of(spec, found) if found else spec
