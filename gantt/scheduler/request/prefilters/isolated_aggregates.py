"""Reserve aggregates for requests that require their traits."""

from __future__ import annotations

from gantt.model.spec import RequestSpec
from gantt.scheduler.request.prefilters.additions import keep_out_of
from gantt.scheduler.request.prefilters.context import Context
from gantt.scheduler.request.shape import required_traits


def isolated_aggregates(spec: RequestSpec, context: Context) -> RequestSpec:
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
