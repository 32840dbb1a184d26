"""One operation of the native API: what the router, the policy and the OpenAPI document
need to know of it, in one value.

Its handler takes the Call and the fields of the path and returns the answer; what is
the same for all of them is done here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from gantt.api.call import Call

_encode = msgspec.json.Encoder(order="deterministic").encode


class Operation(Struct, frozen=True):
    """``rule`` "": for all. ``answer`` None: there is no body (204). ``body`` and
    ``query``: types of what may be sent; ``errors``: statuses beyond those of every
    operation."""

    method: str
    path: str
    handler: Callable[..., Any]
    summary: str
    rule: str = ""
    body: Any = None
    query: Any = None
    answer: Any = None
    errors: tuple[int, ...] = ()

    def perform(self, call: Call, **fields: str) -> None:
        """Judge the caller, do it, and answer. Raises Problem or a refusal."""
        call.check_accept()
        if self.rule:
            call.authorize(self.rule)
        with call.gantt.bearing(call.request_id):
            answer = self.handler(call, **fields)
        if self.answer is None:
            call.no_content()
        else:
            call.reply(_encode(answer), modified_at=None)
