"""Decisions and claims through the whole engine: one process, many callers."""

from __future__ import annotations

import threading
import time
import uuid as uuids
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec import json
from msgspec.structs import replace

import gantt
from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.engine.scheduling import plugin_threads
from gantt.errors import ClaimExpired, Invalid, NotFound, NoValidHost
from gantt.model import commands as c
from gantt.model.hosts import HostAggregate, HostStats, Instance, ServerGroup, Service
from gantt.model.selection import Why
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import StoreOptions
from tests.idle_host import idle
from tests.waiting import until

SMALL = Flavor(vcpus=1, memory_mb=1024, root_gb=10, name="small")


@pytest.fixture(params=["memory", "sqlite"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Gantt]:
    url = "memory://"
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/gantt.db"
    with open_gantt(
        url, EngineOptions(sweep_s=0.02, store=StoreOptions(create=True))
    ) as found:
        yield found


def report(engine: Gantt, host: str, vcpus: int = 4, memory_mb: int = 8192) -> None:
    engine.update_host(
        host,
        host,
        idle(vcpus, memory_mb, cpu_allocation_ratio=1.0, hypervisor_hostname=host),
    )


def ask(
    count: int = 1, *, lease_s: float | None = None, **fields: Any
) -> ScheduleRequest:
    """A request for ``count`` small instances; ``fields`` of the spec."""
    known: dict[str, Any] = {"flavor": SMALL, "project_id": "p", "user_id": "u"}
    names = tuple(str(uuids.uuid4()) for _ in range(count))
    spec = RequestSpec(**{**known, **fields})
    return ScheduleRequest(spec, names, request_id="req-1", lease_s=lease_s)


def held(engine: Gantt) -> dict[str, int]:
    """Host -> VCPUs that are allocated on it."""
    return {
        view.host: engine.get_usages(view.provider_uuid).usages.get("VCPU", 0)
        for view in engine.list_hosts()
        if view.provider_uuid is not None
    }


def test_a_host_is_selected_claimed_and_returned(engine: Gantt) -> None:
    for host in ("a", "b", "c"):
        report(engine, host)
    report(engine, "roomy", memory_mb=16384)
    request = ask()
    ((chosen, *alternates),) = engine.schedule(request)
    assert chosen.service_host == "roomy"
    assert len(alternates) == 2
    assert {one.claim for one in alternates} == {None}
    wanted = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}
    body = json.decode(chosen.allocation_request or "")
    uuid = chosen.compute_node_uuid or ""
    assert body["allocations"] == {uuid: {"resources": wanted}}
    assert body["mappings"] == {"": [uuid]}
    assert request.instance_uuids is not None
    view = engine.get_allocations(request.instance_uuids[0])
    assert view is not None
    assert view.allocations[uuid].resources == wanted
    (known,) = engine.list_hosts(host="roomy")
    assert known.claimed["vcpus"] == 1
    (record,) = engine.decisions(request_id="req-1")
    assert record.chosen == ((chosen, *alternates),)
    assert record.scores[0].host == "roomy"
    assert record.steps[0].name == "free resources"


def test_later_instances_see_earlier_picks(engine: Gantt) -> None:
    for host in ("a", "b"):
        report(engine, host)
    found = engine.schedule(ask(count=8))
    assert Counter(one[0].service_host for one in found) == {"a": 4, "b": 4}
    assert held(engine) == {"a": 4, "b": 4}


def test_selection_is_atomic(engine: Gantt) -> None:
    for host in ("a", "b"):
        report(engine, host)
    with pytest.raises(NoValidHost, match="9 instances were asked for, 8 have"):
        engine.schedule(ask(count=9))
    assert held(engine) == {"a": 0, "b": 0}


def test_a_host_deleted_before_the_answer_leaves_nothing(
    engine: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its claim goes with it; what that held must not stay with the instance."""
    for host in ("a", "b"):
        report(engine, host)
    submit, gone = engine._committer.submit, list[str]()

    def submit_and_delete(command: c.Command[object], request_id: str = "") -> Any:
        answer = submit(command, request_id)
        if isinstance(command, c.Claim) and not gone:
            gone.extend(host for host, vcpus in held(engine).items() if vcpus)
            engine.delete_host(gone[0], gone[0])
        return answer

    monkeypatch.setattr(engine._committer, "submit", submit_and_delete)
    request = ask(count=1)
    ((chosen, *_),) = engine.schedule(request)
    assert request.instance_uuids is not None
    view = engine.get_allocations(request.instance_uuids[0])
    assert view is not None
    assert [*view.allocations] == [chosen.compute_node_uuid]
    engine.release_claim(chosen.claim or "")
    assert engine.get_allocations(request.instance_uuids[0]) is None


def test_late_plugin_failure_leaves_no_claim(
    engine: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits are told after the claim: without an answer there is none to keep."""
    report(engine, "a")

    def fail(*_given: Any, **_more: Any) -> None:
        raise Invalid("no limits")

    monkeypatch.setattr(plugin_threads, "selections", fail)
    request = ask()
    with pytest.raises(Invalid, match="no limits"):
        engine.schedule(request)
    assert held(engine) == {"a": 0}
    assert request.instance_uuids is not None
    assert engine.get_allocations(request.instance_uuids[0]) is None


def test_no_valid_host_has_reasons(engine: Gantt) -> None:
    report(engine, "a")
    report(engine, "b")
    engine.update_service(Service("b", disabled=True))
    big = Flavor(vcpus=5, memory_mb=1024, root_gb=10)
    with pytest.raises(NoValidHost) as refusal:
        engine.schedule(ask(flavor=big))
    why = refusal.value.why
    assert isinstance(why, Why)
    assert why.change == "ask for 4 instead of 5 VCPU"
    assert why.steps[0].removed_alone == 1
    near = {one.host: one.removed_by for one in why.nearest}
    assert near["a"] == ("free resources",)
    assert near["b"] == ("free resources", "ComputeFilter")
    (record,) = engine.decisions()
    assert record.failure is not None
    assert record.why == why


@pytest.mark.parametrize("source", ["always", "never"])
def test_advised_change_succeeds(source: Literal["always", "never"]) -> None:
    """Less to ask helps only where all the rest would let a host pass."""
    options = EngineOptions(scheduler=SchedulerOptions(use_placement=source))
    with open_gantt("memory://", options) as engine:
        for host, vcpus in (("a", 2), ("b", 4), ("c", 8)):
            report(engine, host, vcpus=vcpus)
        engine.update_service(Service("c", disabled=True))

        def refused(vcpus: int, memory_mb: int = 1024) -> str | None:
            flavor = Flavor(vcpus=vcpus, memory_mb=memory_mb, root_gb=10)
            why = engine.decide(ask(flavor=flavor)).why
            assert why is not None
            return why.change

        # Only the disabled host has 8, and it has too little for the first.
        for asked in (9, 8, 5):
            change = refused(asked)
            assert change is not None
            assert change == f"ask for 4 instead of {asked} VCPU"
        assert engine.decide(ask(flavor=Flavor(vcpus=4))).failure is None
        assert refused(9, 99_999) is None  # no single thing helps


@pytest.mark.parametrize("source", ["always", "never"])
def test_advice_can_name_two_changes(source: Literal["always", "never"]) -> None:
    options = EngineOptions(scheduler=SchedulerOptions(use_placement=source))
    with open_gantt("memory://", options) as engine:
        report(engine, "a")
        engine.update_service(Service("a", disabled=True))
        why = engine.decide(ask(flavor=Flavor(vcpus=9))).why
        assert why is not None
        assert why.change == (
            "ask for 4 instead of 9 VCPU, and take ComputeFilter out of enabled_filters"
        )


def test_dry_run_claims_nothing_and_shows_every_host(engine: Gantt) -> None:
    for host in ("a", "b", "c"):
        report(engine, host)
    record = engine.decide(ask())
    assert len(record.scores) == 3
    assert record.is_dry_run
    assert {"RAMWeigher", "DiskWeigher"} <= record.scores[0].parts.keys()
    assert set(held(engine).values()) == {0}
    refused = engine.decide(ask(flavor=Flavor(vcpus=99)))
    assert refused.failure is not None
    assert refused.chosen == ()


def test_record_of_a_dry_run_is_bounded() -> None:
    policy = SchedulerOptions(record_hosts=2, records=20)
    with open_gantt("memory://", EngineOptions(scheduler=policy)) as engine:
        for host in ("a", "b", "c"):
            report(engine, host)
        said = engine.decide(ask())
        engine.schedule(replace(ask(), dry_run=True, request_id="req-2"))
        with pytest.raises(NoValidHost):
            too_much = ask(flavor=Flavor(vcpus=99))
            engine.schedule(replace(too_much, dry_run=True, request_id="req-3"))
        third, second, first = engine.decisions()
        assert first == replace(said, scores=said.scores[:2])
        assert len(said.scores) == 3
        assert (second.request_id, len(second.scores)) == ("req-2", 2)
        assert third.failure is not None
        assert all(one.is_dry_run for one in (first, second, third))
        counts = engine.counts()
        assert (counts["decisions"], counts["no_valid_host"]) == (0, 0)


@pytest.mark.parametrize("driver", ["filter", "caching"])
def test_a_dry_run_shows_raw_scores_without_weight(driver: str) -> None:
    off = {"disk_weight_multiplier": 0.0}
    policy = SchedulerOptions(driver=driver, multipliers=off)
    with open_gantt("memory://", EngineOptions(scheduler=policy)) as engine:
        report(engine, "a", memory_mb=4096)
        # Asked twice: the second time from what a driver may have kept.
        for _ in range(2):
            (alone,) = engine.decide(ask()).scores
            assert alone.weight == 0.0
            assert alone.parts["RAMWeigher"] == (4096.0, 0.0)
            assert alone.parts["DiskWeigher"] == (102400.0, 0.0)
            assert {weighted for _, weighted in alone.parts.values()} == {0.0}
        report(engine, "b", memory_mb=8192)
        for _ in range(2):
            best, other = engine.decide(ask()).scores
            assert best.parts["RAMWeigher"] == (8192.0, 1.0)
            assert other.parts["DiskWeigher"] == (102400.0, 0.0)
            assert list(best.parts) == list(alone.parts)
        # A decision with a claim does not ask what counts for nothing.
        engine.schedule(ask())
        assert "DiskWeigher" not in engine.decisions()[0].scores[0].parts


def test_expired_lease_releases_its_claim(engine: Gantt) -> None:
    report(engine, "a")
    ((chosen, *_),) = engine.schedule(ask(lease_s=0.05))
    assert held(engine) == {"a": 1}
    until(lambda: held(engine) == {"a": 0})
    assert chosen.claim is not None
    with pytest.raises(ClaimExpired):
        engine.confirm_claim(chosen.claim)


def test_confirmed_claim_does_not_expire(engine: Gantt) -> None:
    report(engine, "a")
    ((chosen, *_),) = engine.schedule(ask(lease_s=0.5))
    assert chosen.claim is not None
    engine.confirm_claim(chosen.claim)
    time.sleep(2.0)
    assert held(engine) == {"a": 1}
    engine.release_claim(chosen.claim)
    assert held(engine) == {"a": 0}
    with pytest.raises(NotFound):
        engine.release_claim(chosen.claim)


def test_report_of_the_instance_ends_its_claim(engine: Gantt) -> None:
    report(engine, "a")
    request = ask()
    engine.schedule(request)
    assert request.instance_uuids is not None
    engine.update_instances("a", [Instance(request.instance_uuids[0])])
    (view,) = engine.list_hosts(host="a")
    assert view.claimed["instances"] == 0
    assert view.instances == request.instance_uuids
    assert held(engine) == {"a": 1}


def test_impossible_request_names_its_fault(engine: Gantt) -> None:
    report(engine, "a")
    odd = Flavor(vcpus=1, memory_mb=1, extra_specs={"resources:CUSTOM_NO": "1"})
    with pytest.raises(Invalid, match="CUSTOM_NO"):
        engine.schedule(ask(flavor=odd))


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("extra_specs", "name"),
    [
        ({"hw:cpu_policy": "dedicated"}, "NUMATopologyFilter"),
        ({"pci_passthrough:alias": "gpu:1"}, "PciPassthroughFilter"),
    ],
)
def test_what_no_filter_judges_is_logged_once(
    engine: Gantt,
    caplog: pytest.LogCaptureFixture,
    extra_specs: dict[str, str],
    name: str,
    dry_run: bool,
) -> None:
    """Amounts decide, as in Nova without these filters."""
    report(engine, "h1", vcpus=16)
    flavor = replace(SMALL, extra_specs=extra_specs)
    for _ in range(3):
        with suppress(NoValidHost):
            engine.schedule(replace(ask(flavor=flavor), dry_run=dry_run))
    said = [text for text in caplog.messages if name in text]
    assert len(said) == 1
    assert "amounts alone decide" in said[0]
    assert next(iter(extra_specs)) in said[0]


@pytest.mark.parametrize("how", ["decide", "capacity", "forced"])
def test_every_kind_of_request_logs_that(
    caplog: pytest.LogCaptureFixture, how: str
) -> None:
    """Dry runs and counts hear it, and where hosts are forced no filter is asked."""
    enabled = ("NUMATopologyFilter",) if how == "forced" else ()
    options = EngineOptions(scheduler=SchedulerOptions(enabled_filters=enabled))
    spec = RequestSpec(replace(SMALL, extra_specs={"hw:numa_nodes": "1"}))
    with open_gantt("memory://", options) as engine:
        report(engine, "a")
        for _ in range(2):
            if how == "capacity":
                assert engine.capacity(spec).total
            elif how == "decide":
                assert engine.decide(ScheduleRequest(spec)).chosen
            else:
                forced = replace(spec, force_hosts=("a",))
                assert engine.schedule(ScheduleRequest(forced))
    assert len([text for text in caplog.messages if "NUMATopology" in text]) == 1


def test_records_have_a_duration(engine: Gantt) -> None:
    report(engine, "a")
    assert engine.decide(ask()).timings["decide"] > 0
    engine.schedule(replace(ask(), instance_uuids=None))
    with pytest.raises(NoValidHost):
        engine.schedule(ask(flavor=Flavor(vcpus=99)))
    assert all(one.timings["decide"] > 0 for one in engine.decisions())


def test_capacity_counts_possible_claims(engine: Gantt) -> None:
    for host in ("a", "b", "c"):
        report(engine, host)
    spec = ask().spec
    found = engine.capacity(spec)
    assert found.total == 12
    engine.schedule(ask(count=found.total))
    assert engine.capacity(spec).total == 0
    with pytest.raises(NoValidHost):
        engine.schedule(ask())


def test_host_aggregates_are_provider_aggregates(engine: Gantt) -> None:
    report(engine, "a")
    report(engine, "b")
    uuid = str(uuids.uuid4())
    zone = {"availability_zone": "north"}
    engine.set_host_aggregates([HostAggregate(uuid, "n", 7, frozenset({"b"}), zone)])
    ((chosen, *_),) = engine.schedule(ask(availability_zone="north"))
    assert (chosen.service_host, chosen.availability_zone) == ("b", "north")
    (view,) = engine.list_hosts(host="b")
    assert engine.get_aggregates(view.provider_uuid or "").aggregates == (uuid,)
    engine.delete_host_aggregate(number=7)
    assert engine.get_aggregates(view.provider_uuid or "").aggregates == ()


def _storm(engine: Gantt, requests: list[ScheduleRequest]) -> tuple[int, list[str]]:
    """All at once from 8 threads: how many got a place, and what went wrong."""
    placed, wrong = [0], list[str]()
    pending = iter(requests)
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                request = next(pending, None)
            if request is None:
                return
            try:
                found = engine.schedule(request)
                with lock:
                    placed[0] += len(found)
            except NoValidHost:
                pass
            except Exception as error:
                wrong.append(repr(error))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return placed[0], wrong


def test_full_fleet_is_never_overcommitted(engine: Gantt) -> None:
    """Room for 24; twice as many want in, some of them in twos."""
    for number in range(6):
        report(engine, f"h{number}")
    requests = [ask(count=1 + number % 2) for number in range(48)]
    placed, wrong = _storm(engine, requests)
    assert wrong == []
    usages = held(engine)
    assert max(usages.values()) <= 4
    assert sum(usages.values()) == placed
    # The last refused request may have wanted two: at most one place is left.
    assert placed >= 23
    assert engine.verify().problems == ()


@pytest.mark.parametrize("policy", ["anti-affinity", "affinity"])
def test_races_do_not_violate_server_groups(engine: Gantt, policy: str) -> None:
    for number in range(5):
        report(engine, f"h{number}", vcpus=64, memory_mb=65536)
    group = ServerGroup(str(uuids.uuid4()), "g", policy, 2)
    engine.set_server_group(group)
    known = InstanceGroup(group.uuid, policy, 2)
    requests = [ask(instance_group=known) for _ in range(16)]
    placed, wrong = _storm(engine, requests)
    assert wrong == []
    usages = [count for count in held(engine).values() if count]
    # One host has disk for ten; five hosts may have two members each.
    assert usages == ([10] if policy == "affinity" else [2] * 5)
    assert placed == 10


@pytest.mark.parametrize(
    ("policy", "most", "expected"),
    [("anti-affinity", 1, [1, 1]), ("anti-affinity", 2, [2, 2]), ("affinity", 1, [4])],
)
@pytest.mark.parametrize("is_hint", [False, True])
def test_the_reported_rule_of_a_group_holds(
    engine: Gantt, policy: str, most: int, expected: list[int], is_hint: bool
) -> None:
    """Callers without a conductor name their group by its uuid alone, or by the hint
    of Nova's API."""
    for host in ("a", "b"):
        report(engine, host)
    told = str(uuids.uuid4())
    engine.set_server_group(ServerGroup(told, "g", policy, most))
    spec = RequestSpec(SMALL, instance_group=InstanceGroup(told))
    if is_hint:
        spec = RequestSpec(SMALL, scheduler_hints={"group": (told,)})
    assert sorted(engine.capacity(spec).hosts.values()) == expected
    for _ in range(sum(expected)):
        engine.schedule(ScheduleRequest(spec, (str(uuids.uuid4()),)))
    with pytest.raises(NoValidHost):
        engine.schedule(ScheduleRequest(spec, (str(uuids.uuid4()),)))
    assert sorted(filter(None, held(engine).values())) == expected


@pytest.mark.parametrize("ratio", [1.0, 1e6])
@pytest.mark.parametrize("source", ["always", "never"])
def test_very_high_ratio_makes_a_class_unlimited(
    source: Literal["always", "never"], ratio: float
) -> None:
    options = EngineOptions(scheduler=SchedulerOptions(use_placement=source))
    with open_gantt("memory://", options) as engine:
        stats = HostStats(
            vcpus=64,
            memory_mb=65536,
            local_gb=10,
            free_disk_gb=10,
            cpu_allocation_ratio=1.0,
            ram_allocation_ratio=1.0,
            disk_allocation_ratio=ratio,
        )
        engine.update_host("a", "a", stats)
        if ratio == 1.0:
            with pytest.raises(NoValidHost):
                engine.schedule(ask(20))
            return
        assert len(engine.schedule(ask(20))) == 20
        # Memory still decides, and so does the size of one instance.
        assert engine.capacity(ask().spec).total == 44
        with pytest.raises(NoValidHost):
            engine.schedule(ask(flavor=Flavor(vcpus=1, memory_mb=1024, root_gb=11)))


def test_lease_requires_instances(engine: Gantt) -> None:
    report(engine, "a")
    spec = RequestSpec(SMALL)
    with pytest.raises(Invalid, match="Give instance_uuids"):
        engine.schedule(ScheduleRequest(spec, None, lease_s=30.0))


@pytest.mark.parametrize("naming", ["report", "update", "sync"])
def test_member_reported_by_its_host_still_counts(engine: Gantt, naming: str) -> None:
    for host in ("a", "b"):
        report(engine, host)
    group = InstanceGroup(str(uuids.uuid4()), "anti-affinity")
    first = ask(instance_group=group)
    assert first.instance_uuids is not None
    names = first.instance_uuids
    host = engine.schedule(first)[0][0].service_host
    if naming == "report":
        engine.update_host(host, host, HostStats(instances=names))
    elif naming == "update":
        engine.update_instances(host, [Instance(names[0])])
    else:
        engine.sync_instances(host, list(names))
    assert engine.list_hosts(host=host)[0].claimed["instances"] == 0
    second = engine.schedule(ask(instance_group=group))[0][0].service_host
    assert {host, second} == {"a", "b"}
    with pytest.raises(NoValidHost):
        engine.schedule(ask(instance_group=group))


def test_claims_count_as_usage_without_inventories() -> None:
    options = EngineOptions(scheduler=SchedulerOptions(use_placement="never"))
    with open_gantt("memory://", options) as engine:
        for number in range(3):
            report(engine, f"h{number}")
        placed, wrong = _storm(engine, [ask() for _ in range(20)])
        assert wrong == []
        assert placed == 12
        assert held(engine) == {"h0": 0, "h1": 0, "h2": 0}
        claimed = {view.host: view.claimed["vcpus"] for view in engine.list_hosts()}
        assert claimed == {"h0": 4, "h1": 4, "h2": 4}


def test_the_switch_to_the_books_is_made_once_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with open_gantt("memory://") as engine, caplog.at_level("INFO"):
        report(engine, "a")
        engine.schedule(ask())
        engine.schedule(ask())
    told = [one for one in caplog.messages if "amounts come from the books" in one]
    assert len(told) == 1


def test_connect_gives_the_scheduler_methods() -> None:
    with gantt.connect("memory://") as engine:
        assert engine.list_hosts() == ()
