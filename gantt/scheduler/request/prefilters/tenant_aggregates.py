"""Require the aggregates that are reserved for the project."""

from __future__ import annotations

from typing import Final

from gantt.errors import NoValidHost
from gantt.model.spec import RequestSpec
from gantt.scheduler.request.prefilters.additions import limit_to
from gantt.scheduler.request.prefilters.context import Context

_KEY: Final = "filter_tenant_id"


def tenant_aggregates(spec: RequestSpec, context: Context) -> RequestSpec:
    """Into an aggregate with a metadata key ``filter_tenant_id…`` that names the
    project. Raises NoValidHost when one is required and there is none."""
    if not context.options.limit_tenants_to_placement_aggregate:
        return spec
    found = [
        uuid
        for uuid, metadata in context.fleet.aggregates.metadata.items()
        if any(
            value == spec.project_id and key.startswith(_KEY)
            for key, value in metadata.items()
        )
    ]
    if found:
        return limit_to(spec, found)
    if context.options.placement_aggregate_required_for_tenants:
        raise NoValidHost(
            f"No hosts found for project {spec.project_id}: no aggregate has it as "
            f"{_KEY}, and placement_aggregate_required_for_tenants is set"
        )
    return spec
