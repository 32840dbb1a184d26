"""Hosts and their reports over HTTP."""

from __future__ import annotations

from msgspec import Struct

from gantt.api.call import Call
from gantt.api.native.bodies import DOCUMENT, Body, HostsQuery, query
from gantt.errors import NotFound
from gantt.model.bounds import Name
from gantt.model.forms.stats import read_stats
from gantt.model.hosts import HostPage, HostView
from gantt.model.takeover import Takeover
from gantt.model.topology_view import HostTopologyView
from gantt.model.whole_host import WholeHost


class TakeoverBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/takeovers: the known ``host`` came back as ``new_host``, or reports
    ``uuid``; "": as it was called."""

    host: Name
    new_host: str = ""
    node: str = ""
    new_node: str = ""
    uuid: Name | None = None
    dry_run: bool = False


_TAKEOVER = Body(TakeoverBody)


def list_(call: Call) -> HostPage:
    """GET /gantt/hosts"""
    asked = query(call, HostsQuery)
    return call.gantt.host_page(
        asked.after, asked.limit, host=asked.host, node=asked.node
    )


def show(call: Call, host: str, node: str) -> HostView:
    """GET /gantt/hosts/{host}/{node}"""
    found = call.gantt.list_hosts(host=host, node=node)
    if not found:
        raise NotFound(f"There is no host {host} with node {node}.")
    return found[0]


def topology(call: Call, host: str, node: str) -> HostTopologyView:
    """GET /gantt/hosts/{host}/{node}/topology"""
    return call.gantt.host_topology(host, node)


class HostQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/host. ``node``: by default named as the host."""

    host: Name
    node: Name | None = None


def whole(call: Call) -> WholeHost:
    """GET /gantt/host"""
    asked = query(call, HostQuery)
    node = asked.host if asked.node is None else asked.node
    return call.gantt.whole_host(asked.host, node)


def update(call: Call, host: str, node: str) -> HostView:
    """PUT /gantt/hosts/{host}/{node}: omitted fields keep their values."""
    stats = read_stats(DOCUMENT.read(call), host=host)
    return call.gantt.update_host(host, node, stats)


def delete(call: Call, host: str, node: str) -> None:
    """DELETE /gantt/hosts/{host}/{node}"""
    call.gantt.delete_host(host, node)


def adopt(call: Call) -> Takeover:
    """POST /gantt/takeovers"""
    asked = _TAKEOVER.read(call)
    return call.gantt.adopt_host(
        asked.host,
        asked.new_host,
        node=asked.node,
        new_node=asked.new_node,
        uuid=asked.uuid,
        dry_run=asked.dry_run,
        request_id=call.request_id,
    )
