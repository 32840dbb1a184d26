"""The native API as an OpenAPI 3.1 document, generated from the table of operations.

The schemas are those of the types that decode bodies and encode answers, so that the
document cannot differ from the service.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from gantt.api.wire.placement_part import add_paths, in_path
from gantt.api.wire.problem import STATUSES
from gantt.model.hosts import HostAggregate, HostStats, Instance, ServerGroup, Service
from gantt.model.operation import Operation
from gantt.model.operations import OPERATIONS
from gantt.model.selection import Why
from gantt.model.spec import RequestSpec

Json = dict[str, Any]

VERSION: Final = "1.0"
_REF: Final = "#/components/schemas/{name}"
_ALWAYS: Final = (400, 401, 403, 406, 500, 503)
_WITH_BODY: Final = (413, 415)


class Error(Struct, frozen=True):
    """``code`` tells causes apart; ``why``: with gantt.no_valid_host."""

    status: int
    title: str
    detail: str
    request_id: str
    code: str = "placement.undefined_code"
    why: Why | None = None


class Errors(Struct, frozen=True):
    """The body of every refusal but 401."""

    errors: tuple[Error]


class Unauthorized(Struct, frozen=True):
    """The body of 401, as Placement has it."""

    message: str
    code: str
    title: str


# Types that bodies refer to by name.
_FORMS: Final = (
    Errors,
    Unauthorized,
    RequestSpec,
    HostStats,
    HostAggregate,
    Instance,
    Service,
    ServerGroup,
)
_NOVA_OBJECT: Final[Json] = {
    "title": "NovaObject",
    "description": "The primitive of a Nova versioned object.",
    "type": "object",
    "properties": {
        "nova_object.name": {"type": "string"},
        "nova_object.namespace": {"type": "string"},
        "nova_object.version": {"type": "string"},
        "nova_object.data": {"type": "object"},
    },
    "required": ["nova_object.name", "nova_object.version", "nova_object.data"],
}


def document() -> Json:
    """The document of all operations."""
    known = OPERATIONS
    sent = [kind for one in known for kind in (one.body, one.query) if kind is not None]
    kinds = [*sent, *(kind for one in known for kind in one.answers), *_FORMS]
    kinds += [one.event for one in known if one.event is not None]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    # By name, because annotated types are not hashable.
    schema_of = dict(zip(map(repr, kinds), schemas, strict=True))
    paths: dict[str, Json] = {}
    for one in known:
        described = _operation(one, schema_of, components)
        paths.setdefault(one.path, {})[one.method.lower()] = described
    add_paths(paths, schema_of[repr(Errors)], schema_of[repr(Unauthorized)])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Gantt",
            "version": VERSION,
            "summary": "Scheduling and placement: hosts, claims, explanations; "
            "providers, inventories, allocations.",
        },
        "servers": [{"url": "/"}, {"url": "/placement"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**components, "NovaObject": _NOVA_OBJECT},
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}
            },
        },
    }


def _operation(one: Operation, schema_of: dict[str, Json], components: Json) -> Json:
    described: Json = {
        "operationId": one.known_as,
        "summary": one.summary,
        "tags": [one.path.split("/")[2].partition(".")[0]],
        "parameters": [
            *in_path(one.path),
            *_of_query(one.query, schema_of, components),
        ],
        "responses": _responses(one, schema_of),
    }
    if one.rule:
        described["x-policy-rule"] = one.rule
    if one.is_preview:
        described["x-preview"] = True
    else:
        described["security"] = []
    if one.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": _json(schema_of[repr(one.body)]),
        }
    return described


def _of_query(kind: object, schema_of: dict[str, Json], components: Json) -> list[Json]:
    """A parameter for each field of a type, or one for a whole mapping."""
    if kind is None:
        return []
    schema = schema_of[repr(kind)]
    if "$ref" not in schema:
        return [{"name": "query", "in": "query", "style": "form", "schema": schema}]
    fields = components[schema["$ref"].rpartition("/")[2]]["properties"]
    return [
        {"name": name, "in": "query", "schema": field} for name, field in fields.items()
    ]


def _responses(one: Operation, schema_of: dict[str, Json]) -> Json:
    answers = [schema_of[repr(kind)] for kind in one.answers]
    if answers:
        content = _json(answers[0] if len(answers) == 1 else {"anyOf": answers})
        if one.event is not None:
            content["text/event-stream"] = _stream(schema_of[repr(one.event)])
        found: Json = {"200": {"description": "The answer.", "content": content}}
    else:
        found = {"204": {"description": "Done."}}
    statuses = {*_ALWAYS, *one.errors, *(_WITH_BODY if one.body is not None else ())}
    if not one.rule:
        statuses -= {401, 403}
    for status in sorted(statuses):
        found[str(status)] = {
            "description": STATUSES[status][0],
            "content": _json(
                schema_of[repr(Unauthorized if status == 401 else Errors)]
            ),
        }
    return found


def _stream(event: Json) -> Json:
    """Server-sent events: each has an id to go on after, and JSON as its data."""
    return {
        "schema": {
            "type": "string",
            "description": "Events, each with the lines id (to continue after, as "
            "Last-Event-ID or since) and data; comments are heartbeats.",
            "contentMediaType": "text/event-stream",
            "x-event-data": event,
        }
    }


def _json(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}
