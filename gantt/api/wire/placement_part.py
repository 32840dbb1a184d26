"""Placement's operations, as the OpenAPI document needs them.

Separate from the routes because the document lists them too, and is itself behind a
route; a test compares the two. Bodies and queries are those of the newest microversion.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from gantt.api.wire import schemas
from gantt.api.wire.microversion import HEADER, MAX_MINOR
from gantt.api.wire.problem import STATUSES

Json = dict[str, Any]
SchemaOf = Callable[[int], Json]

_FIELD: Final = re.compile(r"\{(\w+)\}")
_PROVIDER: Final = "/resource_providers/{uuid}"
_INVENTORY: Final = f"{_PROVIDER}/inventories/{{resource_class}}"
_CLASS: Final = "/resource_classes/{name}"
_CONSUMER: Final = "/allocations/{consumer_uuid}"
_ALWAYS: Final = (400, 401, 403, 404, 405, 406, 500, 503)
_CHANGING: Final = (409,)
_WITH_BODY: Final = (413, 415)


class Described(Struct, frozen=True):
    """``since``: N of the first microversion 1.N; ``rule`` without its prefix, "": no
    authorization; ``success``: statuses of the newest microversion; ``body`` and
    ``query``: schemas by microversion."""

    method: str
    path: str
    summary: str
    rule: str
    since: int = 0
    success: tuple[int, ...] = (200,)
    body: SchemaOf | None = None
    query: SchemaOf | None = None

    @property
    def policy_rule(self) -> str:
        """Its whole name."""
        return f"placement:{self.rule}" if self.rule else ""


def _provider(
    method: str, part: str, summary: str, rule: str, *others: Any, **named: Any
) -> Described:
    path = f"{_PROVIDER}{part}"
    return Described(
        method, path, summary, f"resource_providers:{rule}", *others, **named
    )


PLACEMENT: Final = (
    Described(
        "GET", "/", "The versions that this service speaks; no token is needed.", ""
    ),
    Described(
        "GET",
        "/resource_providers",
        "Providers that match the query.",
        "resource_providers:list",
        query=schemas.provider_query,
    ),
    Described(
        "POST",
        "/resource_providers",
        "Create a provider; since 1.20 the answer has it.",
        "resource_providers:create",
        body=schemas.create_provider,
    ),
    _provider("GET", "", "One provider.", "show"),
    _provider(
        "PUT",
        "",
        "Rename a provider, or give it a parent.",
        "update",
        body=schemas.update_provider,
    ),
    _provider(
        "DELETE",
        "",
        "Delete a provider that has no children and no allocations.",
        "delete",
        success=(204,),
    ),
    _provider(
        "GET",
        "/inventories",
        "What a provider has of each resource class.",
        "inventories:list",
    ),
    _provider(
        "POST",
        "/inventories",
        "Add an inventory of one class.",
        "inventories:create",
        success=(201,),
        body=schemas.add_inventory,
    ),
    Described(
        "GET",
        _INVENTORY,
        "The inventory of a class.",
        "resource_providers:inventories:show",
    ),
    _provider(
        "PUT",
        "/inventories",
        "Replace all inventories.",
        "inventories:update",
        body=schemas.set_inventories,
    ),
    Described(
        "PUT",
        _INVENTORY,
        "Replace it.",
        "resource_providers:inventories:update",
        body=schemas.set_inventory,
    ),
    _provider(
        "DELETE",
        "/inventories",
        "Delete all inventories.",
        "inventories:delete",
        5,
        (204,),
    ),
    Described(
        "DELETE",
        _INVENTORY,
        "Delete it.",
        "resource_providers:inventories:delete",
        success=(204,),
    ),
    _provider(
        "GET",
        "/aggregates",
        "The aggregates that a provider is in.",
        "aggregates:list",
        1,
    ),
    _provider(
        "PUT",
        "/aggregates",
        "Replace them.",
        "aggregates:update",
        1,
        body=schemas.set_aggregates,
    ),
    _provider("GET", "/usages", "What is in use of a provider.", "usages"),
    _provider("GET", "/traits", "The traits of a provider.", "traits:list", 6),
    _provider(
        "PUT", "/traits", "Replace them.", "traits:update", 6, body=schemas.set_traits
    ),
    _provider("DELETE", "/traits", "Take them all away.", "traits:delete", 6, (204,)),
    _provider(
        "GET",
        "/allocations",
        "Who uses a provider, and how much of it.",
        "allocations:list",
    ),
    Described(
        "GET", "/resource_classes", "All resource classes.", "resource_classes:list", 2
    ),
    Described(
        "POST",
        "/resource_classes",
        "Create a custom resource class.",
        "resource_classes:create",
        2,
        (201,),
        schemas.name_class,
    ),
    Described("GET", _CLASS, "One resource class.", "resource_classes:show", 2),
    Described(
        "PUT",
        _CLASS,
        "Rename it (before 1.7); create it if it is missing (since 1.7, without a "
        "body).",
        "resource_classes:update",
        2,
        (201, 204),
    ),
    Described(
        "DELETE",
        _CLASS,
        "Delete a custom resource class.",
        "resource_classes:delete",
        2,
        (204,),
    ),
    Described(
        "GET",
        "/traits",
        "Traits that match the query.",
        "traits:list",
        6,
        query=schemas.trait_query,
    ),
    Described(
        "GET",
        "/traits/{name}",
        "Whether a trait exists: 204, or 404.",
        "traits:show",
        6,
        (204,),
    ),
    Described(
        "PUT",
        "/traits/{name}",
        "Create a custom trait: 201, or 204 if it exists.",
        "traits:update",
        6,
        (201, 204),
    ),
    Described(
        "DELETE",
        "/traits/{name}",
        "Delete a custom trait that is not in use.",
        "traits:delete",
        6,
        (204,),
    ),
    Described(
        "POST",
        "/allocations",
        "Replace the allocations of several consumers at once.",
        "allocations:manage",
        13,
        (204,),
        schemas.set_many_allocations,
    ),
    Described(
        "GET",
        _CONSUMER,
        "The allocations of a consumer; one that is not known has none.",
        "allocations:list",
    ),
    Described(
        "PUT",
        _CONSUMER,
        "Replace the allocations of a consumer.",
        "allocations:update",
        success=(204,),
        body=schemas.set_allocations,
    ),
    Described(
        "DELETE",
        _CONSUMER,
        "Delete the allocations of a consumer.",
        "allocations:delete",
        success=(204,),
    ),
    Described(
        "GET",
        "/allocation_candidates",
        "Where a request would fit.",
        "allocation_candidates:list",
        10,
        query=schemas.candidate_query,
    ),
    Described(
        "GET",
        "/usages",
        "What a project, or a user of it, uses.",
        "usages",
        9,
        query=schemas.usage_query,
    ),
    Described(
        "POST",
        "/reshaper",
        "Move inventories and allocations between providers, at once.",
        "reshaper:reshape",
        30,
        (204,),
        schemas.reshape,
    ),
)


def add_paths(paths: dict[str, Json], errors: Json, unauthorized: Json) -> None:
    """Describe each in ``paths``; the other two are schemas of refusals."""
    for one in PLACEMENT:
        described = _operation(one)
        described["responses"] = _responses(one, errors, unauthorized)
        paths.setdefault(one.path, {})[one.method.lower()] = described


def _operation(one: Described) -> Json:
    words = re.findall(r"\w+", one.path.replace("{", "by_"))
    described: Json = {
        "operationId": "_".join(["placement", one.method.lower(), *words]),
        "summary": one.summary,
        "tags": ["placement"],
        "parameters": [
            *in_path(one.path),
            *_in_query(one),
            _version(one.since),
        ],
    }
    if one.rule:
        described["x-policy-rule"] = one.policy_rule
    else:
        described["security"] = []
    if one.body is not None:
        content = {"application/json": {"schema": one.body(MAX_MINOR)}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def in_path(path: str) -> list[Json]:
    """A parameter for each field of the path."""
    schema = {"type": "string", "minLength": 1}
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name in _FIELD.findall(path)
    ]


def _in_query(one: Described) -> list[Json]:
    if one.query is None:
        return []
    schema = one.query(MAX_MINOR)
    required = schema.get("required", ())
    found: list[Json] = [
        {"name": name, "in": "query", "required": name in required, "schema": field}
        for name, field in schema.get("properties", {}).items()
    ]
    if "patternProperties" in schema:
        patterns = {
            "type": "object",
            "patternProperties": schema["patternProperties"],
            "additionalProperties": False,
        }
        found.append(
            {
                "name": "groups",
                "in": "query",
                "description": "Parameters of request groups: their names end with the "
                "suffix of the group.",
                "style": "form",
                "explode": True,
                "schema": patterns,
            }
        )
    return found


def _version(since: int) -> Json:
    return {
        "name": HEADER,
        "in": "header",
        "description": f"Since 1.{since}. Without it, 1.0 is spoken."
        if since
        else "Without it, 1.0 is spoken.",
        "schema": {"type": "string", "examples": [f"placement 1.{MAX_MINOR}"]},
    }


def _responses(one: Described, errors: Json, unauthorized: Json) -> Json:
    found: Json = {}
    for status in one.success:
        found[str(status)] = {"description": "Done."}
        if status == 200:
            content = {"application/json": {"schema": {"type": "object"}}}
            found["200"] = {"description": "The answer.", "content": content}
    statuses = {*_ALWAYS, *(_WITH_BODY if one.body is not None else ())}
    statuses |= set() if one.method == "GET" else set(_CHANGING)
    for status in sorted(statuses - (set() if one.rule else {401, 403})):
        schema = unauthorized if status == 401 else errors
        found[str(status)] = {
            "description": STATUSES[status][0],
            "content": {"application/json": {"schema": schema}},
        }
    return found
