"""Advice over HTTP, for the plug-in of Nova and for other callers.

Those of ``/scheduler`` send no token: ``access.peers`` says from where they need none.
"""

from __future__ import annotations

from gantt.api.call import Call
from gantt.api.native.body_decoder import BodyDecoder
from gantt.api.native.permissions import permitted
from gantt.model.advice import Advice, AdviceRequest, Mode
from gantt.model.forms import advice as forms
from gantt.model.forms.advice import Names, NovaBody, StorageBody
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


_NOVA = BodyDecoder(NovaBody)
_STORAGE = BodyDecoder(StorageBody)


def nova(call: Call) -> Names:
    """POST /scheduler/nova/external"""
    mode: Mode = "decide" if call.options.advice_shortens else "advise"
    body = _NOVA.read(call)
    request = forms.nova_request(body, mode, call.request_id)
    permitted(call, request.spec, body)
    return Names(call.gantt.order_hosts(request).names())


def storage(call: Call) -> Names:
    """POST /scheduler/cinder/external, and /scheduler/manila/external"""
    return forms.by_weights(_STORAGE.read(call))
