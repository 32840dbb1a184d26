"""Every path of the service, from the tables of operations, and the router over it.

The checks that precede a handler (microversion, accept or content type, policy) are
made here, as its row says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import parse_qsl

from msgspec import Struct
from msgspec.structs import replace

from gantt.api.call import Call, text_of
from gantt.api.handlers import (
    allocations,
    candidates,
    inventories,
    providers,
    resource_classes,
    root,
    traits,
)
from gantt.api.middleware import ROUTE
from gantt.api.native import snapshot, watch
from gantt.api.native.operation_table import performer
from gantt.api.wire.placement_part import PLACEMENT, Described
from gantt.api.wire.problem import Problem
from gantt.model.operation import Operation, Work
from gantt.model.operations import OPERATIONS

Handler = Callable[..., None]


class Route(Struct, frozen=True):
    """``too_old``: the status at microversions before ``since``; ``first``: a check
    that precedes the one of the version; ``rule``: what the caller must be allowed, "":
    the handler checks that, if it is checked at all; ``shows``: an answer in JSON,
    which must be acceptable; ``reads``: a body in JSON, which the handler takes as
    bytes."""

    handler: Handler
    since: int = 0
    too_old: int = 404
    first: Callable[[Call], None] | None = None
    rule: str = ""
    shows: bool = False
    reads: bool = False


_PROVIDER: Final = "/resource_providers/{uuid}"
_SERVED: Final[Mapping[str, Handler]] = {
    "GET /": root.show,
    "GET /resource_classes": resource_classes.list_,
    "POST /resource_classes": resource_classes.create,
    "GET /resource_classes/{name}": resource_classes.show,
    "PUT /resource_classes/{name}": resource_classes.update,
    "DELETE /resource_classes/{name}": resource_classes.delete,
    "GET /resource_providers": providers.list_,
    "POST /resource_providers": providers.create,
    f"GET {_PROVIDER}": providers.show,
    f"DELETE {_PROVIDER}": providers.delete,
    f"PUT {_PROVIDER}": providers.update,
    f"GET {_PROVIDER}/inventories": inventories.list_,
    f"POST {_PROVIDER}/inventories": inventories.create,
    f"PUT {_PROVIDER}/inventories": inventories.replace,
    f"DELETE {_PROVIDER}/inventories": inventories.delete_all,
    f"GET {_PROVIDER}/inventories/{{resource_class}}": inventories.show,
    f"PUT {_PROVIDER}/inventories/{{resource_class}}": inventories.update,
    f"DELETE {_PROVIDER}/inventories/{{resource_class}}": inventories.delete,
    f"GET {_PROVIDER}/usages": allocations.provider_usages,
    f"GET {_PROVIDER}/aggregates": providers.aggregates,
    f"PUT {_PROVIDER}/aggregates": providers.set_aggregates,
    f"GET {_PROVIDER}/allocations": allocations.of_provider,
    "POST /allocations": allocations.post,
    "GET /allocations/{consumer_uuid}": allocations.show,
    "PUT /allocations/{consumer_uuid}": allocations.put,
    "DELETE /allocations/{consumer_uuid}": allocations.delete,
    "GET /allocation_candidates": candidates.list_,
    "GET /traits": traits.list_,
    "GET /traits/{name}": traits.show,
    "PUT /traits/{name}": traits.create,
    "DELETE /traits/{name}": traits.delete,
    f"GET {_PROVIDER}/traits": traits.of_provider,
    f"PUT {_PROVIDER}/traits": traits.replace_for_provider,
    f"DELETE {_PROVIDER}/traits": traits.delete_for_provider,
    "GET /usages": allocations.total_usages,
    "POST /reshaper": allocations.reshape,
}
_FIRST: Final[Mapping[Handler, Callable[[Call], None]]] = {
    providers.aggregates: Call.check_accept,
    providers.set_aggregates: Call.check_content_type,
}
# For these more decides than the rule: the project in the query, the microversion.
_JUDGING: Final = (allocations.total_usages, resource_classes.update)
# Those of Gantt that stream or take a microversion.
_OWN: Final = {
    "diagnosis_explain": Route(
        candidates.explain, since=10, first=candidates.assume_newest, shows=True
    ),
    "snapshot_snapshot": Route(snapshot.snapshot),
    "watch_watch": Route(watch.watch, first=candidates.assume_newest),
}


def _of_placement(one: Described) -> Route:
    handler = _SERVED[one.at]
    return Route(
        handler,
        one.since,
        one.too_old,
        _FIRST.get(handler),
        rule="" if handler in _JUDGING else one.policy_rule,
        shows=one.method == "GET" and not one.success and bool(one.rule),
        reads=one.body is not None,
    )


def _of_gantt(one: Operation) -> Route:
    """Without a microversion in the request, errors are those of the newest."""
    usual = Route(performer(one), first=candidates.assume_newest, shows=True)
    return replace(_OWN.get(one.known_as, usual), rule=one.rule)


def _table() -> dict[str, dict[str, Route]]:
    table: dict[str, dict[str, Route]] = {}
    for one in PLACEMENT:
        table.setdefault(one.path, {})[one.method] = _of_placement(one)
    for each in OPERATIONS:
        table.setdefault(each.path, {})[each.method] = _of_gantt(each)
    return table


ROUTES: dict[str, dict[str, Route]] = _table()
_EVERY: Final[tuple[Described | Operation, ...]] = (*PLACEMENT, *OPERATIONS)
_WORK: Final = {(one.method, one.path): one.work for one in _EVERY}
# With one of these parameters, not empty, a list is a look-up, or short.
_NARROW: Final = {one.path: one.narrow for one in _EVERY if one.narrow}


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
        sent = (call.json_body(),) if route.reads else ()
        if route.shows:
            call.check_accept()
        if route.rule:
            call.authorize(route.rule)
        route.handler(call, *sent, **fields)

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
