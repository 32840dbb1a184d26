"""The types of bodies and answers over HTTP, from the schemas that the service has."""

from __future__ import annotations

import json
from typing import Any

from scripts.reference.markdown import escaped, table

Json = dict[str, Any]
_BOUNDS = (
    ("minimum", "≥ {}"),
    ("exclusiveMinimum", "> {}"),
    ("maximum", "≤ {}"),
    ("exclusiveMaximum", "< {}"),
    ("minLength", "≥ {} characters"),
    ("maxLength", "≤ {} characters"),
    ("minItems", "≥ {} items"),
    ("maxItems", "≤ {} items"),
)
# What fits into a cell.
_LONGEST = 60


def page() -> str:
    """A section for each type, with a row for each field."""
    from scripts.reference.native import described

    lines: list[str] = []
    components: Json = described()["components"]["schemas"]
    for name, schema in sorted(components.items(), key=lambda one: _short(one[0])):
        lines += [f"## {_short(name)}", ""]
        if schema.get("description"):
            lines += [escaped(" ".join(schema["description"].split())), ""]
        required = set(schema.get("required", ()))
        rows = [
            (f"`{field}`", shown(one), _default(one, field in required))
            for field, one in schema.get("properties", {}).items()
        ]
        lines += table(("field", "type", "default"), rows)
        if not rows:
            lines += [shown(schema), ""]
    return "\n".join(lines) + "\n"


def _short(name: str) -> str:
    """Of two types of one name, each keeps the module that tells them apart."""
    return name.removeprefix("gantt.model.")


def _place(name: str) -> str:
    """Where its section is, as readers of Markdown name headings."""
    return f"http-types.md#{_short(name).replace('.', '').lower()}"


def shown(schema: Json) -> str:
    """The type, in the words of JSON, with its bounds; one that has a section of its
    own links to it."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{_short(name)}]({_place(name)})"
    for joined in ("anyOf", "oneOf"):
        if joined in schema:
            return " or ".join(shown(one) for one in schema[joined])
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return ", ".join(f"`{cell_json(one)}`" for one in values)
    kind = schema.get("type", "any")
    found = " or ".join(kind) if isinstance(kind, list) else kind
    if found == "array" and isinstance(schema.get("items"), dict):
        found = f"array of {shown(schema['items'])}"
    elif found == "array" and "prefixItems" in schema:
        found = f"array of {', '.join(shown(one) for one in schema['prefixItems'])}"
    elif found == "object" and isinstance(schema.get("additionalProperties"), dict):
        found = f"object of {shown(schema['additionalProperties'])}"
    bounds = [text.format(schema[key]) for key, text in _BOUNDS if key in schema]
    return ", ".join((found, *bounds))


def cell_json(value: Any) -> str:
    """JSON that can stand in a cell."""
    return json.dumps(value, ensure_ascii=False).replace("|", "\\|")


def _default(schema: Json, is_required: bool) -> str:
    if is_required:
        return "required"
    if "default" not in schema:
        return ""
    text = cell_json(schema["default"])
    return f"`{text}`" if len(text) <= _LONGEST else "its own defaults"
