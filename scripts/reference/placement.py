"""The Placement part over HTTP: routes, bodies by microversion, and samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from gantt.api.routes import ROUTES
from gantt.api.wire.microversion import MAX_MINOR
from gantt.api.wire.placement_part import PLACEMENT
from scripts.reference.markdown import as_json, escaped, fenced, table
from scripts.reference.native import OURS, operations
from scripts.reference.samples import Sample, samples

SchemaOf = Callable[[int], dict[str, Any]]

SUMMARIES: Final = {(one.method, one.path): one.summary for one in PLACEMENT}
BODIES: Final = {
    (one.method, one.path): one.body for one in PLACEMENT if one.body is not None
}
QUERIES: Final = {
    (one.method, one.path): one.query for one in PLACEMENT if one.query is not None
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


def overview() -> str:
    """Lines of a table with a row for each operation."""
    rows = [
        (f"`{method} {path}`", f"1.{since}", escaped(SUMMARIES[method, path]))
        for (method, path), since in routes().items()
    ]
    return "\n".join(table(("operation", "since", ""), rows))


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
