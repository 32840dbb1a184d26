"""What is told of a fleet over HTTP, in Gantt's own form or in Nova's."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gantt.api.access.fields import WHOLE
from gantt.api.call import Call
from gantt.api.native import redaction
from gantt.api.native.body_decoder import DOCUMENT, BodyDecoder, check_same, query
from gantt.errors import Forbidden, NotFound
from gantt.model.fleet_lists import HostAggregateQuery, InstanceQuery
from gantt.model.forms.document import is_envelope
from gantt.model.forms.fleet import (
    read_aggregates,
    read_server_group,
    read_service,
)
from gantt.model.forms.stats import read_stats
from gantt.model.hosts import HostAggregate, HostView
from gantt.model.operation_bodies import Document, Instances, Outcomes
from gantt.model.operations import NAMED


def host(call: Call, host: str, node: str) -> HostView:
    """GET /gantt/hosts/{host}/{node}"""
    found = call.gantt.list_hosts(host=host, node=node)
    if not found:
        raise NotFound(f"There is no host {host} with node {node}.")
    return found[0]


def update_host(call: Call, host: str, node: str) -> HostView:
    """PUT /gantt/hosts/{host}/{node}: omitted fields keep their values."""
    stats = read_stats(DOCUMENT.read(call), host=host)
    return call.gantt.update_host(host, node, stats)


def aggregate(call: Call, uuid: str) -> HostAggregate:
    """GET /gantt/aggregates/{uuid}"""
    for found in call.gantt.list_host_aggregates(HostAggregateQuery(uuid=uuid)):
        return found
    raise NotFound(f"There is no host aggregate with uuid {uuid}.")


def update_aggregate(call: Call, uuid: str) -> None:
    """PUT /gantt/aggregates/{uuid}"""
    (aggregate,) = read_aggregates([_with_uuid(call, uuid)])
    check_same("aggregate", uuid, aggregate.uuid)
    call.gantt.set_host_aggregates((aggregate,))


def delete_aggregate(call: Call, uuid: str) -> None:
    """DELETE /gantt/aggregates/{uuid}"""
    call.gantt.delete_host_aggregate(uuid=uuid)


def update_service(call: Call) -> None:
    """PUT /gantt/services: omitted fields keep their values."""
    call.gantt.update_service(read_service(DOCUMENT.read(call)))


def update_server_group(call: Call, uuid: str) -> None:
    """PUT /gantt/server_groups/{uuid}: creates or replaces the group."""
    group = read_server_group(_with_uuid(call, uuid))
    check_same("server group", uuid, group.uuid)
    call.gantt.set_server_group(group)


def instances(call: Call) -> Instances:
    """GET /gantt/instances: without permission for all, those of the caller's project,
    which do not tell where they are."""
    asked = query(call, InstanceQuery)
    if not redaction.sees_names(call):
        asked = replace(asked, names=False)
    if redaction.sees_all(call):
        return _page(call, asked)
    own = call.caller.project_id
    if own is None:
        return Instances(())
    if asked.host is not None:
        raise Forbidden(
            f"host is {asked.host!r}, but the caller lacks permission {WHOLE}, without "
            "which instances do not tell their hosts. Leave it out."
        )
    if asked.project_id not in (None, own):
        raise Forbidden(
            f"project_id is {asked.project_id!r}, but the caller lacks permission "
            f"{WHOLE} and is of project {own}. Leave it out."
        )
    found = _page(call, replace(asked, project_id=own))
    bare = (
        replace(one, host=None, node=None, allocations={}) for one in found.instances
    )
    return replace(found, instances=tuple(bare), project_id=own)


def _page(call: Call, asked: InstanceQuery) -> Instances:
    found: Any = call.gantt.answer(NAMED["list_instances"], asked)
    return Instances(*found)


def _with_uuid(call: Call, uuid: str) -> Document:
    """The body; its own uuid, or that of the path where it may be left out."""
    body = DOCUMENT.read(call)
    return body if is_envelope(body) else {"uuid": uuid, **body}


ANY = "gantt:reports:any"


class _Reports(Struct, frozen=True, forbid_unknown_fields=True):
    """ReportsBody, with the reports as they came: each is refused by itself."""

    reports: list[msgspec.Raw]


_REPORTS = BodyDecoder(_Reports)


def take_in(call: Call) -> Outcomes:
    """POST /gantt/reports: a caller without ``gantt:reports:any`` may only report the
    host that has the name of its user; others are refused by themselves."""
    said = [bytes(one) for one in _REPORTS.read(call).reports]
    return Outcomes(call.gantt.report_hosts(said, only_host=_own(call)))


def _own(call: Call) -> str | None:
    """The only host that the caller may report; None: any."""
    if not call.door.policy.allows(ANY, call.caller, {}):
        return None
    return call.caller.user_id or ""
