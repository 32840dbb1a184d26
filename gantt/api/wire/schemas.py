"""JSON schemas of bodies and queries at each microversion.

Refusals quote the schema, so the order of keys is part of the wire contract. Schemas of
bodies are made of the types that decode them (``typed``); those of queries are written
here. They are used only for requests that were not well-formed at first sight
(``verdict``).
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

from msgspec import Meta, UnsetType
from msgspec.structs import fields

from gantt.api.wire.body_types import NAMED_SUFFIX, PlacementBody
from gantt.model.names import MAX_NAME

Schema: TypeAlias = dict[str, Any]

CLASS_PATTERN = "^[A-Z0-9_]+$"
NUMBERED_SUFFIX = "[1-9][0-9]*"
USAGE_TYPE_PATTERN = f"{CLASS_PATTERN}|^all|^unknown$"
_NONE = type(None)


# ---------------------------------------------------------------------------- bodies


def schema_of(kind: Any) -> Schema:
    """The schema of a type of bodies, or of a part of one."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _bounded(args[0], args[1])
    if origin in (dict, list):
        return _bounded(kind, Meta())
    if origin is not None:  # a union
        found = schema_of(given(args)[0])
        return {"anyOf": [found, {"type": "null"}]} if _NONE in args else found
    return _object(kind) if issubclass(kind, PlacementBody) else _bounded(kind, Meta())


def given(args: tuple[Any, ...]) -> list[Any]:
    """The members of a union that are no null, and not left out."""
    return [one for one in args if one not in (_NONE, UnsetType)]


def _bounded(kind: Any, meta: Meta) -> Schema:
    more = meta.extra_json_schema or {}
    if "type" in more:
        return dict(more)
    args = get_args(kind)
    known: Schema
    if get_origin(kind) is dict:
        known = {
            "minProperties": meta.min_length,
            "patternProperties": {schema_of(args[0])["pattern"]: schema_of(args[1])},
            "additionalProperties": False,
        }
        order = more or ("minProperties", "patternProperties")
        return {"type": "object", **_said({key: known[key] for key in order})}
    if get_origin(kind) is list:
        known = {"minItems": meta.min_length, "items": schema_of(args[0])}
        return {"type": "array", **_said(known), **more}
    if kind is int:
        return {"type": "integer", **_said({"maximum": meta.le, "minimum": meta.ge})}
    pattern = meta.pattern
    known = {
        # ``$`` of a schema also allows a newline behind.
        "pattern": pattern and pattern.replace(r"\A", "^").replace(r"\Z", "$"),
        "minLength": meta.min_length,
        "maxLength": meta.max_length,
    }
    return {"type": "string", **_said(known)}


def _object(kind: type[PlacementBody]) -> Schema:
    hints = get_type_hints(kind, include_extras=True)
    every = fields(kind)
    required = kind.required or [one.name for one in every if one.required]
    ending = {"required": list(required), "additionalProperties": False}
    return {
        "type": "object",
        "properties": {one.name: schema_of(hints[one.name]) for one in every},
        **{key: ending[key] for key in kind.ending},
    }


def _said(found: Schema) -> Schema:
    return {key: value for key, value in found.items() if value is not None}


# --------------------------------------------------------------------------- queries


def _record(
    properties: Schema, required: tuple[str, ...] = (), **others: Any
) -> Schema:
    """An object of exactly these properties."""
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    schema["additionalProperties"] = False
    return {**schema, **others}


def _uuid() -> Schema:
    return {"type": "string", "format": "uuid"}


def _text() -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": MAX_NAME}


def provider_query(version: int) -> Schema:
    """GET /resource_providers."""
    properties: Schema = {"name": {"type": "string"}, "uuid": _uuid()}
    if version >= 3:
        properties["member_of"] = {"type": "string"}
    if version >= 4:
        properties["resources"] = {"type": "string"}
    if version >= 14:
        properties["in_tree"] = _uuid()
    if version >= 18:
        properties["required"] = {"type": "string"}
    return _record(properties)


def trait_query(_version: int = 0) -> Schema:
    """GET /traits."""
    return _record({"name": {"type": "string"}, "associated": {"type": "string"}})


def usage_query(version: int) -> Schema:
    """GET /usages."""
    properties = {"project_id": _text(), "user_id": _text()}
    if version >= 38:
        properties["consumer_type"] = {
            "type": "string",
            "pattern": USAGE_TYPE_PATTERN,
            "minLength": 1,
            "maxLength": MAX_NAME,
        }
    return _record(properties, ("project_id",))


def candidate_query(version: int) -> Schema:
    """GET /allocation_candidates."""
    limit: Schema = {
        "type": ["integer", "string"],
        "pattern": "^[1-9][0-9]*$",
        "minimum": 1,
        "minLength": 1,
    }
    if version >= 25:
        return _grouped_candidate_query(version, limit)
    properties: Schema = {"resources": {"type": "string"}}
    if version >= 16:
        properties["limit"] = limit
    if version >= 17:
        properties["required"] = {"type": ["string"]}
    if version >= 21:
        properties["member_of"] = {"type": ["string"]}
    return _record(properties, ("resources",))


def _grouped_candidate_query(version: int, limit: Schema) -> Schema:
    properties: Schema = {
        "limit": limit,
        "group_policy": {"type": "string", "enum": ["none", "isolate"]},
    }
    if version >= 35:
        properties["root_required"] = {"type": ["string"]}
    if version >= 36:
        properties["same_subtree"] = {"type": ["string"]}
    keys = ["resources", "required", "member_of"]
    if version >= 31:
        keys.append("in_tree")
    suffix = NAMED_SUFFIX if version >= 33 else NUMBERED_SUFFIX
    patterns = {f"^{key}({suffix})?$": {"type": "string"} for key in keys}
    return _record(properties, patternProperties=patterns)
