"""``select_destinations`` over HTTP: selects hosts and claims their resources."""

from __future__ import annotations

import msgspec

from gantt.api.call import Call
from gantt.api.native import redaction
from gantt.api.native.body_decoder import BodyDecoder
from gantt.api.native.claims import bound_to
from gantt.api.native.permissions import permitted
from gantt.api.wire.problem import NO_VALID_HOST, Problem
from gantt.errors import NoValidHost
from gantt.model.forms.spec import read_spec
from gantt.model.operation_bodies import SelectBody, Selected
from gantt.model.selection import Decision, Why
from gantt.model.spec import ScheduleRequest

_BODY = BodyDecoder(SelectBody)


def select(call: Call) -> Selected | Decision:
    """POST /gantt/select"""
    body = _BODY.read(call)
    request = _request(call, body)
    if body.dry_run:
        found = call.gantt.decide(request, body.given_up)
        return redaction.decision(call, found)
    if body.given_up:
        raise Problem(400, "given_up is for a dry run. Claim the changed request.")
    try:
        return Selected(call.gantt.schedule(request))
    except NoValidHost as refusal:
        raise _refused(call, refusal) from None


def _request(call: Call, body: SelectBody) -> ScheduleRequest:
    """On behalf of the context, or without one, of the caller."""
    uuids, context = body.instance_uuids, body.context
    spec = read_spec(body.request_spec, body.filter_properties)
    own = bound_to(call)
    return ScheduleRequest(
        spec=permitted(call, spec, body),
        instance_uuids=None if uuids is None else tuple(uuids),
        return_alternates=body.return_alternates,
        dry_run=body.dry_run,
        lease_s=body.lease,
        request_id=context.request_id or call.request_id,
        user_id=context.user_id or call.caller.user_id,
        project_id=context.project_id or call.caller.project_id,
        only_project=own,
        replaces=body.replaces,
    )


def _refused(call: Call, refusal: NoValidHost) -> Problem:
    return refused(call, refusal, redaction.refusal(call, refusal.message))


def refused(call: Call, refusal: NoValidHost, message: str) -> Problem:
    """The refusal with its reasons, as the caller may see them."""
    why = refusal.why if isinstance(refusal.why, Why) else Why()
    shown = msgspec.to_builtins(redaction.why(call, why))
    return Problem(409, message, NO_VALID_HOST, extra={"why": shown})
