"""The reshaper over HTTP: moves inventories and allocations at once."""

from __future__ import annotations

from gantt.api.call import Call
from gantt.api.handlers.allocations import DOES_NOT_FIT
from gantt.api.wire import bodies
from gantt.api.wire.problem import PROVIDER_NOT_FOUND
from gantt.api.wire.refusals import Wording, submit, worded
from gantt.errors import InventoryInUse, UnknownName, UnknownReshaped

_UNKNOWN_CLASS = Wording(UnknownName, "malformed reshaper data: ")
_WORDINGS = (
    _UNKNOWN_CLASS,
    Wording(UnknownReshaped, code=PROVIDER_NOT_FOUND),
    Wording(InventoryInUse, "update conflict: "),
    DOES_NOT_FIT,
)


def reshape(call: Call) -> None:
    """POST /reshaper"""
    raw = call.json_body()
    call.authorize("placement:reshaper:reshape")
    try:
        command = bodies.reshape(raw, call.version)
    except UnknownName as error:
        raise worded(error, _WORDINGS) from None
    submit(call, command, *_WORDINGS)
    call.no_content()
