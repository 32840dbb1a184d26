"""Placement's operations in one table: routes, policy rules and the OpenAPI document.

Bodies and queries of the document are those of the newest microversion. The order of
the methods of a path is their order in the ``allow`` header of a 405.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from gantt.api.wire import bodies, schemas
from gantt.api.wire.microversion import HEADER, MAX_MINOR
from gantt.api.wire.problem import STATUSES
from gantt.model.operation import Work

Json = dict[str, Any]
SchemaOf = Callable[[int], Json]

_FIELD: Final = re.compile(r"\{(\w+)\}")
_PROVIDER: Final = "/resource_providers/{uuid}"
_ALWAYS: Final = (400, 401, 403, 404, 405, 406, 500, 503)
_CHANGING: Final = (409,)
_WITH_BODY: Final = (413, 415)


class Described(Struct, frozen=True):
    """``at``: method and path; ``rule`` without its prefix, "": no authorization;
    ``since``: N of the first microversion 1.N, before which the status is ``too_old``;
    ``success``: statuses of the newest, (): 204 for a DELETE, else 200; ``body`` and
    ``query``: schemas by microversion; ``work``, ``narrow``: as of an Operation."""

    at: str
    summary: str
    rule: str = ""
    since: int = 0
    too_old: int = 404
    success: tuple[int, ...] = ()
    body: SchemaOf | None = None
    query: SchemaOf | None = None
    work: Work = "quick"
    narrow: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """Such as GET."""
        return self.at.partition(" ")[0]

    @property
    def path(self) -> str:
        """With the names of its fields in braces."""
        return self.at.partition(" ")[2]

    @property
    def policy_rule(self) -> str:
        """Its whole name."""
        return f"placement:{self.rule}" if self.rule else ""


PLACEMENT: Final = (
    Described(
        "GET /",
        "The versions that this service speaks; no token is needed.",
    ),
    Described(
        "GET /resource_classes",
        "All resource classes.",
        "resource_classes:list",
        since=2,
    ),
    Described(
        "POST /resource_classes",
        "Create a custom resource class.",
        "resource_classes:create",
        since=2,
        success=(201,),
        body=bodies.NAME_CLASS.schema_of,
    ),
    Described(
        "GET /resource_classes/{name}",
        "One resource class.",
        "resource_classes:show",
        since=2,
    ),
    Described(
        "PUT /resource_classes/{name}",
        "Rename it (before 1.7); create it if it is missing (since 1.7, without a "
        "body).",
        "resource_classes:update",
        since=2,
        success=(201, 204),
    ),
    Described(
        "DELETE /resource_classes/{name}",
        "Delete a custom resource class.",
        "resource_classes:delete",
        since=2,
    ),
    Described(
        "GET /resource_providers",
        "Providers that match the query.",
        "resource_providers:list",
        query=schemas.provider_query,
        work="search",
        narrow=("name", "uuid", "in_tree"),
    ),
    Described(
        "POST /resource_providers",
        "Create a provider; since 1.20 the answer has it.",
        "resource_providers:create",
        body=bodies.CREATE_PROVIDER.schema_of,
    ),
    Described(f"GET {_PROVIDER}", "One provider.", "resource_providers:show"),
    Described(
        f"DELETE {_PROVIDER}",
        "Delete a provider that has no children and no allocations.",
        "resource_providers:delete",
    ),
    Described(
        f"PUT {_PROVIDER}",
        "Rename a provider, or give it a parent.",
        "resource_providers:update",
        body=bodies.UPDATE_PROVIDER.schema_of,
    ),
    Described(
        f"GET {_PROVIDER}/inventories",
        "What a provider has of each resource class.",
        "resource_providers:inventories:list",
    ),
    Described(
        f"POST {_PROVIDER}/inventories",
        "Add an inventory of one class.",
        "resource_providers:inventories:create",
        success=(201,),
        body=bodies.ADD_INVENTORY.schema_of,
    ),
    Described(
        f"PUT {_PROVIDER}/inventories",
        "Replace all inventories.",
        "resource_providers:inventories:update",
        body=bodies.SET_INVENTORIES.schema_of,
    ),
    Described(
        f"DELETE {_PROVIDER}/inventories",
        "Delete all inventories.",
        "resource_providers:inventories:delete",
        since=5,
        too_old=405,
    ),
    Described(
        f"GET {_PROVIDER}/inventories/{{resource_class}}",
        "The inventory of a class.",
        "resource_providers:inventories:show",
    ),
    Described(
        f"PUT {_PROVIDER}/inventories/{{resource_class}}",
        "Replace it.",
        "resource_providers:inventories:update",
        body=bodies.SET_INVENTORY.schema_of,
    ),
    Described(
        f"DELETE {_PROVIDER}/inventories/{{resource_class}}",
        "Delete it.",
        "resource_providers:inventories:delete",
    ),
    Described(
        f"GET {_PROVIDER}/usages",
        "What is in use of a provider.",
        "resource_providers:usages",
    ),
    Described(
        f"GET {_PROVIDER}/aggregates",
        "The aggregates that a provider is in.",
        "resource_providers:aggregates:list",
        since=1,
    ),
    Described(
        f"PUT {_PROVIDER}/aggregates",
        "Replace them.",
        "resource_providers:aggregates:update",
        since=1,
        body=bodies.AGGREGATES.schema_of,
    ),
    Described(
        f"GET {_PROVIDER}/allocations",
        "Who uses a provider, and how much of it.",
        "resource_providers:allocations:list",
    ),
    Described(
        "POST /allocations",
        "Replace the allocations of several consumers at once.",
        "allocations:manage",
        since=13,
        success=(204,),
        body=bodies.SET_MANY_ALLOCATIONS.schema_of,
    ),
    Described(
        "GET /allocations/{consumer_uuid}",
        "The allocations of a consumer; one that is not known has none.",
        "allocations:list",
    ),
    Described(
        "PUT /allocations/{consumer_uuid}",
        "Replace the allocations of a consumer.",
        "allocations:update",
        success=(204,),
        body=bodies.SET_ALLOCATIONS.schema_of,
    ),
    Described(
        "DELETE /allocations/{consumer_uuid}",
        "Delete the allocations of a consumer.",
        "allocations:delete",
    ),
    Described(
        "GET /allocation_candidates",
        "Where a request would fit.",
        "allocation_candidates:list",
        since=10,
        query=schemas.candidate_query,
        work="search",
    ),
    Described(
        "GET /traits",
        "Traits that match the query.",
        "traits:list",
        since=6,
        query=schemas.trait_query,
    ),
    Described(
        "GET /traits/{name}",
        "Whether a trait exists: 204, or 404.",
        "traits:show",
        since=6,
        success=(204,),
    ),
    Described(
        "PUT /traits/{name}",
        "Create a custom trait: 201, or 204 if it exists.",
        "traits:update",
        since=6,
        success=(201, 204),
    ),
    Described(
        "DELETE /traits/{name}",
        "Delete a custom trait that is not in use.",
        "traits:delete",
        since=6,
    ),
    Described(
        f"GET {_PROVIDER}/traits",
        "The traits of a provider.",
        "resource_providers:traits:list",
        since=6,
    ),
    Described(
        f"PUT {_PROVIDER}/traits",
        "Replace them.",
        "resource_providers:traits:update",
        since=6,
        body=bodies.SET_TRAITS.schema_of,
    ),
    Described(
        f"DELETE {_PROVIDER}/traits",
        "Take them all away.",
        "resource_providers:traits:delete",
        since=6,
    ),
    Described(
        "GET /usages",
        "What a project, or a user of it, uses.",
        "usages",
        since=9,
        query=schemas.usage_query,
        work="search",
    ),
    Described(
        "POST /reshaper",
        "Move inventories and allocations between providers, at once.",
        "reshaper:reshape",
        since=30,
        success=(204,),
        body=bodies.RESHAPE.schema_of,
        work="search",
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
    usual = (204,) if one.method == "DELETE" else (200,)
    for status in one.success or usual:
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
