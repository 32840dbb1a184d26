"""The instances of a host over HTTP."""

from __future__ import annotations

from msgspec import Struct

from gantt.api.call import Call
from gantt.api.native.bodies import Body, InstancesBody, SyncBody, query
from gantt.model.fleet_lists import InstanceQuery
from gantt.model.forms.fleet import read_instances
from gantt.model.hosts import InstanceView

_INSTANCES = Body(InstancesBody)
_SYNC = Body(SyncBody)


class Synced(Struct, frozen=True):
    """``known``: whether nothing had to change."""

    known: bool


class Instances(Struct, frozen=True):
    """A page of instances, by uuid. ``next``: continue after it; "": it is the last."""

    instances: tuple[InstanceView, ...]
    next: str = ""


def list_(call: Call) -> Instances:
    """GET /gantt/instances"""
    return Instances(*call.gantt.instance_page(query(call, InstanceQuery)))


def update(call: Call, host: str) -> None:
    """POST /gantt/instances/{host}: the host has these, among others."""
    call.gantt.update_instances(host, read_instances(_INSTANCES.read(call).instances))


def sync(call: Call, host: str) -> Synced:
    """PUT /gantt/instances/{host}: the host has exactly these."""
    return Synced(call.gantt.sync_instances(host, _SYNC.read(call).instance_uuids))


def delete(call: Call, host: str, uuid: str) -> None:
    """DELETE /gantt/instances/{host}/{uuid}"""
    call.gantt.delete_instance(host, uuid)
