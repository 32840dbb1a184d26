"""The inventories of a resource provider over HTTP.

The answer to a write echoes the numbers as submitted (``4.0`` stays ``4.0``); a later
read shows them as stored.
"""

from __future__ import annotations

from msgspec.structs import asdict

from gantt.api.call import NOW, Call
from gantt.api.handlers.refusals import (
    Wording,
    no_provider,
    provider_first,
    submit,
    worded,
)
from gantt.api.wire import bodies
from gantt.api.wire.problem import CONCURRENT_UPDATE, Problem, translate
from gantt.errors import (
    BadInventory,
    Invalid,
    InventoryInUse,
    NoInventory,
    UnknownName,
)
from gantt.model.answers import ProviderInventories
from gantt.model.commands import (
    AddInventory,
    DeleteInventories,
    DeleteInventory,
    SetInventories,
    SetInventory,
)
from gantt.placement import queries


def list_(call: Call, uuid: str) -> None:
    """GET /resource_providers/{uuid}/inventories"""
    found = _read(call, uuid)
    call.reply(
        {
            "resource_provider_generation": found.generation,
            "inventories": {
                name: asdict(one) for name, one in found.inventories.items()
            },
        },
        modified_at=found.modified_at,
    )


def create(call: Call, raw: bytes, uuid: str) -> None:
    """POST /resource_providers/{uuid}/inventories"""
    record = provider_first(call, uuid, lambda: bodies.ADD_INVENTORY.read(raw))
    name = record.resource_class
    command = AddInventory(uuid, name, record.inventory(), _may_be_full(call))
    unable = f"Unable to create inventory for resource provider {uuid}: "
    made = submit(call, command, Wording(Invalid, unable))
    call.location(f"/resource_providers/{uuid}/inventories/{name}")
    body = {**record.echo(), "resource_provider_generation": made.generation}
    call.reply(body, status=201, modified_at=NOW)


def replace(call: Call, raw: bytes, uuid: str) -> None:
    """PUT /resource_providers/{uuid}/inventories"""
    wordings = (
        Wording(
            UnknownName,
            f"Unknown resource class in inventory for resource provider {uuid}: ",
        ),
        Wording(Invalid, f"Unable to update inventory for resource provider {uuid}: "),
        Wording(InventoryInUse, "update conflict: "),
    )
    try:
        body = provider_first(call, uuid, lambda: bodies.SET_INVENTORIES.read(raw))
    except UnknownName as error:
        raise worded(error, wordings) from None
    command = SetInventories(
        uuid,
        {name: record.inventory() for name, record in body.inventories.items()},
        body.resource_provider_generation,
        _may_be_full(call),
    )
    changed = submit(call, command, *wordings)
    call.reply(
        {
            "resource_provider_generation": changed.generation,
            "inventories": {
                name: record.echo() for name, record in body.inventories.items()
            },
        },
        modified_at=NOW if body.inventories else None,
    )


def delete_all(call: Call, uuid: str) -> None:
    """DELETE /resource_providers/{uuid}/inventories"""
    submit(call, DeleteInventories(uuid))
    call.no_content()


def show(call: Call, uuid: str, resource_class: str) -> None:
    """GET /resource_providers/{uuid}/inventories/{resource_class}"""
    found = _read(call, uuid)
    inventory = found.inventories.get(resource_class)
    if inventory is None:
        raise Problem(404, f"No inventory of class {resource_class} for {uuid}")
    body = asdict(inventory)
    if found.generation:
        body["resource_provider_generation"] = found.generation
    call.reply(body, modified_at=found.modified_at)


def update(call: Call, raw: bytes, uuid: str, resource_class: str) -> None:
    """PUT /resource_providers/{uuid}/inventories/{resource_class}"""
    record = provider_first(call, uuid, lambda: bodies.SET_INVENTORY.read(raw))
    command = SetInventory(
        uuid,
        resource_class,
        record.inventory(),
        record.resource_provider_generation,
        _may_be_full(call),
    )
    unable = f"Unable to update inventory for resource provider {uuid}: "
    try:
        changed = submit(call, command, Wording(BadInventory, unable))
    except UnknownName as error:
        problem = translate(error, status=404)
        problem.vary = False
        raise problem from None
    body = {**record.echo(), "resource_provider_generation": changed.generation}
    call.reply(body, modified_at=NOW)


def delete(call: Call, uuid: str, resource_class: str) -> None:
    """DELETE /resource_providers/{uuid}/inventories/{resource_class}"""
    absent = f"No inventory of class {resource_class} found for delete"
    submit(
        call,
        DeleteInventory(uuid, resource_class),
        Wording(NoInventory, f"{absent}: "),
        Wording(
            InventoryInUse,
            f"Unable to delete inventory of class {resource_class}: ",
            code=CONCURRENT_UPDATE,
        ),
    )
    call.no_content()


def _read(call: Call, uuid: str) -> ProviderInventories:
    found = call.gantt.read_touched(
        queries.touched_inventories, uuid, at_once=call.is_at_once
    )
    if found is None:
        raise Problem(404, f"{no_provider(uuid)} : {no_provider(uuid)}")
    return found


def _may_be_full(call: Call) -> bool:
    """Whether reserved may equal total."""
    return call.version >= 26
