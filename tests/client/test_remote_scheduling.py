"""The scheduler's part of the protocol, equal in process and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from gantt import errors
from gantt.client.remote import RemoteGantt
from gantt.model.hosts import (
    HostAggregate,
    HostStats,
    Instance,
    ServerGroup,
)
from gantt.model.protocol import GanttProtocol
from gantt.model.selection import Why
from gantt.model.spec import (
    Destination,
    Flavor,
    Image,
    InstanceGroup,
    RequestSpec,
    ResourceGroup,
    ScheduleRequest,
)
from tests import inprocess
from tests.idle_host import idle
from tests.reported import report_of

A, B, C = (f"0000000{n}-aaaa-4000-8000-000000000000" for n in (1, 2, 3))
AGGREGATE = "0000000a-aaaa-4000-8000-000000000000"
GROUP = "0000000b-aaaa-4000-8000-000000000000"
STATS = idle(
    8,
    16_384,
    hypervisor_type="QEMU",
    hypervisor_version=8_002_000,
    cpu_info={"arch": "x86_64"},
    supported_instances=[["x86_64", "kvm", "hvm"]],
    cpu_allocation_ratio=1.0,
    ram_allocation_ratio=1.0,
    disk_allocation_ratio=1.0,
)
SPEC = RequestSpec(
    Flavor(vcpus=2, memory_mb=4096, root_gb=20), project_id="blue", user_id="ann"
)
HUGE = replace(SPEC, flavor=Flavor(vcpus=2, memory_mb=999_999, root_gb=20))


@pytest.fixture(params=inprocess.DOORS)
def books(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GanttProtocol]:
    """Books of each kind with two hosts that reported."""
    with inprocess.opened(request.param, tmp_path) as found:
        yield report(found)


def report(books: GanttProtocol) -> GanttProtocol:
    for host in ("one", "two"):
        books.update_host(host, host, STATS)
    return books


def ask(spec: RequestSpec = SPEC, *uuids: str, **more: object) -> ScheduleRequest:
    return replace(ScheduleRequest(spec, uuids or (A,)), **more)


def test_report_without_a_node_is_of_the_known_one(books: GanttProtocol) -> None:
    assert books.update_host("new", None, STATS).node == "new"
    books.delete_host("new", "new")
    books.update_host("new", "n", STATS)
    more = HostStats(running_vms=3)
    for _ in range(2):
        view = books.update_host("new", None, more)
        assert (view.node, view.stats["running_vms"]) == ("n", 3)
    books.update_host("new", "m", STATS)
    for stats in (more, HostStats(running_vms=4)):
        with pytest.raises(errors.Invalid, match=r"'new' has 2 nodes \(m, n\)"):
            books.update_host("new", None, stats)


def test_hosts_are_selected_and_claimed(books: GanttProtocol) -> None:
    first, second = books.schedule(ask(SPEC, A, B))
    assert {first[0].service_host, second[0].service_host} == {"one", "two"}
    assert first[0].claim == second[0].claim is not None
    assert first[0].allocation_request is not None
    held = books.get_allocations(A)
    assert held is not None
    assert held.project_id == "blue"
    (view,) = books.list_hosts(host=first[0].service_host)
    assert view.claimed["vcpus"] == 2
    (record,) = books.decisions(instance_uuid=B)
    assert record.chosen == (first, second)
    assert record.instance_uuids == (A, B)


def test_every_request_field_is_sent(books: GanttProtocol) -> None:
    books.set_server_group(ServerGroup(GROUP, policy="soft-affinity"))
    spec = replace(
        SPEC,
        image=Image(disk_format="raw", properties={"hw_disk_bus": "virtio"}),
        ignore_hosts=("three",),
        requested_destination=Destination(host="two"),
        retry_hosts=(("three", "three"),),
        scheduler_hints={"group": (GROUP,)},
        instance_group=InstanceGroup(GROUP, "soft-affinity", members=frozenset({A})),
        requested_resources=(ResourceGroup("port", {"VCPU": 1}),),
    )
    ((mine,),) = books.schedule(ask(spec, return_alternates=False))
    assert mine.service_host == "two"


def test_no_valid_host_has_reasons(books: GanttProtocol) -> None:
    with pytest.raises(errors.NoValidHost) as no:
        books.schedule(ask(HUGE, request_id="req-1"))
    assert no.value.message == "No valid host was found."
    assert "one: 0 of 16 GiB MEMORY_MB in use (976.6 GiB asked)." in str(no.value)
    why = no.value.why
    assert isinstance(why, Why)
    assert why.steps
    assert why.steps[-1].after == 0
    assert {near.host for near in why.nearest} == {"one", "two"}
    (record,) = books.decisions(request_id="req-1")
    assert record.why == why
    assert record.failure == "No valid host was found."
    with pytest.raises(errors.NoValidHost) as again:
        books.schedule(ask(HUGE, dry_run=True))
    assert isinstance(again.value.why, Why)


def test_dry_run_returns_the_decision(books: GanttProtocol) -> None:
    found = books.decide(ask(request_id="req-2", user_id="eve"))
    assert found.is_dry_run
    assert found.request_id == "req-2"
    assert {score.host for score in found.scores} == {"one", "two"}
    raw, multiplied = found.scores[0].parts["RAMWeigher"]
    assert raw == 16_384
    assert multiplied == pytest.approx(multiplied)
    ((chosen, *_),) = books.schedule(ask(dry_run=True))
    assert chosen.claim is None
    assert books.get_allocations(A) is None
    failed = books.decide(ask(HUGE))
    assert failed.failure == "No valid host was found."
    assert isinstance(failed.why, Why)


def test_malformed_requests_are_invalid(books: GanttProtocol) -> None:
    spec = replace(SPEC, flavor=replace(SPEC.flavor, extra_specs={"resources:X": "1"}))
    with pytest.raises(errors.Invalid, match="X"):
        books.schedule(ask(spec))


def test_leases_are_confirmed_or_released(books: GanttProtocol) -> None:
    ((mine, *_),) = books.schedule(ask(SPEC, A, lease_s=60.0))
    assert mine.claim is not None
    books.confirm_claim(mine.claim)
    books.release_claim(mine.claim)
    assert books.get_allocations(A) is None
    with pytest.raises(errors.NotFound, match="holds nothing"):
        books.release_claim(mine.claim)
    with pytest.raises(errors.ClaimExpired):
        books.confirm_claim(mine.claim)


def test_fair_split(books: GanttProtocol) -> None:
    found = books.fair_split([SPEC, SPEC, HUGE], [3, 1, 1], by="zone")
    (split,) = found.splits
    assert (found.by, split.name) == ("zone", "nova")
    assert [(one.more, one.alone) for one in split.shares] == [(6, 8), (2, 8), (0, 0)]
    with pytest.raises(errors.Invalid, match="weights"):
        books.fair_split([SPEC], [])


def test_prices_of_rules(books: GanttProtocol) -> None:
    found = books.rule_prices(SPEC)
    assert (found.total, found.left_out) == (8, 0)
    assert {one.kind for one in found.prices} >= {"filter"}


def test_runs_out(books: GanttProtocol) -> None:
    found = books.runs_out([SPEC, HUGE])
    assert [(one.name, one.left, one.state) for one in found.outlooks] == [
        ("", 8, "too little history"),
        ("", 0, "nothing left"),
    ]
    assert (found.history_s, found.horizon_s) == (0, 0)
    with pytest.raises(errors.Invalid, match="horizon_days"):
        books.runs_out(horizon_days=0)


def test_host_life_cycle(books: GanttProtocol) -> None:
    view = books.update_host("one", "one", HostStats(running_vms=3, host_ip=None))
    assert view.stats["running_vms"] == 3
    assert view.stats["vcpus"] == 8
    assert books.list_hosts(host="one", node="one") == (view,)
    assert [one.host for one in books.list_hosts()] == ["one", "two"]
    books.delete_host("one", "one")
    with pytest.raises(errors.NotFound):
        books.delete_host("one", "one")
    assert [one.host for one in books.list_hosts()] == ["two"]


def test_topology_of_a_host(books: GanttProtocol) -> None:
    topology = {"cells": [{"id": 0, "cpus": "0-3", "memory": 512}]}
    books.update_host("one", "one", HostStats(numa_topology=topology))
    view = books.host_topology("one", "one")
    (cell,) = view.cells
    assert (view.host, view.node, view.pools) == ("one", "one", None)
    assert (cell.free_cpus, cell.memory_mb) == ((0, 1, 2, 3), 512)
    assert books.host_topology("two", "two").cells == ()
    with pytest.raises(errors.NotFound, match="no host one with node two"):
        books.host_topology("one", "two")


def test_aggregates_of_hosts(books: GanttProtocol) -> None:
    zone = HostAggregate(
        AGGREGATE, "zone", 7, frozenset({"two"}), {"availability_zone": "z2"}
    )
    books.set_host_aggregates([zone])
    assert books.list_host_aggregates() == (zone,)
    ((mine, *_),) = books.schedule(ask(replace(SPEC, availability_zone="z2")))
    assert (mine.service_host, mine.availability_zone) == ("two", "z2")
    books.delete_host_aggregate(number=7)
    assert books.list_host_aggregates() == ()
    books.set_host_aggregates([zone])
    books.delete_host_aggregate(uuid=AGGREGATE)
    books.delete_host_aggregate(uuid=AGGREGATE)
    assert books.list_host_aggregates() == ()


def test_instances_of_a_host(books: GanttProtocol) -> None:
    def known() -> tuple[str, ...]:
        (view,) = books.list_hosts(host="one")
        return view.instances

    books.update_instances("one", [Instance(A, {"flavorid": "x"}), Instance(B)])
    assert known() == (A, B)
    books.delete_instance("one", A)
    books.delete_instance("one", A)
    assert known() == (B,)
    assert books.sync_instances("one", [B]) is True
    assert books.sync_instances("one", [B, C]) is False


def test_server_groups(books: GanttProtocol) -> None:
    group = ServerGroup(GROUP, "apart", "anti-affinity", 1, frozenset({A, B, C}))
    books.set_server_group(group)
    spec = replace(
        SPEC,
        scheduler_hints={"group": (GROUP,)},
        instance_group=InstanceGroup(GROUP, "anti-affinity"),
    )
    ((first, *_),) = books.schedule(ask(spec, A))
    ((second, *_),) = books.schedule(ask(spec, B))
    assert {first.service_host, second.service_host} == {"one", "two"}
    with pytest.raises(errors.NoValidHost):
        books.schedule(ask(spec, C))
    books.delete_server_group(GROUP)
    books.delete_server_group(GROUP)


def test_scheduling_requires_a_gantt(tmp_path: Path) -> None:
    with inprocess.service(tmp_path) as url:
        elsewhere = RemoteGantt(f"{url}/resource_classes")
        with pytest.raises(errors.Invalid, match="Gantt's own"):
            elsewhere.list_hosts()
        remote = RemoteGantt(url)
        for name, words in (("", "must be a name"), ("a/b", "part of a path")):
            with pytest.raises(errors.Invalid, match=words):
                remote.update_host(name, "node", STATS)


def test_reports_of_agents_are_answered_one_by_one(books: GanttProtocol) -> None:
    first = report_of("agent", 1, STATS)
    gap = replace(first, sequence=7, full=False)
    found = books.report_hosts([first, msgspec.json.encode(gap), first, b"{"])
    told = [(one.outcome, one.code, one.wants_full) for one in found]
    assert told == [
        ("applied", "", False),
        ("refused", errors.ReportGap.code, True),
        ("duplicate", "", False),
        ("refused", errors.BadReport.code, False),
    ]
    assert books.list_hosts(host="agent")[0].stats["vcpus"] == 8
    assert books.report_hosts([]) == ()
