"""Every path of the service, in one table, and the search in it.

The order of the methods of a path is the order in the ``allow`` header of a 405. A
``Route`` says since which microversion it is there; the checks that a handler makes
itself (accept, content type, policy, body) are not repeated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast
from urllib.parse import parse_qsl

import falcon
from msgspec import Struct

from gantt.api.call import Call
from gantt.api.handlers import (
    aggregates,
    allocations,
    candidates,
    diagnosis,
    inventories,
    providers,
    reshaper,
    resource_classes,
    root,
    traits,
    usages,
    verification,
)
from gantt.api.native import watch
from gantt.api.native.operation import Operation
from gantt.api.native.table import OPERATIONS
from gantt.api.wire.problem import Problem

Handler = Callable[..., None]
Responder = Callable[..., None]


class Route(Struct, frozen=True):
    """``too_old``: the status at microversions before ``since``.

    ``first``: a check that goes before the one of the version.
    """

    handler: Handler
    since: int = 0
    too_old: int = 404
    first: Callable[[Call], None] | None = None


def _native(operations: Iterable[Operation]) -> dict[str, dict[str, Route]]:
    """Without a microversion in the request, errors are those of the newest one."""
    table: dict[str, dict[str, Route]] = {}
    for one in operations:
        route = Route(one.perform, first=diagnosis.assume_newest)
        table.setdefault(one.path, {})[one.method] = route
    return table


_PROVIDER = "/resource_providers/{uuid}"

ROUTES: dict[str, dict[str, Route]] = {
    "/": {"GET": Route(root.show)},
    "/resource_classes": {
        "GET": Route(resource_classes.list_, 2),
        "POST": Route(resource_classes.create, 2),
    },
    "/resource_classes/{name}": {
        "GET": Route(resource_classes.show, 2),
        "PUT": Route(resource_classes.update, 2),
        "DELETE": Route(resource_classes.delete, 2),
    },
    "/resource_providers": {
        "GET": Route(providers.list_),
        "POST": Route(providers.create),
    },
    _PROVIDER: {
        "GET": Route(providers.show),
        "DELETE": Route(providers.delete),
        "PUT": Route(providers.update),
    },
    f"{_PROVIDER}/inventories": {
        "GET": Route(inventories.list_),
        "POST": Route(inventories.create),
        "PUT": Route(inventories.replace),
        "DELETE": Route(inventories.delete_all, 5, too_old=405),
    },
    f"{_PROVIDER}/inventories/{{resource_class}}": {
        "GET": Route(inventories.show),
        "PUT": Route(inventories.update),
        "DELETE": Route(inventories.delete),
    },
    f"{_PROVIDER}/usages": {"GET": Route(usages.of_provider)},
    f"{_PROVIDER}/aggregates": {
        "GET": Route(aggregates.show, 1, first=Call.check_accept),
        "PUT": Route(aggregates.replace, 1, first=Call.check_content_type),
    },
    f"{_PROVIDER}/allocations": {"GET": Route(allocations.of_provider)},
    "/allocations": {"POST": Route(allocations.post, 13)},
    "/allocations/{consumer_uuid}": {
        "GET": Route(allocations.show),
        "PUT": Route(allocations.put),
        "DELETE": Route(allocations.delete),
    },
    "/allocation_candidates": {"GET": Route(candidates.list_, 10)},
    "/gantt/candidates/explain": {
        "GET": Route(diagnosis.explain, 10, first=diagnosis.assume_newest),
    },
    "/gantt/verify": {"GET": Route(verification.verify)},
    "/gantt/watch": {"GET": Route(watch.watch, first=diagnosis.assume_newest)},
    "/traits": {"GET": Route(traits.list_, 6)},
    "/traits/{name}": {
        "GET": Route(traits.show, 6),
        "PUT": Route(traits.create, 6),
        "DELETE": Route(traits.delete, 6),
    },
    f"{_PROVIDER}/traits": {
        "GET": Route(traits.of_provider, 6),
        "PUT": Route(traits.replace_for_provider, 6),
        "DELETE": Route(traits.delete_for_provider, 6),
    },
    "/usages": {"GET": Route(usages.total, 9)},
    "/reshaper": {"POST": Route(reshaper.reshape, 30)},
    **_native(OPERATIONS),
}


# What may search, list or compare as much as there is, rather than look something up.
_LONG = frozenset(
    {
        ("GET", "/allocation_candidates"),
        ("GET", "/resource_providers"),
        ("GET", "/usages"),
        ("GET", "/gantt/candidates/explain"),
        ("GET", "/gantt/decisions"),
        ("GET", "/gantt/hosts"),
        ("GET", "/gantt/usage-history"),
        ("GET", "/gantt/verify"),
        ("POST", "/gantt/capacity"),
        ("POST", "/gantt/select"),
        ("POST", "/reshaper"),
    }
)
# With one of these, and not an empty one, a list is a look-up.
_NARROW = {
    "/resource_providers": ("name", "uuid", "in_tree"),
    "/gantt/hosts": ("host", "node"),
}


def is_long(method: str, path: str, query: str) -> bool:
    """Whether a request may take long, so that many of them must not be in the way of
    all others."""
    if (method, path) not in _LONG:
        return False
    narrow = _NARROW.get(path)
    if narrow is None or not query:
        return True
    given = dict(parse_qsl(query, keep_blank_values=True))  # the last one counts
    return not any(map(given.get, narrow))


class Methods(dict[str, Responder]):
    """The responders of one path; any other method is answered with a 405."""

    def __missing__(self, _method: str) -> Responder:
        return partial(_refuse_method, ", ".join(self))


class _Node:
    """One step of a path: literal children, or one field that matches any text."""

    __slots__ = ("children", "field", "field_child", "methods", "template")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.field = ""
        self.field_child: _Node | None = None
        self.methods: Methods | None = None
        self.template = ""


class Router:
    """falcon's router interface over the table: exact, no slash is ever forgiven."""

    def __init__(self, routes: dict[str, dict[str, Route]]) -> None:
        self._top = _Node()
        for template, methods in routes.items():
            self._add(template, methods)

    def _add(self, template: str, methods: dict[str, Route]) -> None:
        node = self._top
        for step in template.split("/")[1:]:
            if step.startswith("{"):
                node.field = step[1:-1]
                node.field_child = node.field_child or _Node()
                node = node.field_child
            else:
                node = node.children.setdefault(step, _Node())
        node.template = template
        node.methods = Methods(
            {method: _responder(route) for method, route in methods.items()}
        )

    def find(
        self,
        uri: str,
        req: falcon.Request | None = None,  # noqa: ARG002 - falcon's signature
    ) -> tuple[object, Methods, dict[str, Any], str] | None:
        """What falcon asks for: resource, method map, path fields, template."""
        node: _Node = self._top
        fields: dict[str, Any] = {}
        for step in uri.split("/")[1:]:
            child = node.children.get(step)
            if child is None:
                child = node.field_child
                if child is None or not step:
                    return None
                fields[node.field] = step
            node = child
        if node.methods is None:
            return None
        return node, node.methods, fields, node.template


def _responder(route: Route) -> Responder:
    """``route`` as falcon calls it."""
    handler, since, first = route.handler, route.since, route.first

    def respond(
        request: falcon.Request,
        _response: falcon.Response,
        **fields: str,
    ) -> None:
        call = cast(Call, request.context)
        if first is not None:
            first(call)
        if call.version < since:
            raise Problem(route.too_old)
        handler(call, **fields)

    return respond


def _refuse_method(
    allowed: str,
    _request: falcon.Request,
    _response: falcon.Response,
    **_fields: str,
) -> None:
    raise Problem(
        405,
        "The method specified is not allowed for this resource.",
        headers=(("allow", allowed),),
    )
