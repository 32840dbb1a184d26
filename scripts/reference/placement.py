"""The Placement part over HTTP: routes, bodies by microversion, and samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from gantt.api.routes import ROUTES
from gantt.api.wire import schemas
from gantt.api.wire.microversion import MAX_MINOR
from scripts.reference.markdown import as_json, escaped, fenced, table
from scripts.reference.native import OURS, operations
from scripts.reference.samples import Sample, samples

_PROVIDER: Final = "/resource_providers/{uuid}"
SchemaOf = Callable[[int], dict[str, Any]]

# What each operation is for, in a line.
SUMMARIES: Final = {
    ("GET", "/"): "The versions that this service speaks; no token is needed.",
    ("GET", "/resource_classes"): "All resource classes.",
    ("POST", "/resource_classes"): "Create a custom resource class.",
    ("GET", "/resource_classes/{name}"): "One resource class.",
    ("PUT", "/resource_classes/{name}"): "Rename it (before 1.7); create it if it is "
    "missing (since 1.7, without a body).",
    ("DELETE", "/resource_classes/{name}"): "Delete a custom resource class.",
    ("GET", "/resource_providers"): "Providers that match the query.",
    ("POST", "/resource_providers"): "Create a provider; since 1.20 the answer has it.",
    ("GET", _PROVIDER): "One provider.",
    ("PUT", _PROVIDER): "Rename a provider, or give it a parent.",
    ("DELETE", _PROVIDER): "Delete a provider that has no children and no allocations.",
    ("GET", f"{_PROVIDER}/inventories"): "What a provider has of each resource class.",
    ("POST", f"{_PROVIDER}/inventories"): "Add an inventory of one class.",
    ("PUT", f"{_PROVIDER}/inventories"): "Replace all inventories.",
    ("DELETE", f"{_PROVIDER}/inventories"): "Delete all inventories.",
    ("GET", f"{_PROVIDER}/inventories/{{resource_class}}"): "The inventory of a class.",
    ("PUT", f"{_PROVIDER}/inventories/{{resource_class}}"): "Replace it.",
    ("DELETE", f"{_PROVIDER}/inventories/{{resource_class}}"): "Delete it.",
    ("GET", f"{_PROVIDER}/usages"): "What is in use of a provider.",
    ("GET", f"{_PROVIDER}/aggregates"): "The aggregates that a provider is in.",
    ("PUT", f"{_PROVIDER}/aggregates"): "Replace them.",
    ("GET", f"{_PROVIDER}/allocations"): "Who uses a provider, and how much of it.",
    ("GET", f"{_PROVIDER}/traits"): "The traits of a provider.",
    ("PUT", f"{_PROVIDER}/traits"): "Replace them.",
    ("DELETE", f"{_PROVIDER}/traits"): "Take them all away.",
    ("POST", "/allocations"): "Replace the allocations of several consumers at once.",
    ("GET", "/allocations/{consumer_uuid}"): "The allocations of a consumer; one that "
    "is not known has none.",
    ("PUT", "/allocations/{consumer_uuid}"): "Replace the allocations of a consumer.",
    ("DELETE", "/allocations/{consumer_uuid}"): "Delete the allocations of a consumer.",
    ("GET", "/allocation_candidates"): "Where a request would fit.",
    ("GET", "/traits"): "Traits that match the query.",
    ("GET", "/traits/{name}"): "Whether a trait exists: 204, or 404.",
    ("PUT", "/traits/{name}"): "Create a custom trait: 201, or 204 if it exists.",
    ("DELETE", "/traits/{name}"): "Delete a custom trait that is not in use.",
    ("GET", "/usages"): "What a project, or a user of it, uses.",
    ("POST", "/reshaper"): "Move inventories and allocations between providers, at "
    "once.",
}
BODIES: Final[dict[tuple[str, str], SchemaOf]] = {
    ("POST", "/resource_providers"): schemas.create_provider,
    ("PUT", _PROVIDER): schemas.update_provider,
    ("POST", f"{_PROVIDER}/inventories"): schemas.add_inventory,
    ("PUT", f"{_PROVIDER}/inventories"): schemas.set_inventories,
    ("PUT", f"{_PROVIDER}/inventories/{{resource_class}}"): schemas.set_inventory,
    ("PUT", f"{_PROVIDER}/aggregates"): schemas.set_aggregates,
    ("PUT", f"{_PROVIDER}/traits"): schemas.set_traits,
    ("POST", "/resource_classes"): schemas.name_class,
    ("PUT", "/allocations/{consumer_uuid}"): schemas.set_allocations,
    ("POST", "/allocations"): schemas.set_many_allocations,
    ("POST", "/reshaper"): schemas.reshape,
}
QUERIES: Final[dict[tuple[str, str], SchemaOf]] = {
    ("GET", "/resource_providers"): schemas.provider_query,
    ("GET", "/traits"): schemas.trait_query,
    ("GET", "/usages"): schemas.usage_query,
    ("GET", "/allocation_candidates"): schemas.candidate_query,
}


def page() -> str:
    """A section for each path, with one for each of its methods."""
    since = routes()
    told = {(method, path): one for method, path, one in operations()}
    shown = samples(since)
    lines: list[str] = []
    for path in dict.fromkeys(path for _, path in since):
        lines += [f"## `{path}`", ""]
        for operation in since:
            if operation[1] == path:
                lines += [f"### {operation[0]} `{path}`", ""]
                lines += _operation(operation, since[operation], told.get(operation))
                ours = [one for one in shown if (one.method, one.path) == operation]
                for one in ours:
                    lines += _sample(one)
    return "\n".join(lines) + "\n"


def routes() -> dict[tuple[str, str], int]:
    """Method and path of each operation of Placement's, with its first version."""
    return {
        (method, path): route.since
        for path, methods in ROUTES.items()
        if not path.startswith(OURS)
        for method, route in methods.items()
    }


def _operation(
    operation: tuple[str, str], since: int, told: dict[str, Any] | None
) -> list[str]:
    begins = f"Since 1.{since}." if since else "In every microversion."
    rule = (told or {}).get("x-policy-rule")
    policy = f" Policy rule: `{rule}`." if rule else ""
    lines = [f"{escaped(SUMMARIES[operation])} {begins}{policy}", ""]
    if operation in QUERIES:
        lines += _parameters(QUERIES[operation], since)
    if operation in BODIES:
        for first, last, schema in _periods(BODIES[operation], since):
            lines += [f"The body, {_versions(first, last)}:", "", *as_json(schema)]
    return lines


def _parameters(schema_of: SchemaOf, since: int) -> list[str]:
    """Each parameter with the versions that have it, as a name or as a pattern."""
    found: dict[str, list[int]] = {}
    for version in range(since, MAX_MINOR + 1):
        schema = schema_of(version)
        for kind in ("properties", "patternProperties"):
            for name in schema.get(kind, {}):
                found.setdefault(name, []).append(version)
    rows = [
        (f"`{name}`".replace("|", "\\|"), _versions(versions[0], versions[-1]))
        for name, versions in found.items()
    ]
    return table(("parameter", "microversions"), rows)


def _periods(
    schema_of: SchemaOf, since: int
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """First and last version of each form of a schema."""
    first, known = since, schema_of(since)
    for version in range(since + 1, MAX_MINOR + 1):
        now = schema_of(version)
        if now != known:
            yield first, version - 1, known
            first, known = version, now
    yield first, MAX_MINOR, known


def _versions(first: int, last: int) -> str:
    if first == last:
        return f"1.{first}"
    return f"since 1.{first}" if last == MAX_MINOR else f"1.{first} to 1.{last}"


def _sample(one: Sample) -> list[str]:
    version = f"OpenStack-API-Version: placement 1.{one.last}"
    lines = [f"Sample, {_versions(one.first, one.last)}:", ""]
    lines += fenced(f"{one.method} {one.url}\n{version}", "text")
    if one.body is not None:
        lines += as_json(one.body)
    lines += [f"{one.status}", ""]
    return lines + (as_json(_few(one.answer)) if one.answer is not None else [])


def _few(answer: Any) -> Any:
    """A long list of the answer, cut to its first entries."""
    if isinstance(answer, dict):
        return {k: v[:3] if isinstance(v, list) else v for k, v in answer.items()}
    return answer
