"""POST /scheduler/{nova,cinder,manila}/external: an order for the hosts that were sent.

The callers send no token: ``access.peers`` says from where they need none.
"""

from __future__ import annotations

from gantt.api.call import Call
from gantt.api.native.body_decoder import BodyDecoder
from gantt.api.native.permissions import permitted
from gantt.model.advice import Mode
from gantt.model.forms import advice as forms
from gantt.model.forms.advice import Names, NovaBody, StorageBody

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
