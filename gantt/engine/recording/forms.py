"""Requests that are alike but for their instances: one line of a record for all.

Nearly all of a request is the same as in one before it, and to encode and pack it again
costs most of what a record costs. What is secret is left out here.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Final

import msgspec
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


class Forms:
    """Those of one file so far; when there are too many, they begin again from 0."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}

    def clear(self) -> None:
        """None is written yet: a file begins, or another policy."""
        self._known.clear()

    def number(
        self, request: ScheduleRequest, *, keeps_names: bool
    ) -> tuple[int, Form | None]:
        """Of the form of ``request``; and the form, if it is not written yet."""
        key = _PACK((_SPEC(request.spec), _REQUEST(request)))
        if len(key) > _LONG:
            key = blake2b(key).digest()
        known = self._known
        number = known.get(key)
        if number is not None:
            return number, None
        if len(known) >= FORMS:
            known.clear()
        known[key] = number = len(known)
        return number, _form(number, request, keeps_names=keeps_names)


def _form(number: int, request: ScheduleRequest, *, keeps_names: bool) -> Form:
    spec, left_out = request.spec, tuple[str, ...]()
    if spec.scheduler_hints or spec.image is not None or spec.requested_networks:
        spec, left_out = without_private(spec, keeps_names=keeps_names)
    spec = replace(spec, instance_uuid=None, user_id=None)
    request = replace(
        request, spec=spec, instance_uuids=None, request_id="", user_id=None
    )
    return Form(number, request, left_out)
