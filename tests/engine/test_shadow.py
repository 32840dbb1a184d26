"""Shadow: what Gantt decides beside Nova, against what Nova then claims."""

from __future__ import annotations

import time
import uuid as uuids
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from gantt.engine.gantt import Gantt
from gantt.engine.opening import open_gantt, standard_names
from gantt.engine.options import EngineOptions
from gantt.engine.shadow import settling
from gantt.engine.shadow.options import ShadowOptions
from gantt.engine.shadow.settling import NO_CLAIMS, REBUILD, UNNAMED
from gantt.engine.shadow.sightings import Sightings
from gantt.errors import Invalid, StoreFailed
from gantt.model.advice import AdviceHost, AdviceRequest
from gantt.model.changes import Change, Cursor
from gantt.model.commands import ConsumerAllocations, Inventory
from gantt.model.hosts import HostStats, Instance, ServerGroup, Service
from gantt.model.rows import ALLOCATIONS, AllocationRow
from gantt.model.shadow import Phase, ShadowEvent, ShadowQuery, ShadowRecord
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ScheduleRequest
from gantt.placement import claimed as placement_claimed
from gantt.placement.queries import touched_allocations
from gantt.scheduler.contract import Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools
from gantt.store import Store, open_store
from gantt.store.interface import ShadowRow, ShadowRows, StoreOptions
from tests.engine.test_leader_tasks import until

SMALL = Flavor(vcpus=1, memory_mb=1024, root_gb=10, name="small")
AMOUNTS = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}
QUICK = ShadowOptions(shadow_settle_s=0.2)


def opened(url: str, shadow: ShadowOptions = QUICK) -> Gantt:
    store = StoreOptions(create=True)
    return open_gantt(url, EngineOptions(shadow=shadow, store=store))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks for claims as often as tests can use."""
    monkeypatch.setattr(settling, "PERIOD_S", 0.01)


@pytest.fixture
def engine() -> Iterator[Gantt]:
    with opened("memory://") as found:
        yield found


def report(engine: Gantt, host: str, memory_mb: int = 8192, vcpus: int = 4) -> None:
    engine.update_host(
        host,
        host,
        HostStats(
            vcpus=vcpus,
            memory_mb=memory_mb,
            local_gb=100,
            free_ram_mb=memory_mb,
            free_disk_gb=100,
            cpu_allocation_ratio=1.0,
            hypervisor_hostname=host,
        ),
    )


def spec(uuid: str, **fields: Any) -> RequestSpec:
    known: dict[str, Any] = {"flavor": SMALL, "project_id": "p", "user_id": "u"}
    return RequestSpec(instance_uuid=uuid, **{**known, **fields})


def observe(
    engine: Gantt,
    uuid: str,
    phase: Phase = "start",
    at: int | None = None,
    request: str = "",
    **fields: Any,
) -> None:
    """A notification of Nova about ``uuid``."""
    name = request or f"req-{uuid[:8]}"
    engine.shadow_event(ShadowEvent(spec(uuid, **fields), phase, name, at))


def claim(engine: Gantt, uuid: str, *hosts: str, generation: int | None = None) -> None:
    """What Nova's scheduler writes to Placement."""
    named = {one.name: one.uuid for one in engine.list_providers()}
    found = {named[host]: AMOUNTS for host in hosts}
    engine.set_allocations(
        [ConsumerAllocations(uuid, found, "p", "u", generation=generation)]
    )


def settled(engine: Gantt, uuid: str) -> ShadowRecord:
    until(lambda: len(engine.shadow_records(instance_uuid=uuid)) == 1)
    (found,) = engine.shadow_records(instance_uuid=uuid)
    return found


def new() -> str:
    return str(uuids.uuid4())


def now() -> int:
    return time.time_ns() // 1000


@pytest.fixture
def two(engine: Gantt) -> Gantt:
    """With two hosts, of which Gantt prefers the first."""
    report(engine, "big", memory_mb=16384)
    report(engine, "small")
    return engine


def test_same_host(two: Gantt) -> None:
    uuid = new()
    observe(two, uuid)
    claim(two, uuid, "big")
    found = settled(two, uuid)
    assert (found.verdict, found.host, found.gantt_host) == ("same", "big", "big")
    assert [one.host for one in found.ranked] == ["big", "small"]
    assert (found.rank, found.feasible, found.hosts) == (1, 2, 2)
    assert found.learnt_from == "allocations"
    assert found.claimed_at is not None
    assert found.claimed_at >= found.asked_at


class Forgetting(dict[Any, Any]):
    """Loses a key once it was seen, as if another thread forgot it then."""

    def __contains__(self, key: object) -> bool:
        return self.pop(key, None) is not None


def test_instance_forgotten_meanwhile_fails_no_report(
    two: Gantt, caplog: pytest.LogCaptureFixture
) -> None:
    uuid = new()
    observe(two, uuid)
    sightings = two._replica.listener
    assert isinstance(sightings, Sightings)
    sightings._sought = Forgetting(sightings._sought)
    two.update_instances("big", [Instance(uuid)])
    assert "failed to learn" not in caplog.text


def test_defect_of_the_shadow_fails_no_write(
    two: Gantt, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(Sightings, "applied", fail)
    uuid = new()
    observe(two, uuid)
    claim(two, uuid, "big")
    assert two.get_allocations(uuid) is not None
    assert "Sightings failed to learn of changes" in caplog.text


def test_lower_ranked_host_differs_by_weighers(two: Gantt) -> None:
    uuid = new()
    observe(two, uuid)
    claim(two, uuid, "small")
    found = settled(two, uuid)
    assert (found.verdict, found.rank, found.gantt_host) == ("ranked", 2, "big")
    assert found.differences == {"RAMWeigher": 0.5}
    assert found.weight == found.ranked[1].weight


def test_host_that_gantt_refuses_is_named_with_the_filter(two: Gantt) -> None:
    two.update_service(Service("big", "nova-compute", disabled=True))
    uuid = new()
    observe(two, uuid)
    claim(two, uuid, "big")
    found = settled(two, uuid)
    assert (found.verdict, found.refused_by) == ("refused_by_gantt", "ComputeFilter")
    assert found.rank is None
    assert found.refused == {"ComputeFilter": 1}
    assert [one.host for one in found.refused_hosts] == ["big"]


def test_host_unknown_to_gantt(two: Gantt) -> None:
    provider = two.create_provider("elsewhere").uuid
    two.set_inventories(
        provider, {name: Inventory(10_000) for name in AMOUNTS}, generation=0
    )
    uuid = new()
    observe(two, uuid)
    claim(two, uuid, "elsewhere")
    found = settled(two, uuid)
    assert (found.verdict, found.host) == ("unknown_host", "elsewhere")


def test_refusal_of_nova_is_inferred_from_the_missing_claim(two: Gantt) -> None:
    other, mine = new(), new()
    observe(two, other)
    claim(two, other, "big")
    observe(two, mine)
    found = settled(two, mine)
    assert (found.verdict, found.is_inferred) == ("refused_by_nova", True)
    assert (found.gantt_host, found.host) == ("big", None)
    assert found.settled_at - found.asked_at >= QUICK.shadow_settle_s * 1_000_000


def test_both_refuse(two: Gantt) -> None:
    other, mine = new(), new()
    observe(two, other)
    claim(two, other, "big")
    observe(two, mine, flavor=Flavor(vcpus=99, memory_mb=64))
    found = settled(two, mine)
    assert (found.verdict, found.is_inferred) == ("both_refused", True)
    assert found.failure == "No valid host was found."
    assert found.refused == {"allocation candidates": 2}


def test_request_that_gantt_refuses_before_hosts(two: Gantt) -> None:
    uuid = new()
    observe(two, uuid, scheduler_hints={"same_host": ("x",), "different_host": ("x",)})
    claim(two, uuid, "big")
    found = settled(two, uuid)
    assert found.verdict in {"same", "ranked", "refused_by_gantt"}


def test_without_any_claim_nothing_is_concluded(two: Gantt) -> None:
    """The cloud's claims may be in another Placement."""
    uuid = new()
    observe(two, uuid)
    found = settled(two, uuid)
    assert (found.verdict, found.note) == ("undetermined", NO_CLAIMS)


def test_end_without_a_claim_is_undetermined_and_gives_novas_time(two: Gantt) -> None:
    first, uuid = new(), new()
    observe(two, first)
    claim(two, first, "big")
    settled(two, first)
    at = two.shadow_records()[0].settled_at
    observe(two, uuid, at=at)
    observe(two, uuid, "end", at=at + 1500)
    found = settled(two, uuid)
    assert (found.verdict, found.nova_s) == ("undetermined", 0.0015)
    assert "no claim was seen" in found.note


def test_decision_does_not_see_the_claim_that_nova_made_before(two: Gantt) -> None:
    """Notifications may come late: by then the host can be full of this instance."""
    report(two, "tight", memory_mb=100_000, vcpus=1)
    before = two.shadow_records()
    assert before == ()
    uuid, at = new(), now()
    claim(two, uuid, "tight")
    observe(two, uuid, at=at)
    found = settled(two, uuid)
    assert (found.verdict, found.gantt_host) == ("same", "tight")
    assert not found.is_late
    # Others see the claim, before and after.
    later = two.decide(ScheduleRequest(spec(new()), dry_run=True))
    assert later.chosen[0][0].service_host == "big"
    view = two.get_allocations(uuid)
    assert view is not None
    assert two.verify().problems == ()


def test_look_ups_are_answered_at_once_after_a_hidden_claim(two: Gantt) -> None:
    """What was hidden is there again, and no commit has to be waited for."""
    uuid = new()
    claim(two, uuid, "big")
    assert two.read_touched(touched_allocations, new(), at_once=True) is None
    observe(two, uuid, at=now() - 1_000_000)
    assert settled(two, uuid).verdict == "same"
    assert two.read_touched(touched_allocations, new(), at_once=True) is None
    assert two.read_touched(touched_allocations, uuid, at_once=True) is not None


def test_cached_shape_is_right_before_and_after_a_hidden_claim(two: Gantt) -> None:
    def best() -> str:
        request = ScheduleRequest(spec(new()), dry_run=True)
        return two.decide(request).chosen[0][0].service_host

    for number in range(40):  # of few hosts, a shape is not refreshed but made anew
        report(two, f"other{number}", memory_mb=2048, vcpus=1)
    report(two, "tight", memory_mb=100_000, vcpus=1)
    chosen = [best()]
    uuid, at = new(), now()
    claim(two, uuid, "tight")
    chosen.append(best())
    observe(two, uuid, at=at)
    chosen.append(best())
    two.delete_allocations(uuid)
    chosen.append(best())
    assert chosen == ["tight", "big", "big", "tight"]
    assert settled(two, uuid).gantt_host == "tight"
    assert two.counts()["shape_hits"] > 0


def test_instance_that_is_named_already_is_hidden_too(two: Gantt) -> None:
    """Its own host would be refused by the rule of its group."""
    uuid, at = new(), now()
    group = new()
    two.set_server_group(
        ServerGroup(group, "g", "anti-affinity", members=frozenset({uuid}))
    )
    claim(two, uuid, "big")
    two.update_instances("big", [Instance(uuid)])
    observe(two, uuid, at=at, instance_group=InstanceGroup(group))
    found = settled(two, uuid)
    assert (found.verdict, found.gantt_host) == ("same", "big")
    assert two.verify().problems == ()


def test_claim_is_learnt_although_it_is_gone_at_once(two: Gantt) -> None:
    """A build that fails, or a server that lives for a moment."""
    uuid = new()
    observe(two, uuid)
    claim(two, uuid, "small")
    two.delete_allocations(uuid)
    assert settled(two, uuid).host == "small"


def test_first_claim_counts(two: Gantt) -> None:
    """After a failed build, the instance moves on to an alternate."""
    uuid = new()
    observe(two, uuid)
    claim(two, uuid, "big")
    claim(two, uuid, "small", generation=1)
    assert settled(two, uuid).host == "big"


def test_source_of_an_evacuation_is_no_news(
    two: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not as databases that store whole seconds.
    monkeypatch.setattr(placement_claimed, "_SECOND", 1)
    uuid = new()
    claim(two, uuid, "small")
    observe(two, uuid, ignore_hosts=("small",))
    claim(two, uuid, "small", "big", generation=1)
    found = settled(two, uuid)
    assert (found.verdict, found.host) == ("same", "big")


def test_host_is_learnt_from_instances_where_there_are_no_allocations(
    two: Gantt,
) -> None:
    uuid = new()
    observe(two, uuid)
    two.update_instances("small", [Instance(uuid)])
    found = settled(two, uuid)
    assert (found.host, found.learnt_from) == ("small", "instances")


def test_rebuild_claims_nothing(two: Gantt) -> None:
    first, uuid = new(), new()
    observe(two, first)
    claim(two, first, "big")
    settled(two, first)
    observe(two, uuid, scheduler_hints={"_nova_check_type": ("rebuild",)})
    found = settled(two, uuid)
    assert (found.operation, found.verdict) == ("rebuild", "undetermined")
    assert found.note == REBUILD


def test_several_instances_are_compared_one_by_one(two: Gantt) -> None:
    """Notifications name the first at the start, and the last at the end."""
    report(two, "third", memory_mb=4096)
    first, second, last = new(), new(), new()
    many = spec(first, num_instances=3)
    decided = two.decide(ScheduleRequest(many, dry_run=True))
    hosts = [one[0].service_host for one in decided.chosen]
    assert len(set(hosts)) > 1
    observe(two, first, request="req-many", num_instances=3)
    for uuid, host in zip((first, second, last), hosts, strict=True):
        claim(two, uuid, host)
    observe(two, last, "end", request="req-many", num_instances=3)
    until(lambda: len(two.shadow_records(request_id="req-many")) == 3)
    found = sorted(two.shadow_records(request_id="req-many"), key=lambda r: r.number)
    assert [one.count for one in found] == [3, 3, 3]
    assert [one.instance_uuid for one in found] == [first, None, last]
    assert [one.verdict for one in found] == ["same", "undetermined", "same"]
    assert found[1].note == UNNAMED
    assert all(one.nova_s is not None for one in found)


def test_end_that_names_its_instance_needs_no_request_id(two: Gantt) -> None:
    uuid = new()
    observe(two, uuid, at=now())
    two.shadow_event(ShadowEvent(spec(uuid), "end"))
    claim(two, uuid, "big")
    assert settled(two, uuid).nova_s is not None


def test_repeated_start_is_one_request(two: Gantt) -> None:
    uuid = new()
    observe(two, uuid)
    observe(two, uuid)
    claim(two, uuid, "big")
    settled(two, uuid)
    counts = two.counts()
    assert (counts["shadow_observed"], counts["shadow_repeated"]) == (1, 1)
    assert counts["shadow_same"] == 1


def test_lag_is_from_the_notification_to_the_decision(two: Gantt) -> None:
    uuid = new()
    observe(two, uuid, at=now() - 3_000_000)
    claim(two, uuid, "big")
    assert 3.0 <= settled(two, uuid).lag_s < 60.0


def test_time_in_the_future_counts_as_now(two: Gantt) -> None:
    """The clock of Nova's machine may be ahead."""
    uuid = new()
    observe(two, uuid, at=now() + 3_600_000_000)
    claim(two, uuid, "big")
    found = settled(two, uuid)
    assert (found.verdict, found.lag_s < 60.0) == ("same", True)


@pytest.mark.parametrize(
    ("event", "named"),
    [
        (ShadowEvent(spec("x"), "middle"), "phase"),  # type: ignore[arg-type]
        (ShadowEvent(spec("x"), at=-1), "at must be"),
        (ShadowEvent(spec("x"), request_id=7), "request_id"),  # type: ignore[arg-type]
        (ShadowEvent(spec("x", num_instances=0)), "num_instances"),
    ],
)
def test_invalid_event_is_refused_by_its_field(
    engine: Gantt, event: ShadowEvent, named: str
) -> None:
    with pytest.raises(Invalid, match=named):
        engine.shadow_event(event)
    assert engine.counts()["shadow_observed"] == 0


def test_requests_beyond_the_limit_are_dropped_the_oldest_first() -> None:
    with opened("memory://", ShadowOptions(shadow_pending=2)) as engine:
        report(engine, "big")
        first, *others = uuids = [new() for _ in range(3)]
        for uuid in uuids:
            observe(engine, uuid)
        for uuid in uuids:
            claim(engine, uuid, "big")
            observe(engine, uuid, "end")
        assert [settled(engine, uuid).verdict for uuid in others] == ["same", "same"]
        assert engine.shadow_records(instance_uuid=first) == ()
        assert engine.counts()["shadow_abandoned"] == 1


def test_names_of_hosts_are_limited_too() -> None:
    with opened("memory://", ShadowOptions(shadow_pending_hosts=3)) as engine:
        report(engine, "a")
        report(engine, "b")
        for _ in range(3):
            observe(engine, new())
        counts = engine.counts()
        assert (counts["shadow_pending"], counts["shadow_abandoned"]) == (1, 2)


def test_record_keeps_so_many_hosts() -> None:
    options = ShadowOptions(shadow_settle_s=0.2, shadow_hosts=1, shadow_scored=2)
    with opened("memory://", options) as engine:
        for number in range(4):
            report(engine, f"h{number}", memory_mb=8192 + number)
        for host in ("h0", "h1"):
            engine.update_service(Service(host, "nova-compute", disabled=True))
        uuid = new()
        observe(engine, uuid)
        claim(engine, uuid, "h2")
        found = settled(engine, uuid)
        assert [one.host for one in found.ranked] == ["h3"]
        assert len(found.refused_hosts) == 1
        assert (found.verdict, found.rank) == ("ranked", 2)


def test_any_process_answers_and_old_records_are_trimmed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/gantt.db"
    options = ShadowOptions(shadow_settle_s=0.2, shadow_records=2)
    with opened(url, options) as one, opened(url, options) as two:
        report(one, "big")
        uuids = [new() for _ in range(3)]
        for uuid in uuids:
            observe(one, uuid)
            claim(two, uuid, "big")  # another process is the cloud's Placement
            observe(one, uuid, "end")
            assert settled(two, uuid).verdict == "same"
        assert two.shadow_report().verdicts == one.shadow_report().verdicts
        dropped = sum(dict(trims(engine)).get("trim_shadow", 0) for engine in (one,))
        assert dropped == 1
        assert len(two.shadow_records()) == 2
    with opened(url, options) as again:
        assert [r.verdict for r in again.shadow_records()] == ["same", "same"]


def trims(engine: Gantt) -> list[tuple[str, int]]:
    """What the leader's tasks of the shadow do."""
    return [(one.name, one.run()) for one in engine._shadow.leader_tasks()]


def test_advice_is_compared_with_the_claim(two: Gantt) -> None:
    uuid = new()
    hosts = (AdviceHost("small", "small"), AdviceHost("big", "big"), AdviceHost("gone"))
    request = AdviceRequest(spec(uuid), hosts, stage="filter", mode="observe")
    two.advise(request)
    two.advise(replace(request, stage="weigh", weights={"small": 2.0}))
    claim(two, uuid, "small")
    found = settled(two, uuid)
    assert (found.source, found.mode, found.operation) == (
        "advice",
        "observe",
        "create",
    )
    assert (found.verdict, found.rank, found.gantt_host) == ("ranked", 2, "big")
    assert found.differences == {"RAMWeigher": 0.5}
    assert found.hosts == 2  # a host that is unknown is not judged
    assert found.gantt_s > 0


def test_advice_that_refuses_all_hosts_is_compared(two: Gantt) -> None:
    uuid = new()
    request = AdviceRequest(
        spec(uuid, flavor=Flavor(vcpus=99)), (AdviceHost("small"), AdviceHost("big"))
    )
    two.advise(request)
    claim(two, uuid, "big")
    found = settled(two, uuid)
    assert (found.verdict, found.gantt_host) == ("refused_by_gantt", None)
    assert found.refused_by == "allocation candidates"
    assert found.failure == "No valid host was found."


def test_advice_for_no_instance_is_not_observed(two: Gantt) -> None:
    two.advise(AdviceRequest(RequestSpec(SMALL), (AdviceHost("big"),)))
    assert two.counts()["shadow_pending"] == 0


def test_failing_plug_in_is_undetermined(two: Gantt) -> None:
    """What Gantt would have done is not known."""
    uuid = new()
    options = replace(
        two._checks.options,
        available_filters=("tests.engine.test_shadow.Broken",),
        enabled_filters=("Broken",),
    )
    two.retune(EngineOptions(scheduler=options))
    observe(two, uuid)
    claim(two, uuid, "big")
    found = settled(two, uuid)
    assert found.verdict == "undetermined"
    assert "Broken" in found.note


class Broken(Filter):
    """Another package's filter, with a bug."""

    name = "Broken"

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        raise RuntimeError("a bug")


class Slow(Filter):
    """Another package's filter: while it runs, no lock is held."""

    name = "Slow"

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        SEEN.append(LOOK[0]() if LOOK else None)
        return np.ones(len(hosts), np.bool_)


SEEN: list[object] = []
LOOK: list[Callable[[], object]] = []


def test_others_see_the_claim_while_a_plug_in_runs(two: Gantt) -> None:
    SEEN.clear()
    options = replace(
        two._checks.options,
        available_filters=("tests.engine.test_shadow.Slow",),
        enabled_filters=("Slow",),
    )
    two.retune(EngineOptions(scheduler=options))
    report(two, "tight", memory_mb=100_000, vcpus=1)
    uuid, at = new(), now()
    claim(two, uuid, "tight")
    LOOK[:] = [lambda: two.get_allocations(uuid)]
    try:
        observe(two, uuid, at=at)
    finally:
        LOOK.clear()
    assert len(SEEN) == 1
    assert SEEN[0] is not None
    assert settled(two, uuid).gantt_host == "tight"
    assert two.verify().problems == ()


def test_records_wait_while_the_database_is_away(tmp_path: Path) -> None:
    inner = open_store(f"sqlite:///{tmp_path}/gantt.db", StoreOptions(create=True))
    table = Failing(inner.shadows)
    store = Shared(inner, table)
    options = EngineOptions(shadow=replace(QUICK, shadow_backlog=2))
    with Gantt(store, options, standard_names=standard_names()) as engine:
        report(engine, "big")
        table.is_away = True
        uuids = [new() for _ in range(3)]
        for uuid in uuids:
            observe(engine, uuid)
            claim(engine, uuid, "big")
            observe(engine, uuid, "end")
        until(lambda: engine.counts()["shadow_same"] == 3)
        until(lambda: engine.counts()["shadow_dropped"] == 1)
        assert len(engine.shadow_records()) == 2  # its own are found all the same
        table.is_away = False
        until(lambda: engine.counts()["shadow_waiting"] == 0)
        assert {one.instance_uuid for one in engine.shadow_records()} == set(uuids[1:])


class Failing:
    """The table of a database that is away as a test says."""

    def __init__(self, inner: ShadowRows | None) -> None:
        assert inner is not None
        self._inner = inner
        self.is_away = False

    def add(self, rows: Sequence[ShadowRow]) -> int:
        self._check()
        return self._inner.add(rows)

    def find(self, asked: ShadowQuery) -> list[ShadowRow]:
        self._check()
        return self._inner.find(asked)

    def trim(self, keep: int) -> int:
        self._check()
        return self._inner.trim(keep)

    def _check(self) -> None:
        if self.is_away:
            raise StoreFailed("away")


class Shared:
    """A store with another table of records."""

    def __init__(self, inner: Store, shadows: Failing) -> None:
        self._inner, self.shadows = inner, shadows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def test_claim_that_was_rolled_back_is_no_claim(two: Gantt) -> None:
    """A commit that fails after its changes were applied."""
    uuid = new()
    observe(two, uuid)
    replica, state = two._replica, two._replica.state
    with replica.lock:
        before = state.cursor
        provider = state.providers.row_of_name("big")
        assert provider is not None
        at = int(state.providers.id[provider])
        row = AllocationRow(999, at, uuid, state.classes.at(0).id, 1, now(), None)
        change = Change(ALLOCATIONS, 999, None, row)
        replica.assume((change,), Cursor(before.revision + 1, "batch"))
    replica.undo((change,), before)
    claim(two, uuid, "small")
    assert settled(two, uuid).host == "small"
    assert two.verify().problems == ()
