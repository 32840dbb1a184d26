"""How Gantt's own API is called; most of its methods need no more than their row.

Other Placements lack these routes: that is distinguished from an unknown object.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from inspect import Signature, signature
from types import MappingProxyType
from typing import Any, Final

from msgspec import UNSET, structs

from gantt import errors
from gantt.client import decode, encode
from gantt.client.exchange import Exchange, NoSuchRoute
from gantt.client.transport import Reply
from gantt.model.forms import scalars, shadow, values
from gantt.model.operation import Operation
from gantt.model.operation_bodies import Enclosing
from gantt.model.operations import Library
from gantt.model.paging import followed
from gantt.model.shadow import check_limit

Check = Callable[[Any], Any]

_FIELD: Final = re.compile(r"\{\w+\}")
# How arguments are checked, as the library in process does: by the method and the name,
# or by the name that the body has for it.
_CHECKS: Final[Mapping[str, Check]] = {
    "advise.request": lambda one: structs.replace(one, spec=values.spec(one.spec)),
    "delete_instance.instance_uuid": partial(scalars.uuid, "instance_uuid"),
    "delete_server_group.uuid": partial(scalars.name, "group"),
    "shadow_event.event": shadow.checked,
    "shadow_records.limit": check_limit,
    "set_server_group.group": values.server_group,
    "update_service.service": values.service,
    "request_spec": values.spec,
    "request_specs": lambda specs: [values.spec(one) for one in specs],
    "aggregates": values.aggregates,
    "instances": values.instances,
    "instance_uuids": partial(values.uuids, "instance_uuids"),
}


class Native(Library):
    """Gantt's own API, below ``/gantt``."""

    _wire: Exchange

    def _native(
        self,
        method: str,
        *path: str,
        body: Any = None,
        query: Mapping[str, object] | encode.Pairs = MappingProxyType({}),
    ) -> Reply:
        for part in path:
            if not part or "/" in part:
                raise errors.Invalid(
                    f"{part!r} cannot be part of a path: it must not be empty or "
                    "contain a slash."
                )
        pairs = query if isinstance(query, list) else encode.given(query)
        route = encode.query(encode.path("gantt", *path), pairs)
        try:
            return self._wire.ask(method, route, body)
        except NoSuchRoute:
            raise errors.Invalid(
                f"This service has no /{'/'.join(('gantt', *path))}, which is Gantt's "
                "own addition to Placement: ask a Gantt, or the database in process."
            ) from None

    def _perform(self, one: Operation, args: Any, kwargs: Any) -> Any:
        """See Library: the first arguments are in the path, and the others in the query
        or the body; a whole one has fields for both."""
        given = _signature(one.name).bind(self, *args, **kwargs)
        given.apply_defaults()
        _, *arguments = given.arguments.items()
        path = [*one.path.split("/")[2:]]
        for place, part in enumerate(path):
            if _FIELD.fullmatch(part) and not one.is_whole:
                name, value = arguments.pop(0)
                path[place] = _checked(one, name, value, partial(scalars.name, name))
        asked = {name: _checked(one, name, value) for name, value in arguments}
        if one.is_whole:
            (whole,) = asked.values()
            asked = structs.asdict(whole)
            path = [part.format(**asked) for part in path]
        if one.answer is not None and "next" in one.answer.__struct_fields__:
            return self._all_pages(one, path, asked)
        if one.body is None:
            reply = self._native(one.method, *path, query=_query(one, asked))
        else:
            reply = self._native(one.method, *path, body=_body(one, asked))
        if one.answer is None:
            return None
        found = decode.native(reply, one.answer)
        return _first(found) if isinstance(found, Enclosing) else found

    def _all_pages(
        self, one: Operation, path: Iterable[str], asked: dict[str, Any]
    ) -> tuple[Any, ...]:
        """The first ``limit`` things of a list (without one: all), page by page. A
        service from before there were pages answers in one."""
        limit = asked.get("limit")

        def page(after: str, most: int) -> tuple[tuple[Any, ...], str]:
            query = {**asked, "after": after or asked.get("after") or None}
            if limit is not None:
                query["limit"] = most
            reply = self._native(one.method, *path, query=_query(one, query))
            found = decode.native(reply, one.answer)
            return _first(found), found.next

        return followed(page, sys.maxsize if limit is None else limit)


@cache
def _signature(name: str) -> Signature:
    return signature(getattr(Library, name))


def _checked(one: Operation, name: str, value: Any, usual: Check | None = None) -> Any:
    check = _CHECKS.get(f"{one.name}.{name}", usual)
    return value if check is None else check(value)


def _query(one: Operation, asked: Mapping[str, object]) -> dict[str, object]:
    """The parameters as they are called there; what is not asked for is left out."""
    kind = one.query
    if kind is None:
        return {}
    names = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
    told = {name: asked.get(field) for name, field in names}
    return {name: value for name, value in told.items() if value is not False}


def _body(one: Operation, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the body, which are in the order of the arguments, or of the fields
    of the only one."""
    names = getattr(one.body, "__struct_fields__", asked)
    named = zip(names, asked.values(), strict=False)
    if one.is_whole:
        return {name: value for name, value in named if value is not UNSET}
    return {name: _CHECKS.get(name, _sendable)(value) for name, value in named}


def _sendable(value: Any) -> Any:
    """``value`` for JSON, which takes no other iterables than lists."""
    if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        return tuple(value)
    return value


def _first(found: Any) -> Any:
    """The first member, which the others belong to."""
    return getattr(found, found.__struct_fields__[0])
