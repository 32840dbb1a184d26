"""Server groups over HTTP."""

from __future__ import annotations

from msgspec import Struct

from gantt.api.call import Call
from gantt.api.native.bodies import DOCUMENT, check_same, query
from gantt.model.fleet_lists import GroupQuery
from gantt.model.forms.document import is_envelope
from gantt.model.forms.fleet import read_server_group
from gantt.model.hosts import ServerGroup


class ServerGroups(Struct, frozen=True):
    """A page of server groups, by uuid.

    ``next``: continue after it; "": it is the last."""

    server_groups: tuple[ServerGroup, ...]
    next: str = ""


def list_(call: Call) -> ServerGroups:
    """GET /gantt/server_groups"""
    return ServerGroups(*call.gantt.server_group_page(query(call, GroupQuery)))


def update(call: Call, uuid: str) -> None:
    """PUT /gantt/server_groups/{uuid}: creates or replaces the group."""
    body = DOCUMENT.read(call)
    group = read_server_group(body if is_envelope(body) else {"uuid": uuid, **body})
    check_same("server group", uuid, group.uuid)
    call.gantt.set_server_group(group)


def delete(call: Call, uuid: str) -> None:
    """DELETE /gantt/server_groups/{uuid}: an unknown one is not an error."""
    call.gantt.delete_server_group(uuid)
