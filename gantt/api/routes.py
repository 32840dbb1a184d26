"""Every path of the service in one table, and the router over it.

The order of the methods of a path is their order in the ``allow`` header of a 405. A
``Route`` gives its first microversion; the checks that a handler makes itself (accept,
content type, policy, body) are not repeated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final
from urllib.parse import parse_qsl

from msgspec import Struct

from gantt.api.call import Call, text_of
from gantt.api.handlers import (
    aggregates,
    allocations,
    candidates,
    diagnosis,
    inventories,
    providers,
    resource_classes,
    root,
    traits,
    usages,
    verification,
)
from gantt.api.middleware import ROUTE
from gantt.api.native import snapshot, watch
from gantt.api.native.table import performer
from gantt.api.wire.problem import Problem
from gantt.model.operation import Operation, Work
from gantt.model.operations import OPERATIONS

Handler = Callable[..., None]


class Route(Struct, frozen=True):
    """``too_old``: the status at microversions before ``since``; ``first``: a check
    that precedes the one of the version."""

    handler: Handler
    since: int = 0
    too_old: int = 404
    first: Callable[[Call], None] | None = None


_PROVIDER = "/resource_providers/{uuid}"

# Placement's, and those of Gantt that stream or take a microversion.
_HANDLED: dict[str, dict[str, Route]] = {
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
    "/gantt/snapshot": {"GET": Route(snapshot.snapshot)},
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
    "/reshaper": {"POST": Route(allocations.reshape, 30)},
}


def _native(operations: Iterable[Operation]) -> dict[str, dict[str, Route]]:
    """Without a microversion in the request, errors are those of the newest."""
    table: dict[str, dict[str, Route]] = {}
    for one in operations:
        route = Route(performer(one), first=diagnosis.assume_newest)
        table.setdefault(one.path, {})[one.method] = route
    return table


ROUTES: dict[str, dict[str, Route]] = {
    **_HANDLED,
    **_native(one for one in OPERATIONS if one.path not in _HANDLED),
}

_WORK: Final[Mapping[tuple[str, str], Work]] = {
    ("GET", "/allocation_candidates"): "search",
    ("GET", "/resource_providers"): "search",
    ("GET", "/usages"): "search",
    ("POST", "/reshaper"): "search",
    **{(one.method, one.path): one.work for one in OPERATIONS},
}
# With one of these parameters, not empty, a list is a look-up, or short.
_NARROW: Final = {
    "/resource_providers": ("name", "uuid", "in_tree"),
    **{one.path: one.narrow for one in OPERATIONS if one.narrow},
}


def work_of(method: str, path: str, query: str) -> Work:
    """What kind of work a request is: many of one kind must not delay others."""
    found = _WORK.get((method, path), "quick")
    narrow = _NARROW.get(path)
    if narrow is None or not query:
        return found
    given = dict(parse_qsl(query, keep_blank_values=True))  # the last value counts
    return "quick" if any(map(given.get, narrow)) else found


_LOOKED_UP: Final = ("/inventories", "/usages")


def is_look_up(method: str, path: str) -> bool:
    """Whether a request is one of the most frequent, and quicker than a thread begins:
    computes look up the allocations of each of their instances, and what their own
    providers have, one after the other."""
    return method == "GET" and (
        path.startswith("/allocations/")
        or (path.startswith("/resource_providers/") and path.endswith(_LOOKED_UP))
    )


class _Node:
    """One step of a path: literal children, or one field that matches any text."""

    __slots__ = ("children", "field", "field_child", "methods", "template")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.field = ""
        self.field_child: _Node | None = None
        self.methods: dict[str, Route] = {}
        self.template = ""


class Router:
    """The table as a tree; paths match exactly, trailing slashes included."""

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
        node.methods = methods

    def dispatch(self, call: Call) -> None:
        """Call the handler for the path and method of ``call``, and record the route.
        Raises Problem 404, 405, and what the handler raises."""
        environ = call.environ
        node, fields = self._find(text_of(environ.get("PATH_INFO", "")) or "/")
        environ[ROUTE] = node.template
        route = node.methods.get(environ["REQUEST_METHOD"])
        if route is None:
            raise Problem(
                405,
                "The method specified is not allowed for this resource.",
                headers=(("allow", ", ".join(node.methods)),),
            )
        if route.first is not None:
            route.first(call)
        if call.version < route.since:
            raise Problem(route.too_old)
        route.handler(call, **fields)

    def _find(self, path: str) -> tuple[_Node, dict[str, str]]:
        """The node of ``path``, and the fields in it. Raises Problem 404."""
        node = self._top
        fields: dict[str, str] = {}
        for step in path.split("/")[1:]:
            child = node.children.get(step)
            if child is None:
                child = node.field_child
                if child is None or not step:
                    raise Problem(404, vary=False)
                fields[node.field] = step
            node = child
        if not node.methods:
            raise Problem(404, vary=False)
        return node, fields
