"""Requests that are alike but for their instances: one line of a record for all.

Nearly all of a request is the same as in one before it, and to encode and pack it again
costs most of what a record costs. Its kind is found when it is decided, since the
caches have it then, and so that it need not wait on the tape. What is secret is left
out here.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gantt.engine.scheduling.kept_request import without_private
from gantt.model.record import FORMS, Form
from gantt.model.spec import RequestSpec, ScheduleRequest

_PACK: Final = msgspec.msgpack.Encoder().encode
_LONG: Final = 4096
# What a line of its own has for each decision, and what is in no line.
_OF_SPEC: Final = frozenset({"instance_uuid", "user_id"})
_OF_REQUEST: Final = frozenset({"spec", "instance_uuids", "request_id", "user_id"})


def _others(kind: type[msgspec.Struct], but: frozenset[str]) -> Callable[..., Any]:
    return attrgetter(*(name for name in kind.__struct_fields__ if name not in but))


_SPEC: Final = _others(RequestSpec, _OF_SPEC)
_REQUEST: Final = _others(ScheduleRequest, _OF_REQUEST)


class Kind(Struct, frozen=True, eq=False):
    """Of requests that are alike; ``first``: one of them. ``number``: below FORMS; that
    of another kind, once there were more."""

    number: int
    first: ScheduleRequest


class Kinds:
    """Of the requests of a process, at most FORMS at a time. Under the state lock."""

    def __init__(self) -> None:
        self._known: dict[bytes, Kind] = {}

    def of(self, request: ScheduleRequest) -> Kind:
        """The one of ``request``. Raises what it raises that this cannot be written."""
        key = _PACK((_SPEC(request.spec), _REQUEST(request)))
        if len(key) > _LONG:
            key = blake2b(key).digest()
        known = self._known
        kind = known.get(key)
        if kind is None:
            if len(known) >= FORMS:
                known.clear()
            kind = known[key] = Kind(len(known), request)
        return kind


class Forms:
    """Those that are written in one file so far, by their numbers."""

    def __init__(self) -> None:
        self._known: dict[int, Kind] = {}

    def clear(self) -> None:
        """None is written yet: a file begins, or another policy."""
        self._known.clear()

    def missing(self, kind: Kind, *, keeps_names: bool) -> Form | None:
        """The form of ``kind``, if it is not written yet."""
        if self._known.get(kind.number) is kind:
            return None
        self._known[kind.number] = kind
        return _form(kind.number, kind.first, keeps_names=keeps_names)


def _form(number: int, request: ScheduleRequest, *, keeps_names: bool) -> Form:
    spec, left_out = request.spec, tuple[str, ...]()
    if spec.scheduler_hints or spec.image is not None or spec.requested_networks:
        spec, left_out = without_private(spec, keeps_names=keeps_names)
    spec = replace(spec, instance_uuid=None, user_id=None)
    request = replace(
        request, spec=spec, instance_uuids=None, request_id="", user_id=None
    )
    return Form(number, request, left_out)
