"""Advice through the whole engine: in time, whatever fails, and what it holds."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import GanttError, StoreFailed
from gantt.model.advice import Advice, AdviceHost, AdviceRequest
from gantt.model.commands import ConsumerAllocations
from gantt.model.fleet import FleetStatement, HostReport
from gantt.model.hosts import HostStats
from gantt.model.requests import CandidateRequest, RequestGroup
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.observe.metrics import Meters
from gantt.scheduler import sent_hosts
from gantt.scheduler.contract import Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import AdviceOptions, SchedulerOptions
from gantt.state.column import Bools
from gantt.store.memory_store import MemoryStore
from tests.engine.conftest import Connect
from tests.engine.conftest import opened as opened_store
from tests.engine.faults import FaultyStore, ScriptedClock
from tests.engine.test_scheduling import SMALL, report
from tests.waiting import until

A, B, C = (f"0000000{n}-aaaa-4000-8000-000000000000" for n in (1, 2, 3))
SPEC = RequestSpec(flavor=SMALL, project_id="p", user_id="u")
DEADLINE_S = 20.0


class Clock(ScriptedClock):
    """The monotonic clock stands still until a test moves it."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 100.0

    def now(self) -> int:
        return 1_700_000_000_000_000 + int(self.seconds * 1_000_000)

    def monotonic(self) -> float:
        return self.seconds


def opened(clock: Clock | None = None, store: Any = None, **options: Any) -> Gantt:
    """``options`` of advice; of the scheduler under ``scheduler``."""
    scheduler = options.pop("scheduler", SchedulerOptions())
    return Gantt(
        store or MemoryStore(),
        EngineOptions(advice=AdviceOptions(**options), scheduler=scheduler),
        clock=clock,
        standard_names=standard_names(),
        rng=random.Random(1),
    )


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock) -> Iterator[Gantt]:
    with opened(clock) as found:
        for host in ("a", "b", "c"):
            report(found, host)
        yield found


def asked(instance: str | None, *names: str, **more: Any) -> AdviceRequest:
    hosts = tuple(AdviceHost(name, name) for name in names or ("a", "b", "c"))
    spec = more.pop("spec", SPEC)
    return AdviceRequest(spec, hosts, instance_uuid=instance, **more)


def names(advice: Advice) -> list[str]:
    return [one.host for one in advice.hosts]


def first(engine: Gantt, instance: str | None, **more: Any) -> str:
    advice = engine.advise(asked(instance, **more))
    assert advice.decided, advice.why
    return advice.hosts[0].host


# -- what it answers ---------------------------------------------------------------


def test_stage_filter_keeps_the_callers_order_and_weighs_nothing(
    engine: Gantt,
) -> None:
    report(engine, "roomy", memory_mb=65536)
    report(engine, "tiny", memory_mb=128)
    found = engine.advise(asked(A, "c", "tiny", "roomy", "a", stage="filter"))
    assert names(found) == ["c", "roomy", "a", "tiny"]
    assert [one.weight for one in found.hosts] == [None] * 4
    assert found.hosts[-1].refused_by == "free resources"
    assert first(engine, B) == "a"  # nothing is held


def test_mode_observe_keeps_the_callers_order_and_holds_nothing(
    engine: Gantt,
) -> None:
    report(engine, "roomy", memory_mb=65536)
    request = asked(A, "c", "elsewhere", "roomy", "a", mode="observe")
    found = engine.advise(request)
    assert names(found) == ["c", "elsewhere", "roomy", "a"]
    weights = [one.weight for one in found.hosts]
    assert weights[1] is None
    assert weights[2] == max(one for one in weights if one is not None)
    assert engine.counts()["advice_holds_made"] == 0


def test_advice_is_recorded_under_its_request(engine: Gantt) -> None:
    found = engine.advise(asked(A, "b", "c", request_id="req-1"))
    assert found.decision == "req-1"
    (record,) = engine.decisions(request_id="req-1")
    assert record.instance_uuids == (A,)
    assert record.is_dry_run
    assert record.hosts == 2
    assert [one.service_host for (one,) in record.chosen] == [found.hosts[0].host]
    assert {score.host for score in record.scores} == {"b", "c"}


def test_rebuild_judges_without_amounts(engine: Gantt) -> None:
    report(engine, "tiny", memory_mb=128)
    found = engine.advise(asked(A, "tiny", operation="rebuild"))
    assert found.hosts[0].refused_by is None
    assert engine.counts()["advice_holds_made"] == 0


def test_multi_create_has_one_advice_per_instance(engine: Gantt) -> None:
    spec = replace(SPEC, num_instances=3)
    found = {first(engine, uuid, spec=spec) for uuid in (A, B, C)}
    assert found == {"a", "b", "c"}


# -- what fails ---------------------------------------------------------------------


class Hook:
    """What ``HookedFilter`` does when it is asked."""

    def __init__(self) -> None:
        self.does: Callable[[], object] = lambda: None


hook = Hook()


class HookedFilter(Filter):
    def mask(self, hosts: Hosts, request: Request) -> Bools:
        hook.does()
        return np.ones(len(hosts), np.bool_)


HOOKED = SchedulerOptions(
    enabled_filters=("HookedFilter",),
    available_filters=(f"{__name__}.HookedFilter",),
    weight_classes=(),
)


def outcomes(engine: Gantt) -> Callable[[], dict[str, float]]:
    meters = Meters(engine.counts)
    engine.observe(meters)

    def read() -> dict[str, float]:
        text = meters.exposition().decode()
        lines = [
            line for line in text.splitlines() if line.startswith("gantt_advice_total{")
        ]
        return {line.split('"')[1]: float(line.rpartition(" ")[2]) for line in lines}

    return read


def test_late_advice_is_the_callers_order_and_holds_nothing() -> None:
    go_on = threading.Event()
    with opened(scheduler=HOOKED, advice_deadline_s=0.05) as engine:
        for host in ("a", "b"):
            report(engine, host)
        count = outcomes(engine)
        hook.does = lambda: go_on.wait(DEADLINE_S)
        found = engine.advise(asked(A, "b", "a"))
        assert (names(found), found.decided, found.why) == (
            ["b", "a"],
            False,
            "deadline",
        )
        go_on.set()
        hook.does = lambda: None
        until(lambda: not engine.counts()["advice_threads_busy"])
        assert engine.counts()["advice_holds_made"] == 0
        assert count() == {"deadline": 1.0}


def test_caller_waits_for_an_occupied_thread_until_its_deadline() -> None:
    go_on = threading.Event()
    # The last question is to be decided within it, on a busy machine too.
    with opened(scheduler=HOOKED, advice_deadline_s=0.5, advice_threads=1) as engine:
        report(engine, "a")
        hook.does = lambda: go_on.wait(DEADLINE_S)
        assert engine.advise(asked(A, "a")).why == "deadline"
        assert engine.counts()["advice_threads_busy"] == 1
        assert engine.advise(asked(B, "a")).why == "deadline"
        assert engine.counts()["advice_waiting"] == 0  # it has left
        go_on.set()
        hook.does = lambda: None
        until(lambda: not engine.counts()["advice_threads_busy"])
        assert engine.advise(asked(B, "a")).decided


def test_full_queue_gives_the_callers_order_at_once() -> None:
    go_on = threading.Event()
    options: dict[str, Any] = {"advice_threads": 1, "advice_waiting": 1}
    options["advice_deadline_s"] = DEADLINE_S
    with (
        opened(scheduler=HOOKED, **options) as engine,
        ThreadPoolExecutor(2) as pool,
    ):
        report(engine, "a")
        count = outcomes(engine)
        hook.does = lambda: go_on.wait(DEADLINE_S)
        occupying = pool.submit(engine.advise, asked(A, "a"))
        waiting = pool.submit(engine.advise, asked(B, "a"))
        until(lambda: bool(engine.counts()["advice_waiting"]))
        assert engine.advise(asked(C, "a")).why == "busy"
        go_on.set()
        assert occupying.result().decided
        assert waiting.result().decided
        hook.does = lambda: None
        assert count() == {"busy": 1.0, "decided": 2.0}


def _raise(error: BaseException) -> None:
    raise error


def test_failing_plugin_gives_the_callers_order() -> None:
    with opened(scheduler=HOOKED) as engine:
        report(engine, "a")
        count = outcomes(engine)
        hook.does = lambda: _raise(ZeroDivisionError("bug"))
        try:
            found = engine.advise(asked(A, "x", "a"))
        finally:
            hook.does = lambda: None
        assert (names(found), found.decided) == (["x", "a"], False)
        assert found.why == "plug-in failed"
        assert count() == {"plug-in failed": 1.0}


def test_defect_gives_the_callers_order_and_is_logged(
    engine: Gantt, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    count = outcomes(engine)
    defect = ZeroDivisionError("a defect")
    monkeypatch.setattr(sent_hosts, "rank", lambda *_, **__: _raise(defect))
    found = engine.advise(asked(A, "c", "a", request_id="req-3"))
    assert (names(found), found.why) == (["c", "a"], "error")
    assert count() == {"error": 1.0}
    (line,) = (one for one in caplog.records if "req-3" in one.getMessage())
    assert line.levelname == "ERROR"
    assert line.exc_info


def test_too_many_hosts_give_the_callers_order() -> None:
    with opened(advice_hosts=2) as engine:
        found = engine.advise(asked(A, "x", "y", "z"))
        assert (names(found), found.why) == (["x", "y", "z"], "invalid request")


def test_request_without_a_valid_host_gives_the_callers_order(engine: Gantt) -> None:
    spec = replace(SPEC, force_hosts=("nowhere",))
    found = engine.advise(asked(A, spec=spec, request_id="req-2"))
    assert (found.decided, found.why) == (False, "no valid host")
    (record,) = engine.decisions(request_id="req-2")
    assert "nowhere" in (record.failure or "")


def test_advice_stands_while_the_database_is_away(clock: Clock) -> None:
    store = FaultyStore(MemoryStore())
    with opened(clock, store) as engine:
        for host in ("a", "b"):
            report(engine, host)
        report(engine, "roomy", memory_mb=65536)
        away = StoreFailed("away")
        for point in ("begin", "cursor", "log", "load"):
            store.always[point] = lambda *_: _raise(away)
        with pytest.raises(StoreFailed):
            engine.create_provider("p")
        found = engine.advise(asked(A, "a", "roomy", "b"))
        assert found.decided
        assert names(found)[0] == "roomy"
        assert first(engine, B) == "a"
        store.always.clear()


def test_no_host_is_to_be_dropped_while_the_database_is_away(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FaultyStore(MemoryStore())
    with opened(clock, store) as engine:
        report(engine, "tiny", memory_mb=128)
        request = asked(A, "tiny", mode="decide")

        def refusal() -> str | None:
            advice = engine.advise(request)
            assert advice.decided
            return advice.hosts[0].refused_by

        assert refusal() == "free resources"
        monkeypatch.setattr(store, "cursor_at_once", lambda: None, raising=False)
        assert refusal() == "free resources"  # as read a moment ago
        clock.seconds += 1.1
        assert refusal() is None
        store.always["cursor"] = lambda *_: _raise(StoreFailed("away"))
        with pytest.raises(StoreFailed):
            engine.list_hosts()
        assert refusal() is None
        store.always.clear()
        engine.list_hosts()
        assert refusal() == "free resources"


# -- what is held -------------------------------------------------------------------


def test_burst_is_not_advised_to_one_host(engine: Gantt) -> None:
    instances = [f"{number:08x}-aaaa-4000-8000-000000000000" for number in range(6)]
    found = [first(engine, uuid) for uuid in instances]
    assert sorted(found) == ["a", "a", "b", "b", "c", "c"]
    counts = engine.counts()
    assert (counts["advice_holds"], counts["advice_holds_made"]) == (6, 6)


def test_burst_at_once_is_not_advised_to_one_host() -> None:
    """More requests than threads, and each host has room for its share alone."""
    with (
        opened(advice_threads=2, advice_deadline_s=DEADLINE_S) as engine,
        ThreadPoolExecutor(40) as pool,
    ):
        hosts = tuple("abcde")
        for host in hosts:
            report(engine, host, vcpus=8)
        start = threading.Barrier(40)

        def ask(number: int) -> Advice:
            start.wait(DEADLINE_S)
            uuid = f"{number:08x}-aaaa-4000-8000-000000000000"
            return engine.advise(asked(uuid, *hosts))

        found = list(pool.map(ask, range(40)))
        assert [advice.why for advice in found] == [""] * 40
        assert Counter(names(one)[0] for one in found) == dict.fromkeys(hosts, 8)


def test_own_hold_does_not_lower_ones_own_host(engine: Gantt) -> None:
    assert [first(engine, A) for _ in range(3)] == ["a", "a", "a"]
    assert engine.counts()["advice_holds"] == 1
    assert first(engine, B) == "b"


def test_hold_ends_with_its_time(engine: Gantt, clock: Clock) -> None:
    assert first(engine, A) == "a"
    assert first(engine, B) == "b"
    clock.seconds += 10.1
    assert first(engine, C) == "a"
    assert engine.counts()["advice_holds_expired"] == 2


def provider(engine: Gantt, host: str) -> str:
    (view,) = engine.list_hosts(host=host)
    assert view.provider_uuid is not None
    return view.provider_uuid


def claim(engine: Gantt, instance: str, host: str) -> None:
    amounts = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}
    engine.set_allocations(
        [
            ConsumerAllocations(
                instance, {provider(engine, host): amounts}, "p", "u", None
            )
        ]
    )


def test_hold_ends_with_the_claim_of_its_consumer(engine: Gantt) -> None:
    assert first(engine, A) == "a"
    claim(engine, A, "c")  # the caller chose another
    assert first(engine, B) == "a"
    counts = engine.counts()
    assert (counts["advice_holds_claimed"], counts["advice_holds"]) == (1, 1)


def test_hold_of_a_move_ends_with_the_claim_of_its_consumer(engine: Gantt) -> None:
    """The instance has allocations already, as in an evacuation."""
    claim(engine, A, "c")
    host = first(engine, A)
    assert engine.counts()["advice_holds"] == 1
    view = engine.get_allocations(A)
    assert view is not None
    both = {provider(engine, name): {"VCPU": 1} for name in (host, "c")}
    engine.set_allocations([ConsumerAllocations(A, both, "p", "u", view.generation)])
    first(engine, B)
    assert engine.counts()["advice_holds_claimed"] == 1


def test_hold_ends_with_a_claim_that_another_process_wrote(
    url: str, connect: Connect, clock: Clock
) -> None:
    one, other = connect(opened_store(url), clock=clock), connect(opened_store(url))
    one.submit(standard_names())
    for host in ("a", "b"):
        report(one, host)
    assert first(one, A) == "a"
    assert first(one, B) == "b"
    claim(other, A, "b")
    claim(other, B, "b")
    one.list_hosts()  # reads the log
    assert one.counts()["advice_holds"] == 2
    assert first(one, C) == "a"
    assert one.counts()["advice_holds_claimed"] == 2


def test_decisions_for_others_avoid_held_hosts(engine: Gantt) -> None:
    assert first(engine, A) == "a"
    ((mine, *_),) = engine.schedule(ScheduleRequest(SPEC, (B,)))
    assert mine.service_host == "b"
    ((own, *_),) = engine.schedule(ScheduleRequest(SPEC, (A,)))
    assert own.service_host == "a"


def test_hold_is_never_a_refusal(clock: Clock) -> None:
    with opened(clock) as engine:
        report(engine, "a", vcpus=1)
        assert first(engine, A) == "a"
        ((mine, *_),) = engine.schedule(ScheduleRequest(SPEC, (B,)))
        assert mine.service_host == "a"


def test_oldest_hold_gives_way(clock: Clock) -> None:
    with opened(clock, advice_holds=1) as engine:
        for host in ("a", "b", "c"):
            report(engine, host)
        assert [first(engine, uuid) for uuid in (A, B, C)] == ["a", "b", "a"]
        counts = engine.counts()
        assert (counts["advice_holds"], counts["advice_holds_displaced"]) == (1, 2)


def test_holds_can_be_switched_off(clock: Clock) -> None:
    with opened(clock, advice_hold_s=0.0) as engine:
        for host in ("a", "b"):
            report(engine, host)
        assert {first(engine, uuid) for uuid in (A, B)} == {"a"}


# -- and what is not -----------------------------------------------------------------


def seen(engine: Gantt) -> object:
    """All that Placement's API, and capacity, answer."""
    flavor = replace(SMALL, vcpus=2)
    groups = (RequestGroup(resources={"VCPU": 1, "MEMORY_MB": 1024}),)
    providers = engine.list_providers()
    return (
        engine.find_candidates(CandidateRequest(groups)),
        [engine.get_usages(one.uuid) for one in providers],
        [engine.get_inventories(one.uuid) for one in providers],
        [engine.get_provider_allocations(one.uuid) for one in providers],
        engine.capacity(RequestSpec(flavor=flavor)),
        engine.totals(),
    )


@pytest.mark.parametrize("seed", range(6))
def test_holds_are_in_no_answer_and_no_claim_check(seed: int) -> None:
    """Two engines carry out the same writes; one also gives advice, and holds."""
    rng = random.Random(seed)
    clocks = Clock(), Clock()
    with opened(clocks[0]) as plain, opened(clocks[1]) as holding:
        for number in range(4):
            vcpus, memory = rng.choice((1, 2, 4)), rng.choice((2048, 8192))
            for engine in (plain, holding):
                report(engine, f"h{number}", vcpus=vcpus, memory_mb=memory)
        refused = 0
        for number in range(30):
            uuid = f"{number:08x}-bbbb-4000-8000-000000000000"
            flavor = Flavor(vcpus=rng.choice((1, 2)), memory_mb=1024, root_gb=1)
            spec = replace(SPEC, flavor=flavor)
            hosts = [f"h{each}" for each in rng.sample(range(4), 4)]
            if rng.random() < 0.6:
                holding.advise(asked(rng.choice((uuid, A)), *hosts, spec=spec))
            for clock in clocks:
                clock.seconds += 1.0
            amounts = {"VCPU": flavor.vcpus, "MEMORY_MB": 1024, "DISK_GB": 1}
            place = provider(plain, hosts[0]), provider(holding, hosts[0])
            results = []
            for engine, where in zip((plain, holding), place, strict=True):
                wanted = ConsumerAllocations(uuid, {where: amounts}, "p", "u", None)
                try:
                    engine.set_allocations([wanted])
                    results.append("")
                except GanttError as error:
                    results.append(str(error).replace(where, "it"))
            assert results[0] == results[1]
            refused += bool(results[0])
            assert _plain(plain) == _plain(holding)
        assert refused
        assert holding.counts()["advice_holds_made"] > 2


def _plain(engine: Gantt) -> str:
    """``seen`` with hosts by name: uuids differ between engines."""
    text = repr(seen(engine))
    for view in engine.list_hosts():
        text = text.replace(view.provider_uuid or "-", view.host)
    return text


def test_advice_goes_by_what_nova_placed_since_the_last_reports() -> None:
    """Where Gantt is Placement. Nothing is held here, and no host reports again: hosts
    of one size take turns."""
    with opened(advice_hold_s=0) as engine:
        for host in ("a", "b", "c"):
            report(engine, host)
            stats = HostStats(running_vms=0)
            told = HostReport(host, host, stats, saved_at=1_000_000)
            engine.set_fleet(FleetStatement(hosts=(told,)))
        chosen = []
        for number in range(9):
            uuid = f"0000000{number}-bbbb-4000-8000-000000000000"
            host = first(engine, uuid)
            (known,) = engine.list_hosts(host=host)
            shares = {
                str(known.provider_uuid): {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
            }
            engine.set_allocations([ConsumerAllocations(uuid, shares, "p", "u", None)])
            chosen.append(host)
        assert Counter(chosen) == {"a": 3, "b": 3, "c": 3}
        assert all(len(set(chosen[at : at + 3])) == 3 for at in (0, 3, 6))
