"""Gantt's own operations over HTTP, from the OpenAPI document of the service."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from gantt.api.native.openapi import document
from scripts.reference.markdown import cell, escaped, table
from scripts.reference.types import shown

Json = dict[str, Any]
# Placement's, where the document has them: a page of their own.
OURS = ("/gantt/", "/scheduler/")


@functools.cache
def described() -> Json:
    """The OpenAPI document."""
    return document()


def operations() -> Iterator[tuple[str, str, Json]]:
    """Method, path and description of each operation of the document."""
    for path, methods in described()["paths"].items():
        for method, one in methods.items():
            if method in {"get", "put", "post", "delete", "patch"}:
                yield method.upper(), path, one


def page() -> str:
    """A section for each tag, with one for each operation."""
    tags: dict[str, list[tuple[str, str, Json]]] = {}
    for method, path, one in operations():
        if path.startswith(OURS):
            tags.setdefault(one["tags"][0], []).append((method, path, one))
    lines: list[str] = []
    for tag, found in tags.items():
        lines += [f"## {tag}", ""]
        for method, path, one in found:
            lines += [f"### `{method} {path}`", "", *_operation(one)]
    return "\n".join(lines) + "\n"


def overview() -> str:
    """Lines of a table with a row for each operation."""
    rows = [
        (f"`{method} {path}`", _rule(one), escaped(one["summary"]))
        for method, path, one in operations()
        if path.startswith(OURS)
    ]
    return "\n".join(table(("operation", "policy rule", ""), rows))


def _rule(one: Json) -> str:
    rule = one.get("x-policy-rule")
    return f"`{rule}`" if rule else "none: open to all"


def _operation(one: Json) -> list[str]:
    lines = [escaped(one["summary"]), "", *parameters(one)]
    body = one.get("requestBody")
    facts = []
    if body is not None:
        facts.append(("body", _contents(body)))
    for status, answer in one["responses"].items():
        if status.startswith("2"):
            facts.append((status, _contents(answer) or cell(answer["description"])))
    refused = [one for one in one["responses"] if not one.startswith("2")]
    facts.append(("refusals", ", ".join(refused)))
    facts.append(("policy rule", _rule(one)))
    return lines + table(("", ""), facts)


def parameters(one: Json) -> list[str]:
    """A row for each parameter of the path and the query."""
    rows = [
        (
            f"`{parameter['name']}`",
            parameter["in"],
            shown(parameter.get("schema", {})),
            cell(parameter.get("description", "")),
        )
        for parameter in one.get("parameters", ())
        if "name" in parameter
    ]
    return table(("parameter", "in", "type", ""), rows)


def _contents(holder: Json) -> str:
    """Links to what a body or an answer holds."""
    found = [
        shown(media["schema"])
        for media in holder.get("content", {}).values()
        if "schema" in media
    ]
    return " or ".join(dict.fromkeys(found))
