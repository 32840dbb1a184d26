"""Allocation candidates over HTTP, and why there are none.

The latter is a route of Gantt's own, which takes the same query.
"""

from __future__ import annotations

from gantt.api.call import NOW, Call
from gantt.api.handlers.refusals import Wording, worded
from gantt.api.wire import microversion
from gantt.api.wire.candidate_query import candidate_request
from gantt.api.wire.query import Params
from gantt.errors import UnknownName, UnknownResourceClass
from gantt.model.diagnosis import document

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


def assume_newest(call: Call) -> None:
    """Without a microversion in the request, use the newest one."""
    if not microversion.is_asked(call.environ.get("HTTP_OPENSTACK_API_VERSION")):
        call.version = microversion.MAX_MINOR
        answer = microversion.ANSWERS[call.version]
        call.headers[microversion.HEADER] = answer


def explain(call: Call) -> None:
    """GET /gantt/candidates/explain"""
    request = candidate_request(Params(call.query_string), call.version, call.options)
    try:
        found = call.gantt.explain_candidates(request)
    except UnknownName as error:
        raise worded(error, (UNKNOWN_CLASS,)) from None
    call.reply(document(found), modified_at=NOW)
