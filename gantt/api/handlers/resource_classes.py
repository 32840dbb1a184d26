"""Resource classes over HTTP."""

from __future__ import annotations

from typing import Any

from gantt.api.call import NOW, Call
from gantt.api.handlers.refusals import submit
from gantt.api.wire import bodies
from gantt.api.wire.schema_errors import judge_value
from gantt.errors import NotFound
from gantt.model.commands import (
    CreateResourceClass,
    DeleteResourceClass,
    RenameResourceClass,
)
from gantt.model.names import is_custom_name
from gantt.placement import queries


def list_(call: Call) -> None:
    """GET /resource_classes"""
    found = call.gantt.read(queries.resource_classes)
    times = [one.modified_at for one in found if one.modified_at is not None]
    call.reply(
        {"resource_classes": [_represent(call, one.name) for one in found]},
        modified_at=max(times, default=NOW),
    )


def create(call: Call, raw: bytes) -> None:
    """POST /resource_classes"""
    name = bodies.NAME_CLASS.read(raw).name
    submit(call, CreateResourceClass(name, must_be_new=True))
    call.location(f"/resource_classes/{name}")
    call.no_content(201)


def show(call: Call, name: str) -> None:
    """GET /resource_classes/{name}"""
    found = call.gantt.read(queries.resource_class, name)
    if found is None:
        raise NotFound(f"No such resource class {name}.")
    call.reply(_represent(call, name), modified_at=found.modified_at)


def update(call: Call, name: str) -> None:
    """PUT /resource_classes/{name} - a rename before 1.7, since then a creation"""
    if call.version < 7:
        _rename(call, name)
        return
    call.authorize("placement:resource_classes:update")
    if not is_custom_name(name):
        judge_value({"name": name}, bodies.NAME_CLASS.schema_of, call.version)
    made = submit(call, CreateResourceClass(name))
    call.location(f"/resource_classes/{name}")
    call.no_content(201 if made.is_new else 204)


def delete(call: Call, name: str) -> None:
    """DELETE /resource_classes/{name}"""
    submit(call, DeleteResourceClass(name))
    call.no_content()


def _rename(call: Call, name: str) -> None:
    raw = call.json_body()
    call.authorize("placement:resource_classes:update")
    new_name = bodies.NAME_CLASS.read(raw).name
    submit(call, RenameResourceClass(name, new_name))
    call.reply(_represent(call, new_name))


def _represent(call: Call, name: str) -> dict[str, Any]:
    href = f"{call.prefix}/resource_classes/{name}"
    return {"name": name, "links": [{"rel": "self", "href": href}]}
