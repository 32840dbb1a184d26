"""Why a request has no candidates, over HTTP.

A route of Gantt's own, which takes the query of GET /allocation_candidates.
"""

from __future__ import annotations

from gantt.api.call import NOW, Call
from gantt.api.handlers.candidates import UNKNOWN_CLASS
from gantt.api.handlers.refusals import worded
from gantt.api.wire import microversion
from gantt.api.wire.candidate_query import candidate_request
from gantt.api.wire.query import Params
from gantt.errors import UnknownName
from gantt.model.diagnosis import document


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
