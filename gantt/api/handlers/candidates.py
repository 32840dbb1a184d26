"""Allocation candidates over HTTP."""

from __future__ import annotations

from gantt.api.call import NOW, Call
from gantt.api.handlers.refusals import Wording, worded
from gantt.api.wire.candidate_query import candidate_request
from gantt.api.wire.query import Params
from gantt.errors import UnknownName, UnknownResourceClass

UNKNOWN_CLASS = Wording(
    UnknownResourceClass, "Invalid resource class in resources parameter: "
)


def list_(call: Call) -> None:
    """GET /allocation_candidates"""
    request = candidate_request(Params(call.query_string), call.version, call.options)
    try:
        found = call.gantt.search(call.door.candidates, request, call.version)
    except UnknownName as error:
        raise worded(error, (UNKNOWN_CLASS,)) from None
    if found.is_truncated:
        call.headers["gantt-truncated"] = "budget"
    call.reply(found.body, modified_at=NOW)
