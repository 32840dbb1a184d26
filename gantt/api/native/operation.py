"""One operation of the native API, as the router and the OpenAPI document need it.

Its handler takes the Call and the fields of the path and returns the answer; whatever
all operations have in common is done here.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType, UnionType
from typing import get_args, get_type_hints

import msgspec
from msgspec import Struct

from gantt.api.call import Call

_encode = msgspec.json.Encoder(order="deterministic").encode


class Operation(Struct, frozen=True):
    """``rule`` "": no authorization. ``body`` and ``query``: the types to decode, or
    None; ``answer``: the type of an answer that the handler writes itself instead of
    returning it; ``event``: the type of the data of each event, where it can also be a
    stream of them; ``errors``: statuses beyond those of every operation;
    ``is_long``: the answer is compressed for clients that accept it."""

    method: str
    path: str
    handler: Callable[..., object]
    summary: str
    rule: str = ""
    body: object = None
    query: object = None
    answer: object = None
    event: object = None
    errors: tuple[int, ...] = ()
    is_long: bool = False

    @property
    def answers(self) -> tuple[object, ...]:
        """The types of the answer; empty: there is no body (204)."""
        kind = self.answer or get_type_hints(self.handler)["return"]
        if isinstance(kind, UnionType):
            return get_args(kind)
        return () if kind is NoneType else (kind,)

    def perform(self, call: Call, **fields: str) -> None:
        """Authorize the caller, call the handler, and answer. Raises Problem and
        GanttError."""
        call.check_accept()
        if self.rule:
            call.authorize(self.rule)
        with call.gantt.bearing(call.request_id):
            answer = self.handler(call, **fields)
        if answer is None:
            call.no_content()
        else:
            call.reply(_encode(answer), modified_at=None)
            if self.is_long:
                call.compress()
