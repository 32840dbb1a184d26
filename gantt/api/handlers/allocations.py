"""Allocations over HTTP, by consumer and by provider, and what they add up to."""

from __future__ import annotations

from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from gantt.api.call import NOW, Call
from gantt.api.handlers.refusals import Wording, no_provider, submit, worded
from gantt.api.wire import bodies
from gantt.api.wire.problem import PROVIDER_NOT_FOUND, Problem
from gantt.api.wire.query import Params, usage_query
from gantt.errors import (
    DoesNotFit,
    InventoryInUse,
    NotFound,
    UnknownName,
    UnknownReshaped,
)
from gantt.model.answers import ConsumerView
from gantt.model.commands import DeleteAllocations
from gantt.model.names import UNKNOWN_CONSUMER_TYPE, canonical_uuid
from gantt.placement import queries

DOES_NOT_FIT = Wording(DoesNotFit, "Unable to allocate inventory: ")
_RESHAPE = (
    Wording(UnknownName, "malformed reshaper data: "),
    Wording(UnknownReshaped, code=PROVIDER_NOT_FOUND),
    Wording(InventoryInUse, "update conflict: "),
    DOES_NOT_FIT,
)


def show(call: Call, consumer_uuid: str) -> None:
    """GET /allocations/{consumer_uuid} - an unknown consumer is not an error"""
    found = call.gantt.read_touched(
        queries.touched_allocations, consumer_uuid, at_once=call.is_at_once
    )
    if found is None:
        call.reply({"allocations": {}}, modified_at=NOW)
        return
    modified_at = NOW if found.created_at is None else found.created_at
    call.reply(encoded(found, call.version), modified_at=modified_at)


def put(call: Call, raw: bytes, consumer_uuid: str) -> None:
    """PUT /allocations/{consumer_uuid}"""
    consumer = canonical_uuid(consumer_uuid)
    if consumer is None:
        raise Problem(400, f"Malformed consumer_uuid: {consumer_uuid}")
    command = bodies.set_allocations(
        raw,
        call.version,
        consumer,
        project_id=call.options.incomplete_consumer_project_id,
        user_id=call.options.incomplete_consumer_user_id,
    )
    unable = f"Unable to allocate inventory for consumer {consumer}: "
    submit(call, command, Wording(UnknownName, unable), DOES_NOT_FIT)
    call.no_content()


def post(call: Call, raw: bytes) -> None:
    """POST /allocations"""
    command = bodies.set_many_allocations(raw, call.version)
    unable = Wording(UnknownName, "Unable to allocate inventory ")
    submit(call, command, unable, DOES_NOT_FIT)
    call.no_content()


def delete(call: Call, consumer_uuid: str) -> None:
    """DELETE /allocations/{consumer_uuid}"""
    submit(call, DeleteAllocations(consumer_uuid), Wording(NotFound, status=404))
    call.no_content()


def of_provider(call: Call, uuid: str) -> None:
    """GET /resource_providers/{uuid}/allocations"""
    found = call.gantt.read(queries.provider_allocations, uuid)
    if found is None:
        raise Problem(404, f"Resource provider '{uuid}' not found: {no_provider(uuid)}")
    shares: dict[str, dict[str, Any]] = {}
    for consumer, share in found.allocations.items():
        shares[consumer] = {"resources": share.resources}
        if call.version >= 28:
            shares[consumer]["consumer_generation"] = share.generation
    call.reply(
        {
            "allocations": shares,
            "resource_provider_generation": found.generation,
        },
        modified_at=NOW if found.created_at is None else found.created_at,
    )


def encoded(found: ConsumerView, version: int) -> bytes:
    """The text that ``json.dumps`` would make of it, in a third of the time."""
    shares = []
    for provider, share in found.allocations.items():
        used = ", ".join(
            [f"{quoted(name)}: {amount}" for name, amount in share.resources.items()]
        )
        shares.append(
            f'{quoted(provider)}: {{"resources": {{{used}}}, '
            f'"generation": {share.generation}}}'
        )
    body = f'{{"allocations": {{{", ".join(shares)}}}'
    if version >= 12:
        body += (
            f', "project_id": {quoted(found.project_id)}'
            f', "user_id": {quoted(found.user_id)}'
        )
    if version >= 28:
        body += f', "consumer_generation": {found.generation}'
    if version >= 38:
        kind = found.consumer_type or UNKNOWN_CONSUMER_TYPE
        body += f', "consumer_type": {quoted(kind)}'
    return f"{body}}}".encode()


def reshape(call: Call, raw: bytes) -> None:
    """POST /reshaper"""
    try:
        command = bodies.reshape(raw, call.version)
    except UnknownName as error:
        raise worded(error, _RESHAPE) from None
    submit(call, command, *_RESHAPE)
    call.no_content()


def provider_usages(call: Call, uuid: str) -> None:
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


def total_usages(call: Call) -> None:
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
