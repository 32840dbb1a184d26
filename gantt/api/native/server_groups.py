"""Server groups over HTTP."""

from __future__ import annotations

from gantt.api.call import Call
from gantt.api.native.bodies import DOCUMENT, check_same
from gantt.model.forms.document import is_envelope
from gantt.model.forms.fleet import read_server_group


def update(call: Call, uuid: str) -> None:
    """PUT /gantt/server_groups/{uuid}: creates or replaces the group."""
    body = DOCUMENT.read(call)
    group = read_server_group(body if is_envelope(body) else {"uuid": uuid, **body})
    check_same("server group", uuid, group.uuid)
    call.gantt.set_server_group(group)


def delete(call: Call, uuid: str) -> None:
    """DELETE /gantt/server_groups/{uuid}: an unknown one is not an error."""
    call.gantt.delete_server_group(uuid)
