"""JSON schemas of bodies and queries at each microversion.

Refusals quote the schema, so the order of keys is part of the wire contract. Each
function takes the minor version and builds one schema, which is used only for requests
that were not well-formed at first sight (``verdict``). A test compares the schemas with
the typed decoders (``typed``).
"""

from __future__ import annotations

from typing import Any, TypeAlias

from gantt.model.names import MAX_INT, MAX_NAME, MAX_PROVIDER_NAME, MAX_RATIO

Schema: TypeAlias = dict[str, Any]

CLASS_PATTERN = "^[A-Z0-9_]+$"
CUSTOM_PATTERN = "^CUSTOM_[A-Z0-9_]+$"
UUID_PATTERN = "^[0-9a-fA-F-]{36}$"
NUMBERED_SUFFIX = "[1-9][0-9]*"
NAMED_SUFFIX = "[a-zA-Z0-9_-]{1,64}"
USAGE_TYPE_PATTERN = f"{CLASS_PATTERN}|^all|^unknown$"


def _record(
    properties: Schema, required: tuple[str, ...] = (), **others: Any
) -> Schema:
    """An object of exactly these properties."""
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    schema["additionalProperties"] = False
    return {**schema, **others}


def _mapping(pattern: str, values: Schema) -> Schema:
    return {"type": "object", "patternProperties": {pattern: values}}


def _integer(minimum: int) -> Schema:
    return {"type": "integer", "maximum": MAX_INT, "minimum": minimum}


def _uuid() -> Schema:
    return {"type": "string", "format": "uuid"}


def _text(maximum: int = MAX_NAME) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": maximum}


# ------------------------------------------------------------------------- providers


def create_provider(version: int) -> Schema:
    """POST /resource_providers."""
    properties: Schema = {
        "name": {"type": "string", "maxLength": MAX_PROVIDER_NAME},
        "uuid": _uuid(),
    }
    if version >= 14:
        properties["parent_provider_uuid"] = {"anyOf": [_uuid(), {"type": "null"}]}
    return _record(properties, ("name",))


def update_provider(version: int) -> Schema:
    """PUT /resource_providers/{uuid}."""
    schema = create_provider(version)
    del schema["properties"]["uuid"]
    return schema


# ----------------------------------------------------------------------- inventories


def _inventory_properties() -> Schema:
    return {
        "resource_provider_generation": {"type": "integer"},
        "total": _integer(1),
        "reserved": _integer(0),
        "min_unit": _integer(1),
        "max_unit": _integer(1),
        "step_size": _integer(1),
        "allocation_ratio": {"type": "number", "maximum": MAX_RATIO},
    }


def set_inventory(_version: int = 0) -> Schema:
    """PUT /resource_providers/{uuid}/inventories/{resource_class}."""
    required = ("total", "resource_provider_generation")
    return _record(_inventory_properties(), required)


def add_inventory(_version: int = 0) -> Schema:
    """POST /resource_providers/{uuid}/inventories."""
    properties = _inventory_properties()
    properties["resource_class"] = {"type": "string", "pattern": CLASS_PATTERN}
    return _record(properties, ("total", "resource_class"))


def set_inventories(_version: int = 0) -> Schema:
    """PUT /resource_providers/{uuid}/inventories."""
    record = _record(_inventory_properties(), ("total",))
    properties: Schema = {
        "resource_provider_generation": {"type": "integer"},
        "inventories": _mapping(CLASS_PATTERN, record),
    }
    return _record(properties, ("resource_provider_generation", "inventories"))


# ---------------------------------------------------------------------------- labels


def set_aggregates(version: int) -> Schema:
    """PUT /resource_providers/{uuid}/aggregates."""
    names: Schema = {"type": "array", "items": _uuid(), "uniqueItems": True}
    if version < 19:
        return names
    properties = {
        "aggregates": names,
        "resource_provider_generation": {"type": "integer"},
    }
    return _record(properties, ("aggregates", "resource_provider_generation"))


def set_traits(_version: int = 0) -> Schema:
    """PUT /resource_providers/{uuid}/traits."""
    properties: Schema = {
        "traits": {"type": "array", "items": _text()},
        "resource_provider_generation": {"type": "integer"},
    }
    return _record(properties, ("traits", "resource_provider_generation"))


def name_class(_version: int = 0) -> Schema:
    """POST /resource_classes, and PUT /resource_classes/{name}."""
    name = {"type": "string", "pattern": CUSTOM_PATTERN, "maxLength": MAX_NAME}
    return _record({"name": name}, ("name",))


# ----------------------------------------------------------------------- allocations


def _resources() -> Schema:
    return {
        "type": "object",
        "minProperties": 1,
        "patternProperties": {CLASS_PATTERN: {"type": "integer", "minimum": 1}},
        "additionalProperties": False,
    }


def _listed_allocations(version: int) -> Schema:
    """The form before 1.12: a list that names a provider in each item."""
    provider: Schema = {
        "type": "object",
        "properties": {"uuid": _uuid()},
        "additionalProperties": False,
        "required": ["uuid"],
    }
    item = _record(
        {"resource_provider": provider, "resources": _resources()},
        ("resource_provider", "resources"),
    )
    properties: Schema = {
        "allocations": {"type": "array", "minItems": 1, "items": item}
    }
    required: tuple[str, ...] = ("allocations",)
    if version >= 8:
        properties.update(project_id=_text(), user_id=_text())
        required += ("project_id", "user_id")
    return _record(properties, required)


def _mappings() -> Schema:
    providers: Schema = {"type": "array", "minItems": 1, "items": _uuid()}
    return {
        "type": "object",
        "minProperties": 1,
        "patternProperties": {NAMED_SUFFIX: providers},
    }


def _consumer(version: int, least: int) -> Schema:
    """The form since 1.12: at least ``least`` providers by their uuids."""
    share: Schema = {
        "type": "object",
        "properties": {"generation": {"type": "integer"}, "resources": _resources()},
        "required": ["resources"],
        "additionalProperties": False,
    }
    properties: Schema = {
        "allocations": {
            "type": "object",
            "minProperties": least,
            "patternProperties": {UUID_PATTERN: share},
            "additionalProperties": False,
        },
        "project_id": _text(),
        "user_id": _text(),
    }
    required = ["allocations", "project_id", "user_id"]
    if version >= 28:
        kinds = ["integer", "null"]
        properties["consumer_generation"] = {
            "type": kinds,
            "additionalProperties": False,
        }
        required.append("consumer_generation")
    if version >= 34:
        properties["mappings"] = _mappings()
    if version >= 38:
        properties["consumer_type"] = {
            "type": "string",
            "pattern": CLASS_PATTERN,
            "minLength": 1,
            "maxLength": MAX_NAME,
        }
        required.append("consumer_type")
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "required": required,
    }


def set_allocations(version: int) -> Schema:
    """PUT /allocations/{consumer_uuid}."""
    if version < 12:
        return _listed_allocations(version)
    return _consumer(version, least=0 if version >= 28 else 1)


def set_many_allocations(version: int, least: int = 1) -> Schema:
    """POST /allocations."""
    return {
        "type": "object",
        "minProperties": least,
        "additionalProperties": False,
        "patternProperties": {UUID_PATTERN: _consumer(version, least=0)},
    }


def reshape(version: int) -> Schema:
    """POST /reshaper."""
    inventories = _mapping(UUID_PATTERN, set_inventories())
    inventories.update(minProperties=1, additionalProperties=False)
    properties = {
        "inventories": inventories,
        "allocations": set_many_allocations(version, least=0),
    }
    return _record(properties, ("inventories", "allocations"))


# --------------------------------------------------------------------------- queries


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
