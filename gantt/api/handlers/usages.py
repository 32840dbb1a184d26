"""Usages over HTTP, of one provider and of a project."""

from __future__ import annotations

from typing import Any

from gantt.api.call import NOW, Call
from gantt.api.handlers.refusals import no_provider
from gantt.api.wire.problem import Problem
from gantt.api.wire.query import Params, usage_query
from gantt.placement import queries


def of_provider(call: Call, uuid: str) -> None:
    """GET /resource_providers/{uuid}/usages"""
    found = call.gantt.read_touched(
        queries.touched_usages, uuid, at_once=call.is_at_once
    )
    if found is None:
        raise Problem(404, f"{no_provider(uuid)}: {no_provider(uuid)}")
    call.reply(
        {
            "resource_provider_generation": found.generation,
            "usages": found.usages,
        },
        modified_at=NOW,
    )


def total(call: Call) -> None:
    """GET /usages - policy considers the project in the query."""
    params = Params(call.query_string)
    call.authorize("placement:usages", project_id=params.last.get("project_id"))
    query = usage_query(params, call.version)
    found = call.gantt.total_usages(query)
    usages: dict[str, Any] = {}
    if query.by_type:
        for name, sums in found.items():
            usages[name] = {**sums.usages, "consumer_count": sums.consumer_count}
    else:
        for sums in found.values():
            usages.update(sums.usages)
    call.reply({"usages": usages}, modified_at=NOW)
