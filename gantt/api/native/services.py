"""Services on hosts over HTTP: up, down, disabled."""

from __future__ import annotations

from gantt.api.call import Call
from gantt.api.native.bodies import DOCUMENT
from gantt.model.forms.fleet import read_service


def update(call: Call) -> None:
    """PUT /gantt/services: omitted fields keep their values."""
    call.gantt.update_service(read_service(DOCUMENT.read(call)))


def delete(call: Call, host: str, binary: str) -> None:
    """DELETE /gantt/services/{host}/{binary}"""
    call.gantt.delete_service(host, binary)
