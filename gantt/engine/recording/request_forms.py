"""Requests that are alike but for their instances: one line of a record for all.

Nearly all of a request is the same as in one before it, and to encode and pack it again
costs most of what a record costs. Its kind is found when it is decided, since the
caches have it then, and so that it need not wait in the queue. A kind keeps what its
requests have in common as bytes, of all kinds a few megabytes at most: no users, and
not which instances were asked for. What is secret is left out of the line.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from gantt.engine.recording.kept_request import without_private
from gantt.model.record import FORMS, Form
from gantt.model.spec import RequestSpec, ScheduleRequest

_LONG: Final = 4096
_MOST_BYTES: Final = 8 * 1024 * 1024
"""Of all that is kept of kinds: a request may have megabytes."""
# What a line of its own has for each decision, and what is in no line.
_OF_SPEC: Final = frozenset({"instance_uuid", "user_id"})
_OF_REQUEST: Final = frozenset({"spec", "instance_uuids", "request_id", "user_id"})


def _others(kind: type[Struct], but: frozenset[str]) -> tuple[FieldInfo, ...]:
    return tuple(one for one in fields(kind) if one.name not in but)


def _values(of: tuple[FieldInfo, ...]) -> Callable[..., Any]:
    return attrgetter(*(one.name for one in of))


def _types(of: tuple[FieldInfo, ...]) -> Any:
    return tuple.__class_getitem__(tuple(one.type for one in of))


_IN_SPEC: Final = _others(RequestSpec, _OF_SPEC)
_IN_REQUEST: Final = _others(ScheduleRequest, _OF_REQUEST)
_SPEC: Final = _values(_IN_SPEC)
_REQUEST: Final = _values(_IN_REQUEST)
_PACK: Final = msgspec.msgpack.Encoder().encode
_UNPACK: Final = msgspec.msgpack.Decoder(
    tuple.__class_getitem__((_types(_IN_SPEC), _types(_IN_REQUEST)))
).decode


class CommonRequest(Struct, frozen=True, eq=False, gc=False):
    """What requests that are alike have in common. ``serial``: of no other kind of this
    process; ``common``: what they have in common, packed."""

    serial: int
    common: bytes

    @property
    def number(self) -> int:
        """The number of its form, which another kind has once there were more."""
        return self.serial % FORMS


class CommonRequests:
    """The kinds of the requests of a process, at most FORMS at a time. Under the state
    lock."""

    def __init__(self) -> None:
        self._known: dict[bytes, CommonRequest] = {}
        self._bytes = self._serial = 0

    def of(self, request: ScheduleRequest) -> CommonRequest:
        """The one of ``request``. Raises what it raises that this cannot be written."""
        common = _PACK((_SPEC(request.spec), _REQUEST(request)))
        key = common if len(common) <= _LONG else blake2b(common).digest()
        kind = self._known.get(key)
        return kind or self._begin(key, common)

    def _begin(self, key: bytes, common: bytes) -> CommonRequest:
        known = self._known
        self._bytes += len(common)
        if len(known) >= FORMS or self._bytes > _MOST_BYTES:
            known.clear()
            self._bytes = len(common)
        kind = known[key] = CommonRequest(self._serial, common)
        self._serial += 1
        return kind


class RequestForms:
    """Those that are written in one file so far."""

    def __init__(self) -> None:
        self._serials: dict[int, int] = {}  # by number

    def clear(self) -> None:
        """None is written yet: a file begins, or another policy."""
        self._serials.clear()

    def missing(self, kind: CommonRequest, *, keeps_names: bool) -> Form | None:
        """The form of ``kind``, if it is not written yet."""
        number, serial = kind.number, kind.serial
        if self._serials.get(number) == serial:
            return None
        self._serials[number] = serial
        return _form(kind, keeps_names=keeps_names)


def _form(kind: CommonRequest, *, keeps_names: bool) -> Form:
    in_spec, in_request = _UNPACK(kind.common)
    spec, left_out = RequestSpec(**_named(_IN_SPEC, in_spec)), tuple[str, ...]()
    if spec.scheduler_hints or spec.image is not None or spec.requested_networks:
        spec, left_out = without_private(spec, keeps_names=keeps_names)
    request = ScheduleRequest(spec, **_named(_IN_REQUEST, in_request))
    return Form(kind.number, request, left_out)


def _named(of: tuple[FieldInfo, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    return {one.name: value for one, value in zip(of, values, strict=True)}
