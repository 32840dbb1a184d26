"""Notifications of a selection say what Nova's say."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from nova import objects
from nova import rpc as nova_rpc
from nova.notifications.objects.request_spec import RequestSpecPayload
from oslo_messaging.notify import _impl_test
from oslo_serialization import jsonutils

import gantt
from gantt.conf import RpcOptions
from gantt.errors import NoValidHost
from gantt.model.forms.spec import read_spec
from gantt.model.spec import ScheduleRequest
from gantt.openstack.rpc import payloads
from gantt.openstack.rpc.methods import NoSource, SchedulerMethods
from gantt.openstack.rpc.scheduler_notifications import Notifications
from tests.openstack import fleet
from tests.openstack.conductor import CONF, MEMORY, instances, options, spec
from tests.openstack.marks import WARNED_BY_NOVA

pytestmark = WARNED_BY_NOVA
UUID = fleet.uuid_of("group")


def _rich() -> Any:
    """A request with all parts that a payload has."""
    return spec(
        ignore_hosts=["a"],
        force_hosts=["b", "c"],
        force_nodes=["d"],
        scheduler_hints={"k": ["v"]},
        availability_zone="west",
        flavor={
            "rxtx_factor": 1.0,
            "vcpu_weight": 0,
            "disabled": False,
            "is_public": True,
            "projects": [],
            "description": None,
        },
        image=objects.ImageMeta(
            id=fleet.uuid_of("image"),
            name="i",
            properties=objects.ImageMetaProps(hw_disk_bus="virtio"),
        ),
        numa_topology=objects.InstanceNUMATopology(
            instance_uuid=UUID,
            cells=[
                objects.InstanceNUMACell(
                    id=0, cpuset={0, 1}, pcpuset=set(), memory=512, pagesize=None
                )
            ],
        ),
        pci_requests=objects.InstancePCIRequests(
            instance_uuid=UUID,
            requests=[
                objects.InstancePCIRequest(
                    count=1, spec=[{"vendor_id": "10de"}], alias_name="gpu"
                )
            ],
        ),
        requested_destination=objects.Destination(
            host="b", cell=objects.CellMapping(uuid=UUID, name="c", disabled=False)
        ),
        retry=objects.SchedulerRetries(
            num_attempts=2,
            hosts=objects.ComputeNodeList(
                objects=[objects.ComputeNode(hypervisor_hostname="x")]
            ),
        ),
        instance_group=objects.InstanceGroup(
            uuid=UUID,
            name="g",
            user_id="u",
            project_id="p",
            policy="anti-affinity",
            policies=["anti-affinity"],
            _rules={"max_server_per_host": "2"},
            members=[],
            hosts=["a"],
        ),
        security_groups=objects.SecurityGroupList(
            objects=[objects.SecurityGroup(uuid=UUID)]
        ),
    )


def test_the_versioned_payload_is_novas() -> None:
    asked = _rich()
    ours = payloads.versioned(asked.obj_to_primitive())
    CONF.set_override("notification_format", "both", "notifications")
    try:
        with mock.patch.object(nova_rpc, "NOTIFIER"):
            theirs = RequestSpecPayload(asked).obj_to_primitive()
    finally:
        CONF.clear_override("notification_format", "notifications")
    assert _sent(ours) == _sent(_without_changes(theirs))


def test_the_legacy_payload_has_the_fields_of_novas() -> None:
    asked = _rich()
    ours = payloads.legacy(asked.obj_to_primitive())
    theirs = asked.to_legacy_request_spec_dict()
    assert ours.keys() == theirs.keys()
    mine, other = ours["instance_properties"], theirs["instance_properties"]
    assert mine.keys() == other.keys()
    assert (mine["vcpus"], mine["uuid"]) == (other["vcpus"], other["uuid"])
    assert ours["instance_type"]["flavorid"] == "1"
    assert ours["image"]["id"] == theirs["image"]["id"]


@pytest.mark.parametrize(
    ("form", "publishers"),
    [
        ("unversioned", ["scheduler.one"]),
        ("versioned", ["nova-scheduler:one"]),
        ("both", ["scheduler.one", "nova-scheduler:one"]),
    ],
)
def test_start_is_sent_always_and_end_after_success(
    form: str, publishers: list[str]
) -> None:
    _impl_test.reset()
    conf = options(MEMORY)
    sender = Notifications(conf, RpcOptions(host="one", notification_format=form))
    assert not sender.are_sent
    conf.set_override("driver", ["test"], "oslo_messaging_notifications")
    sender = Notifications(conf, RpcOptions(host="one", notification_format=form))
    assert sender.are_sent
    books = gantt.connect("memory://")
    fleet.add_hosts(books, "a")
    methods = SchedulerMethods(books, NoSource(), sender)
    context = {"request_id": "req-1", "auth_token": "secret"}
    asked = spec().obj_to_primitive()
    methods.select_destinations(context, spec_obj=asked, instance_uuids=instances())
    sent = [(ctxt, note) for ctxt, note, _, _ in _impl_test.NOTIFICATIONS]
    assert [note["event_type"] for _, note in sent] == [
        f"scheduler.select_destinations.{phase}"
        for phase in ("start", "end")
        for _ in publishers
    ]
    assert [note["publisher_id"] for _, note in sent] == publishers * 2
    assert {ctxt["request_id"] for ctxt, _ in sent} == {"req-1"}
    assert not any("auth_token" in ctxt for ctxt, _ in sent)

    _impl_test.reset()
    asked["nova_object.data"]["ignore_hosts"] = ["a"]
    with pytest.raises(NoValidHost):
        books.schedule(ScheduleRequest(read_spec(asked)))
    with pytest.raises(Exception):  # noqa: B017 - the library's own wrapper
        methods.select_destinations(context, spec_obj=asked, instance_uuids=instances())
    assert {note["event_type"] for _, note, _, _ in _impl_test.NOTIFICATIONS} == {
        "scheduler.select_destinations.start"
    }
    books.close()


def _sent(value: Any) -> Any:
    return jsonutils.loads(jsonutils.dumps(value))


def _without_changes(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_changes(one)
            for key, one in value.items()
            if key != "nova_object.changes"
        }
    return (
        [_without_changes(one) for one in value] if isinstance(value, list) else value
    )
