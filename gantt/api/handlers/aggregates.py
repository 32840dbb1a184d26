"""The aggregates of a resource provider over HTTP."""

from __future__ import annotations

from typing import Any

from gantt.api.call import NOW, Call
from gantt.api.handlers.refusals import no_provider, provider_first, submit
from gantt.api.wire import bodies
from gantt.errors import NotFound
from gantt.model.answers import ProviderAggregates
from gantt.placement import queries


def show(call: Call, uuid: str) -> None:
    """GET /resource_providers/{uuid}/aggregates"""
    found = call.gantt.read(queries.aggregates, uuid)
    if found is None:
        raise NotFound(no_provider(uuid))
    _reply(call, found)


def replace(call: Call, raw: bytes, uuid: str) -> None:
    """PUT /resource_providers/{uuid}/aggregates"""
    command = provider_first(
        call, uuid, lambda: bodies.set_aggregates(raw, call.version, uuid)
    )
    _reply(call, submit(call, command))


def _reply(call: Call, found: ProviderAggregates) -> None:
    body: dict[str, Any] = {"aggregates": found.aggregates}
    if call.version >= 19:
        body["resource_provider_generation"] = found.generation
    call.reply(body, modified_at=NOW)
