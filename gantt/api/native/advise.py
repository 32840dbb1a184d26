"""Advice over HTTP, for the plug-in of Nova and for other callers."""

from __future__ import annotations

from gantt.api.call import Call
from gantt.api.native.body_decoder import BodyDecoder
from gantt.api.native.permissions import permitted
from gantt.model.advice import Advice, AdviceRequest
from gantt.model.forms.spec import read_spec
from gantt.model.operation_bodies import AdviseBody

_BODY = BodyDecoder(AdviseBody)


def advise(call: Call) -> Advice:
    """POST /gantt/advise"""
    body = _BODY.read(call)
    return call.gantt.advise(
        AdviceRequest(
            permitted(call, read_spec(body.spec), body),
            body.hosts,
            body.weights or {},
            body.stage,
            body.mode,
            body.operation,
            body.instance_uuid,
            body.request_id or call.request_id,
        )
    )
