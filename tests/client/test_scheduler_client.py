"""SchedulerClient converts callers' forms into calls of the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest

import gantt
from gantt import errors
from gantt.client import SchedulerClient
from gantt.connection import open_gantt
from gantt.model.diagnosis import Relaxation
from gantt.model.hosts import (
    HostAggregate,
    HostStats,
    HostView,
    Instance,
    ServerGroup,
    Service,
)
from gantt.model.selection import Capacity, Decision, Selection
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.model.forms import objects

CHOSEN = Selection(objects.CELL, "h", "n", claim="claim-1")
ALTERNATE = Selection(objects.CELL, "h2", "n2")
DECISION = Decision(
    request_id="req-1",
    instance_uuids=(),
    project_id=None,
    revision=1,
    at=0,
    driver="filter",
    hosts=1,
    steps=(),
    scores=(),
)
SPEC = RequestSpec(flavor=Flavor(vcpus=1))


def view(host: str, node: str) -> HostView:
    return HostView(host, node, None, {}, {}, (), {}, ())


class Recorder:
    """A scheduler that records its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.known: tuple[HostView, ...] = ()
        self.kept: tuple[Decision, ...] = (DECISION,)

    def schedule(self, request: ScheduleRequest) -> tuple[tuple[Selection, ...], ...]:
        self.calls.append(("schedule", request))
        return ((CHOSEN, ALTERNATE),)

    def decide(
        self, request: ScheduleRequest, given_up: Sequence[Relaxation] = ()
    ) -> Decision:
        assert not given_up
        self.calls.append(("decide", request))
        return DECISION

    def capacity(self, spec: RequestSpec) -> Capacity:
        self.calls.append(("capacity", spec))
        return Capacity(0, {}, ())

    def decisions(self, **asked: Any) -> tuple[Decision, ...]:
        self.calls.append(("decisions", asked))
        return self.kept

    def list_hosts(self, **asked: Any) -> tuple[HostView, ...]:
        self.calls.append(("list_hosts", asked))
        return self.known

    def update_host(self, host: str, node: str | None, stats: HostStats) -> HostView:
        self.calls.append(("update_host", host, node, stats))
        return view(host, node or host)

    def __getattr__(self, name: str) -> Any:
        def remember(*args: Any, **kwargs: Any) -> None:
            self.calls.append((name, *args, kwargs) if kwargs else (name, *args))

        return remember


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def client(recorder: Recorder) -> SchedulerClient:
    return SchedulerClient(recorder)


# -- asking -----------------------------------------------------------------------


def test_every_request_form_is_scheduled(
    client: SchedulerClient, recorder: Recorder
) -> None:
    forms: list[tuple[Any, Any]] = [
        (SPEC, None),
        ({"flavor": {"vcpus": 1}}, None),
        ({"instance_type": {"vcpus": 1}}, {}),
        (objects.small(flavor=objects.nova("Flavor", "1.2", vcpus=1)), None),
    ]
    for form, properties in forms:
        found = client.select_destinations(None, form, properties)
        assert found == [[CHOSEN, ALTERNATE]]
        name, request = recorder.calls.pop()
        assert (name, request.spec.flavor) == ("schedule", SPEC.flavor)
        assert (request.instance_uuids, request.count) == (None, 1)
        assert request.return_alternates


@pytest.mark.parametrize("is_object", [True, False])
def test_context_is_sent(
    client: SchedulerClient, recorder: Recorder, is_object: bool
) -> None:
    fields = {
        "user_id": "u",
        "project_id": "p",
        "roles": ["member"],
        "request_id": "req-1",
        "auth_token": "secret",
    }
    context = type("Context", (), fields)() if is_object else fields
    uuids = [str(uuid4()), str(uuid4())]
    client.select_destinations(
        context, SPEC, instance_uuids=uuids, return_alternates=False, lease=30
    )
    assert recorder.calls == [
        (
            "schedule",
            ScheduleRequest(
                spec=SPEC,
                instance_uuids=tuple(uuids),
                return_alternates=False,
                lease_s=30.0,
                request_id="req-1",
                user_id="u",
                project_id="p",
            ),
        )
    ]


def test_dry_run_returns_a_decision(
    client: SchedulerClient, recorder: Recorder
) -> None:
    assert client.select_destinations(None, SPEC, dry_run=True) is DECISION
    assert recorder.calls == [("decide", ScheduleRequest(spec=SPEC, dry_run=True))]


ONE = "6ad9a92f-bc47-432c-8491-e1386c5a8bef"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"instance_uuids": []}, "instance_uuids is empty"),
        ({"instance_uuids": [ONE, ONE]}, f"{ONE}.*more than once"),
        ({"instance_uuids": "vm"}, "instance_uuids must be a list, not 'vm'"),
        ({"instance_uuids": 3}, "instance_uuids must be a list, not 3"),
        ({"instance_uuids": ["vm"]}, "instance_uuids.0 must be a UUID, not 'vm'"),
        ({"lease": 0}, "lease must be"),
        ({"lease": "30"}, "lease must be a number, not '30'"),
        ({"context": {"project_id": 3}}, "context.project_id must be text, not 3"),
        ({"context": {"roles": "admin"}}, "context.roles must be a list"),
        ({"request_spec": {}}, "request_spec.flavor is missing"),
    ],
)
def test_refusal_names_the_argument(
    client: SchedulerClient,
    recorder: Recorder,
    arguments: dict[str, Any],
    named: str,
) -> None:
    with pytest.raises(errors.Invalid, match=named):
        client.select_destinations(
            **{"context": None, "request_spec": SPEC, **arguments}
        )
    assert recorder.calls == []


def test_claim_may_be_given_as_a_selection(
    client: SchedulerClient, recorder: Recorder
) -> None:
    client.confirm("claim-1")
    client.confirm(CHOSEN)
    client.release(CHOSEN)
    assert recorder.calls == [
        ("confirm_claim", "claim-1"),
        ("confirm_claim", "claim-1"),
        ("release_claim", "claim-1"),
    ]
    with pytest.raises(errors.Invalid, match="holds no claim"):
        client.confirm(ALTERNATE)


def test_capacity_takes_a_flavor_or_a_request(
    client: SchedulerClient, recorder: Recorder
) -> None:
    client.capacity(Flavor(vcpus=1))
    client.capacity({"instance_type": {"vcpus": 1}}, {})
    assert recorder.calls == [("capacity", SPEC), ("capacity", SPEC)]


def test_explain_returns_the_latest_decision(
    client: SchedulerClient, recorder: Recorder
) -> None:
    assert client.explain("req-1") is DECISION
    asked = {"request_id": "req-1", "instance_uuid": None, "limit": 1}
    assert recorder.calls == [("decisions", asked)]
    recorder.kept = ()
    with pytest.raises(errors.NotFound, match="'req-2'"):
        client.explain("req-2")


# -- telling ----------------------------------------------------------------------


def test_report_is_for_a_host_and_node(
    client: SchedulerClient, recorder: Recorder
) -> None:
    found = client.update_resource_stats(None, ("h", "n"), {"vcpus": 4, "host": "h"})
    assert (found.host, found.node) == ("h", "n")
    client.update_resource_stats(None, "h", {"hypervisor_hostname": "n"})
    assert recorder.calls == [
        ("update_host", "h", "n", HostStats(vcpus=4)),
        ("update_host", "h", "n", HostStats(hypervisor_hostname="n")),
    ]


def test_report_without_a_node_reads_nothing(
    client: SchedulerClient, recorder: Recorder
) -> None:
    client.update_resource_stats(None, "h", {"vcpus": 4})
    assert recorder.calls == [("update_host", "h", None, HostStats(vcpus=4))]


@pytest.mark.parametrize(
    ("name", "stats", "named"),
    [
        ("h", {"vcpu": 1}, "'vcpu'"),
        (("h", "n", "x"), {}, "name must be a host"),
        (None, {}, "name must be a host"),
        ("", {}, "name is empty"),
        (("h", "n"), {"host": "g"}, "stats.host is 'g'"),
    ],
)
def test_malformed_report_is_refused(
    client: SchedulerClient, recorder: Recorder, name: Any, stats: Any, named: str
) -> None:
    with pytest.raises(errors.Invalid, match=named):
        client.update_resource_stats(None, name, stats)
    assert recorder.calls == []


def test_other_updates_reach_the_scheduler(
    client: SchedulerClient, recorder: Recorder
) -> None:
    uuid, group = objects.INSTANCE, objects.GROUP
    client.update_aggregates(None, [{"uuid": objects.CELL, "hosts": ["h"]}])
    client.delete_aggregate(None, {"uuid": objects.CELL, "id": 3})
    client.update_instance_info(None, "h", {"uuid": uuid})
    client.delete_instance_info(None, "h", uuid)
    client.sync_instance_info(None, "h", {uuid})
    client.update_service(None, {"host": "h", "disabled": True})
    client.update_server_group(None, {"uuid": group, "policy": "affinity"})
    client.delete_server_group(None, group)
    aggregate = HostAggregate(objects.CELL, hosts=frozenset({"h"}))
    assert recorder.calls == [
        ("set_host_aggregates", (aggregate,)),
        ("delete_host_aggregate", {"uuid": objects.CELL, "number": 3}),
        ("update_instances", "h", (Instance(uuid),)),
        ("delete_instance", "h", uuid),
        ("sync_instances", "h", (uuid,)),
        ("update_service", Service("h", disabled=True)),
        ("set_server_group", ServerGroup(group, policy="affinity")),
        ("delete_server_group", group),
    ]


# -- places -----------------------------------------------------------------------


def test_client_closes_gantts_it_opened() -> None:
    with gantt.SchedulerClient("memory://") as client:
        assert isinstance(client.gantt, gantt.Gantt)
    with pytest.raises(errors.GanttError):
        client.gantt.create_provider("too late")


def test_client_does_not_close_a_given_gantt() -> None:
    with open_gantt("memory://") as books:
        with gantt.SchedulerClient(books) as client:
            assert client.gantt is books
        books.create_provider("still here")


def test_remote_service_gets_the_token() -> None:
    with gantt.SchedulerClient("http://127.0.0.1:1", token="t") as client:
        assert getattr(client.gantt, "url", None) == "http://127.0.0.1:1"
