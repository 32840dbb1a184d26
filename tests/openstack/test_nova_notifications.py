"""Nova's notifications: what is read of them, and what becomes of bad ones."""

from __future__ import annotations

import json
import logging
import uuid as uuids
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from nova import objects

from gantt.errors import Invalid, Refused, Unavailable
from gantt.model.forms.notification import read_observed, read_payload
from gantt.model.shadow import ShadowEvent
from gantt.model.spec import Destination, InstanceGroup
from gantt.openstack.nova_notifications import (
    Listener,
    NotificationEndpoint,
    event_of,
    read_conf,
)
from tests.live import free_port
from tests.openstack.notifier import IMAGE, payload, spec
from tests.openstack.processes import Scheduler

UUID = str(uuids.uuid4())
START = "scheduler.select_destinations.start"
TIME = "2026-11-22 08:00:00.250000"
AT = 1_795_334_400_250_000
DATA = "nova_object.data"


class Seen:
    """What is told of requests; raises ``error`` if there is one."""

    def __init__(self) -> None:
        self.events: list[ShadowEvent] = []
        self.error: Exception | None = None

    def shadow_event(self, event: ShadowEvent) -> None:
        if self.error is not None:
            raise self.error
        self.events.append(event)


@pytest.fixture
def seen() -> Seen:
    return Seen()


def send(
    endpoint: NotificationEndpoint, body: Any, event: str = START, at: Any = TIME
) -> str:
    context = {"request_id": "req-1", "auth_token": "a-secret"}
    return endpoint.info(context, "nova-scheduler:h", event, body, {"timestamp": at})


def test_payload_has_what_nova_sends() -> None:
    group = objects.InstanceGroup(
        uuid=UUID,
        name="g",
        user_id="u",
        project_id="p",
        policy="anti-affinity",
        _rules={"max_server_per_host": "2"},
        members=[UUID, "m"],
        hosts=["h"],
    )
    cell = objects.CellMapping(uuid=UUID, name="c", disabled=False)
    numa = objects.InstanceNUMACell(
        id=0,
        cpuset={0},
        pcpuset=set(),
        memory=512,
        **dict.fromkeys(("cpuset_reserved", "pagesize", "cpu_pinning_raw")),
        **dict.fromkeys(("cpu_policy", "cpu_thread_policy", "cpu_topology")),
    )
    node = objects.ComputeNode(host="tried", hypervisor_hostname="tried.node")
    pci = objects.InstancePCIRequest(
        count=1, spec=[{"vendor_id": "x"}], alias_name="a", request_id=None
    )
    pci.numa_policy = None
    wanted = spec(
        UUID,
        image=objects.ImageMeta(
            id=IMAGE, properties=objects.ImageMetaProps(hw_disk_bus="virtio")
        ),
        instance_group=group,
        force_hosts=["forced", "another"],
        ignore_hosts=["ignored"],
        scheduler_hints={"k": ["v"]},
        availability_zone="az",
        num_instances=3,
        numa_topology=objects.InstanceNUMATopology(
            cells=[numa], emulator_threads_policy=None
        ),
        pci_requests=objects.InstancePCIRequests(requests=[pci]),
        requested_destination=objects.Destination(
            host="d", node="n", cell=cell, aggregates=["a,b"]
        ),
        retry=objects.SchedulerRetries(
            num_attempts=1, hosts=objects.ComputeNodeList(objects=[node])
        ),
    )
    found = read_payload(payload(wanted))
    assert (found.instance_uuid, found.num_instances) == (UUID, 3)
    assert (found.project_id, found.user_id) == ("p", "u")
    assert (found.flavor.vcpus, found.flavor.memory_mb) == (1, 1024)
    assert found.image is not None
    assert found.image.properties == {"hw_disk_bus": "virtio"}
    assert found.availability_zone == "az"
    assert found.scheduler_hints == {"k": ("v",)}
    assert found.ignore_hosts == ("ignored",)
    assert found.force_hosts == ("forced",)
    rule = ("anti-affinity", 2, frozenset({UUID}), frozenset({"h"}))
    assert found.instance_group == InstanceGroup(UUID, *rule)
    assert found.requested_destination == Destination(
        "d", "n", UUID, (frozenset({"a", "b"}),)
    )
    assert found.retry_hosts == (("tried.node", "tried.node"),)
    assert [one["count"] for one in found.pci_requests] == [1]
    assert found.numa_topology is not None
    assert not found.is_bfv
    assert found.unset == found.nulls == frozenset()


@pytest.mark.parametrize(
    "image",
    [None, objects.ImageMeta(properties=objects.ImageMetaProps(), min_ram=0)],
    ids=["no image", "image of a volume"],
)
def test_boot_from_a_volume_is_inferred(image: Any) -> None:
    assert read_payload(payload(spec(UUID, image=image))).is_bfv


def test_newer_minor_version_is_read_without_its_new_fields() -> None:
    body = payload(spec(UUID))
    body["nova_object.version"] = "1.9"
    body[DATA]["new"] = {"nova_object.name": "New"}
    body[DATA]["flavor"]["nova_object.version"] = "1.99"
    body[DATA]["flavor"][DATA]["new"] = 1
    assert read_observed(body).flavor.vcpus == 1


def changed(*path: str, value: Any) -> dict[str, Any]:
    """A payload with one field changed."""
    body = deepcopy(payload(spec(UUID)))
    *parents, last = path
    part = body
    for name in parents:
        part = part[name]
    part[last] = value
    return body


BAD = [
    (7, "payload nova_object.name"),
    (changed("nova_object.version", value="2.0"), "RequestSpecPayload.*version 2.0"),
    (changed("nova_object.namespace", value="x"), "nova_object.namespace"),
    (changed(DATA, value=[]), "nova_object.data must be an object"),
    (changed(DATA, "flavor", value=None), "flavor is missing"),
    (changed(DATA, "flavor", "nova_object.name", value="X"), "payload.flavor"),
    (changed(DATA, "flavor", DATA, "vcpus", value=-1), "flavor.vcpus"),
    (changed(DATA, "num_instances", value=0), "num_instances"),
    (changed(DATA, "ignore_hosts", value="h"), "ignore_hosts"),
    (changed(DATA, "scheduler_hints", value=[1]), "scheduler_hints"),
    (changed(DATA, "retry", value={}), "payload.retry"),
]


@pytest.mark.parametrize(("body", "named"), BAD, ids=[named for _, named in BAD])
def test_bad_payload_is_refused_by_object_and_field(body: Any, named: str) -> None:
    with pytest.raises(Invalid, match=named):
        read_payload(body)


def test_event_has_phase_time_and_request() -> None:
    event = event_of(START, payload(spec(UUID)), "req-1", TIME)
    assert (event.phase, event.request_id, event.at) == ("start", "req-1", AT)
    late = event_of(START.replace("start", "end"), payload(spec(UUID)), "", None)
    assert (late.phase, late.at) == ("end", None)
    with pytest.raises(Invalid, match="timestamp must be a time"):
        event_of(START, payload(spec(UUID)), "", "noon")


def test_bad_notifications_are_counted_and_not_logged_with_bodies(
    seen: Seen, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint = NotificationEndpoint(seen)
    body = changed(DATA, "num_instances", value=0)
    body[DATA]["display_name"] = "a-private-name"
    with caplog.at_level(logging.DEBUG):
        assert send(endpoint, body) == send(endpoint, payload(spec(UUID))) == "handled"
    assert (endpoint.unread, endpoint.passed_on, endpoint.lost) == (1, 1, 0)
    assert [one.spec.instance_uuid for one in seen.events] == [UUID]
    assert "num_instances" in caplog.text
    assert "a-private-name" not in caplog.text
    assert "a-secret" not in caplog.text


def test_an_outage_is_logged_once_and_its_end_too(
    seen: Seen, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint = NotificationEndpoint(seen)
    seen.error = Unavailable("no answer")
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            assert send(endpoint, payload(spec(UUID))) == "handled"
        seen.error = None
        send(endpoint, payload(spec(UUID)))
    said = [one.getMessage() for one in caplog.records if one.name.startswith("gantt")]
    assert said == [
        "notifications are lost until they can be passed on: no answer",
        "notifications are passed on again; 3 were lost",
    ]
    assert (endpoint.lost, endpoint.passed_on) == (3, 1)


def test_a_defect_stops_nothing(seen: Seen) -> None:
    endpoint = NotificationEndpoint(seen)
    seen.error = ZeroDivisionError()
    assert send(endpoint, payload(spec(UUID))) == "handled"
    assert endpoint.lost == 1


def test_other_notifications_are_not_read() -> None:
    rule = NotificationEndpoint.filter_rule
    kinds = ("instance.create.start", "scheduler.select_destinations.error", START)
    matching = [one for one in kinds if rule.match({}, "p", one, {}, {})]
    assert matching == [START]


def test_bus_that_cannot_be_used_is_named_without_its_password(tmp_path: Path) -> None:
    file = tmp_path / "nova.conf"
    file.write_text("[DEFAULT]\ntransport_url = strange://u:a-secret@h\n")
    with pytest.raises(Refused, match="transport_url .* cannot be used") as refusal:
        Listener(read_conf([str(file)]), Seen(), "gantt")
    assert "a-secret" not in str(refusal.value)


def test_a_listener_ends_while_its_broker_is_away(tmp_path: Path) -> None:
    file = tmp_path / "nova.conf"
    file.write_text(
        f"[DEFAULT]\ntransport_url = rabbit://u:p@127.0.0.1:{free_port()}\n"
    )
    command = ["shadow", "listen", "--config-file", str(file)]
    running = Scheduler.running(
        [*command, "--url", "http://127.0.0.1:1"], tmp_path / "l"
    )
    try:
        running.wait_for("Connection refused")
        running.process.terminate()
        assert running.process.wait(10.0) == 0
        assert "Notifications passed on: 0" in running.text
    finally:
        running.kill()


def test_configuration_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="gone.conf"):
        read_conf([str(tmp_path / "gone.conf")])


def test_payload_is_a_form_of_a_request_over_http() -> None:
    body = json.loads(json.dumps(payload(spec(UUID))))
    assert read_observed(body) == read_payload(body)
    assert read_observed({"flavor": {"vcpus": 2}}).flavor.vcpus == 2
