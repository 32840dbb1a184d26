"""Traits over HTTP, and those of a provider."""

from __future__ import annotations

from gantt.api.call import NOW, Call
from gantt.api.handlers.refusals import Wording, no_provider, submit
from gantt.api.wire import bodies
from gantt.api.wire.problem import Problem
from gantt.api.wire.query import Params, trait_query
from gantt.errors import NotFound
from gantt.model.answers import ProviderTraits
from gantt.model.commands import CreateTrait, DeleteTrait, DeleteTraits
from gantt.placement import queries


def list_(call: Call) -> None:
    """GET /traits"""
    query = trait_query(Params(call.query_string))
    found = call.gantt.read(queries.trait_names, query)
    times = [one.modified_at for one in found if one.modified_at is not None]
    call.reply(
        {"traits": [one.name for one in found]}, modified_at=max(times, default=NOW)
    )


def show(call: Call, name: str) -> None:
    """GET /traits/{name} - the answer has no body, so Accept does not matter"""
    found = call.gantt.read(queries.trait, name)
    if found is None:
        raise Problem(404, f"No such trait(s): {name}.")
    call.no_content(modified_at=found.created_at)


def create(call: Call, name: str) -> None:
    """PUT /traits/{name}"""
    made = submit(call, CreateTrait(name))
    call.location(f"/traits/{name}")
    call.no_content(201 if made.is_new else 204, modified_at=made.created_at)


def delete(call: Call, name: str) -> None:
    """DELETE /traits/{name}"""
    submit(call, DeleteTrait(name), Wording(NotFound, status=404))
    call.no_content()


def of_provider(call: Call, uuid: str) -> None:
    """GET /resource_providers/{uuid}/traits"""
    found = call.gantt.read(queries.traits, uuid)
    if found is None:
        raise Problem(404, f"{no_provider(uuid)}: {no_provider(uuid)}")
    _reply(call, found)


def replace_for_provider(call: Call, raw: bytes, uuid: str) -> None:
    """PUT /resource_providers/{uuid}/traits - checks the body before the provider"""
    _reply(call, submit(call, bodies.set_traits(raw, uuid)))


def delete_for_provider(call: Call, uuid: str) -> None:
    """DELETE /resource_providers/{uuid}/traits"""
    submit(call, DeleteTraits(uuid))
    call.no_content()


def _reply(call: Call, found: ProviderTraits) -> None:
    modified_at = NOW if found.modified_at is None else found.modified_at
    call.reply(
        {
            "traits": found.traits,
            "resource_provider_generation": found.generation,
        },
        modified_at=modified_at,
    )
