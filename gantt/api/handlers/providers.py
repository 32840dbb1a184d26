"""Resource providers over HTTP, and the aggregates of each."""

from __future__ import annotations

from typing import Any

from gantt.api.call import NO_CACHE_HEADERS, NOW, Call
from gantt.api.handlers.refusals import (
    Wording,
    no_provider,
    provider_first,
    submit,
    worded,
)
from gantt.api.wire import bodies
from gantt.api.wire.query import Params, provider_query
from gantt.errors import NotFound, UnknownName, UnknownResourceClass
from gantt.model.answers import Provider, ProviderAggregates
from gantt.model.commands import DeleteProvider
from gantt.placement import queries

_LINKS_SINCE = (
    ("inventories", 0),
    ("usages", 0),
    ("aggregates", 1),
    ("traits", 6),
    ("allocations", 11),
)
_UNKNOWN_NAMES = (
    Wording(UnknownResourceClass, "Invalid resource class in resources parameter: "),
    Wording(UnknownName, 'Invalid trait(s) in "required" parameter: '),
)


def list_(call: Call) -> None:
    """GET /resource_providers"""
    query = provider_query(Params(call.query_string), call.version)
    try:
        found = call.gantt.list_providers(query)
    except UnknownName as error:
        raise worded(error, _UNKNOWN_NAMES) from None
    times = [one.modified_at for one in found if one.modified_at is not None]
    call.reply(
        {"resource_providers": [_represent(call, one) for one in found]},
        modified_at=max(times, default=NOW),
    )


def create(call: Call, raw: bytes) -> None:
    """POST /resource_providers"""
    made = submit(call, bodies.create_provider(raw, call.version))
    call.location(f"/resource_providers/{made.uuid}")
    if call.version < 20:
        call.no_content(201)
    else:
        call.reply(_represent(call, made), modified_at=NOW)


def show(call: Call, uuid: str) -> None:
    """GET /resource_providers/{uuid}"""
    found = call.gantt.read(queries.provider, uuid)
    if found is None:
        raise NotFound(no_provider(uuid))
    call.reply(_represent(call, found), modified_at=found.modified_at)


def update(call: Call, raw: bytes, uuid: str) -> None:
    """PUT /resource_providers/{uuid}"""
    command = provider_first(
        call, uuid, lambda: bodies.update_provider(raw, call.version, uuid)
    )
    changed = submit(call, command)
    call.reply(_represent(call, changed), modified_at=changed.modified_at)


def delete(call: Call, uuid: str) -> None:
    """DELETE /resource_providers/{uuid}"""
    submit(call, DeleteProvider(uuid), Wording(NotFound, status=404))
    call.no_content(modified_at=NO_CACHE_HEADERS)


def _represent(call: Call, provider: Provider) -> dict[str, Any]:
    version = call.version
    self_link = f"{call.prefix}/resource_providers/{provider.uuid}"
    links = [{"rel": "self", "href": self_link}]
    for rel, since in _LINKS_SINCE:
        if version >= since:
            links.append({"rel": rel, "href": f"{self_link}/{rel}"})
    body: dict[str, Any] = {
        "uuid": provider.uuid,
        "name": provider.name,
        "generation": provider.generation,
        "links": links,
    }
    if version >= 14:
        body["parent_provider_uuid"] = provider.parent_uuid
        body["root_provider_uuid"] = provider.root_uuid
    return body


def aggregates(call: Call, uuid: str) -> None:
    """GET /resource_providers/{uuid}/aggregates"""
    found = call.gantt.read(queries.aggregates, uuid)
    if found is None:
        raise NotFound(no_provider(uuid))
    _reply_aggregates(call, found)


def set_aggregates(call: Call, raw: bytes, uuid: str) -> None:
    """PUT /resource_providers/{uuid}/aggregates"""
    command = provider_first(
        call, uuid, lambda: bodies.set_aggregates(raw, call.version, uuid)
    )
    _reply_aggregates(call, submit(call, command))


def _reply_aggregates(call: Call, found: ProviderAggregates) -> None:
    body: dict[str, Any] = {"aggregates": found.aggregates}
    if call.version >= 19:
        body["resource_provider_generation"] = found.generation
    call.reply(body, modified_at=NOW)
