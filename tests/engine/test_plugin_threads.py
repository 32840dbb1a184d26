"""Plug-ins run with no lock held, with a time limit, in a bounded set of threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from gantt.engine.clock import SystemClock
from gantt.engine.threads import SystemThreads
from gantt.engine.threads import Thread as AnyThread
from gantt.errors import Busy, PluginFailed
from gantt.model.spec import Flavor
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from tests.engine.hooks import (
    HOSTS,
    Fleet,
    Gate,
    Thread,
    begins_anew,
    counted_by_itself,
    fails,
    hook,
    never_stay,
    once,
    others_go_on,
    policy,
    resumed,
    suspended,
)
from tests.engine.test_scheduling import ask, report
from tests.waiting import until

ALL = [
    policy("HookedFilter"),
    policy("RamFilter"),
    policy("NovaFilter"),
    policy(weighers=("HookedWeigher",)),
    policy(weighers=("NovaWeigher",)),
]
IDS = ["filter", "cacheable filter", "Nova filter", "weigher", "Nova weigher"]


@pytest.mark.parametrize("options", ALL, ids=IDS)
@pytest.mark.parametrize("driver", ["filter", "caching"])
def test_reads_writes_and_searches_go_on_while_a_plugin_blocks(
    options: SchedulerOptions, driver: str, open_fleet: Fleet
) -> None:
    engine = open_fleet(replace(options, driver=driver))
    others_go_on(engine, Gate())


def test_a_plugin_may_read_the_books_itself(open_fleet: Fleet) -> None:
    """Also when limits are asked for."""
    engine = open_fleet(policy("NovaFilter", weighers=("HookedWeigher",)))
    counts = counted_by_itself(engine)
    engine.schedule(ask(count=2))
    engine.decide(ask())
    engine.capacity(ask().spec)
    assert set(counts) == {len(HOSTS)}


@pytest.mark.parametrize("options", ALL, ids=IDS)
def test_a_call_that_blocks_fails_its_request_and_suspends_the_plugin(
    options: SchedulerOptions, open_fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    engine = open_fleet(replace(options, plugin_time_limit_s=0.05))
    name = (options.enabled_filters + options.weight_classes)[-1].rpartition(".")[2]
    gate = Gate()
    suspended(engine, name)
    resumed(engine, gate, name, caplog)


class FewThreads(SystemThreads):
    """Starts no thread for plug-ins while ``is_out``."""

    is_out = True

    def start(self, run: Callable[[], None], name: str) -> AnyThread:
        if self.is_out and name == "gantt-plugin":
            raise RuntimeError("can't start new thread")
        return super().start(run, name)


def test_a_thread_that_cannot_be_started_fails_its_request_alone(
    open_fleet: Fleet,
) -> None:
    threads = FewThreads()
    options = policy("HookedFilter", plugin_time_limit_s=1.0)
    engine = open_fleet(options, threads=threads)
    for _ in range(2):
        with pytest.raises(PluginFailed, match="HookedFilter was not called: no thr"):
            engine.schedule(ask())
    threads.is_out = False
    assert engine.schedule(ask())
    assert engine.counts()["plugins_suspended"] == 0


def test_a_retune_makes_a_suspended_plugin_anew(open_fleet: Fleet) -> None:
    options = policy("HookedFilter", plugin_time_limit_s=0.05, plugin_threads=2)
    engine = open_fleet(options)
    gate = Gate()
    for max_attempts in (4, 5):
        with pytest.raises(PluginFailed, match="did not return"):
            engine.schedule(ask())
        options = replace(options, max_attempts=max_attempts)
        engine.decide_by(options)
    assert engine.counts()["plugin_threads_blocked"] == 2
    with pytest.raises(PluginFailed, match=r"all 2 threads .*plugin_threads of"):
        engine.schedule(ask())
    gate.open()
    until(lambda: engine.counts()["plugin_threads_blocked"] == 0)
    assert engine.schedule(ask())


def test_forced_hosts_need_no_plugin_that_is_suspended(open_fleet: Fleet) -> None:
    engine = open_fleet(policy("HookedFilter", plugin_time_limit_s=0.05))
    gate = Gate()
    with pytest.raises(PluginFailed):
        engine.schedule(ask())
    assert engine.schedule(ask(force_hosts=("b",)))[0][0].service_host == "b"
    gate.open()


class Paced(SystemClock):
    """Time passes only by ``time``."""

    time = 0.0

    def monotonic(self) -> float:
        return self.time


@pytest.mark.parametrize(
    "options",
    [policy("NovaFilter"), policy(weighers=("NovaWeigher",))],
    ids=["filter", "weigher"],
)
def test_time_is_checked_between_hosts(
    options: SchedulerOptions, open_fleet: Fleet
) -> None:
    clock = Paced()
    engine = open_fleet(replace(options, plugin_time_limit_s=15.0), clock)

    def dawdle(_seen: object) -> None:
        clock.time += 10.0

    hook.does = dawdle
    with pytest.raises(PluginFailed, match="did not return within 15 s"):
        engine.schedule(ask())
    assert hook.calls == 2
    hook.does = lambda _seen: None
    assert engine.schedule(ask())


def test_a_host_for_which_a_filter_of_novas_fails_is_refused(
    open_fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    engine = open_fleet(policy("NovaFilter"))

    def fail(seen: Any) -> None:
        if seen.host != "b":
            raise KeyError("no such rack")

    hook.does = fail
    found = engine.decide(ask())
    assert [one.host for one in found.scores] == ["b"]
    (step,) = (one for one in found.steps if one.name == "NovaFilter")
    assert (step.before, step.after) == (3, 1)
    assert "NovaFilter refuses 2 of 3 hosts" in caplog.text


def test_a_filter_that_fails_for_every_host_fails_the_request(
    open_fleet: Fleet,
) -> None:
    engine = open_fleet(policy("NovaFilter"))
    fails("no such rack")
    with pytest.raises(PluginFailed, match="NovaFilter failed for host a .*KeyError"):
        engine.schedule(ask())


@pytest.mark.parametrize("weigher", ["HookedWeigher", "NovaWeigher"])
def test_a_weigher_that_fails_fails_the_request(
    weigher: str, open_fleet: Fleet
) -> None:
    engine = open_fleet(policy(weighers=(weigher,)))
    fails("no such meter")
    with pytest.raises(PluginFailed, match=f"{weigher} failed .*KeyError"):
        engine.schedule(ask())


@pytest.mark.parametrize("driver", ["filter", "caching"])
@pytest.mark.parametrize(
    "options",
    [policy("NarrowFilter"), policy(weighers=("NarrowWeigher",))],
    ids=["filter", "weigher"],
)
def test_a_plugin_that_assigns_other_rows_is_judged_by_the_hosts_it_was_asked_about(
    options: SchedulerOptions, driver: str, open_fleet: Fleet
) -> None:
    engine = open_fleet(replace(options, driver=driver))
    with pytest.raises(PluginFailed, match=r"Narrow\w+ gave \w+\[1\] as its"):
        engine.schedule(ask())


# -- what changes meanwhile ------------------------------------------------------------


@pytest.mark.parametrize("options", [policy("HookedFilter"), policy("NovaFilter")])
def test_a_decision_goes_on_after_writes(
    options: SchedulerOptions, open_fleet: Fleet
) -> None:
    engine = open_fleet(options)

    def write(_seen: object) -> None:
        report(engine, "b", vcpus=64)
        report(engine, "new")

    once(write)
    found = engine.decide(ask())
    # The host that came is left to the next decision, and nothing is asked twice.
    assert {one.host for one in found.scores} == set(HOSTS)
    assert hook.calls == (1 if "HookedFilter" in options.enabled_filters else 6)


@pytest.mark.parametrize("driver", ["filter", "caching"])
def test_a_decision_begins_anew_when_a_host_is_gone(
    driver: str, open_fleet: Fleet
) -> None:
    engine = open_fleet(policy("HookedFilter", driver=driver))
    begins_anew(engine)


def test_hosts_that_never_stay_end_a_decision(open_fleet: Fleet) -> None:
    engine = open_fleet(policy("HookedFilter"))
    never_stay(engine)
    with pytest.raises(Busy, match="removed or moved 11 times"):
        engine.decide(ask())


def test_what_is_kept_knows_of_hosts_that_changed_meanwhile(open_fleet: Fleet) -> None:
    engine = open_fleet(policy("RamFilter", driver="caching"))
    for number in range(10):
        report(engine, f"h{number}", memory_mb=1024)
    request = ask(flavor=Flavor(vcpus=1, memory_mb=4096, root_gb=1))
    assert {one.host for one in engine.decide(request).scores} == set(HOSTS)
    report(engine, "a", memory_mb=1024)
    once(lambda _seen: report(engine, "b", memory_mb=1024))
    engine.decide(request)
    assert {one.host for one in engine.decide(request).scores} == {"c"}
    assert engine.counts()["shape_hits"] == 2


def test_what_a_plugin_reads_is_a_copy(open_fleet: Fleet) -> None:
    engine = open_fleet(policy("HookedFilter"))
    read: list[Any] = []

    def look(hosts: Hosts) -> None:
        def all_of_it() -> tuple[object, ...]:
            fleet = hosts.fleet
            codes, values = hosts.reported("hypervisor_hostname")
            return (
                fleet.hosts.free_ram_mb.tolist(),
                [dict(one) for one in fleet.hosts.stats],
                [values[code] for code in codes.tolist()],
                sorted(fleet.claims.by_instance),
                sorted(fleet.instances.by_uuid),
                [fleet.hosts.row_of(host, host) for host in hosts.names],
                hosts.instances_on(0),
            )

        read.append(all_of_it())
        report(engine, "a", memory_mb=1024)
        hook.does = lambda _seen: None
        read.append(all_of_it())

    engine.schedule(ask())
    hook.does = look
    engine.schedule(ask())
    before, after = read
    assert before == after
    assert len(before[3]) == 1


def test_a_copy_cannot_be_written_to(open_fleet: Fleet) -> None:
    engine = open_fleet(policy("HookedFilter"))

    def write(hosts: Hosts) -> None:
        hosts.fleet.hosts.free_ram_mb[:] = 0

    hook.does = write
    with pytest.raises(PluginFailed, match="ValueError: .*read-only"):
        engine.schedule(ask())


def test_plugins_are_asked_for_one_decision_at_a_time(open_fleet: Fleet) -> None:
    engine = open_fleet(policy("HookedFilter", "OtherFilter", "NovaFilter"))
    inside = threading.Lock()

    def alone(_seen: object) -> None:
        assert inside.acquire(blocking=False), "asked twice at once"
        time.sleep(0.001)
        inside.release()

    hook.does = alone
    deciding = [Thread(lambda: engine.schedule(ask(count=2))) for _ in range(6)]
    assert all(len(one.answer) == 2 for one in deciding)


def test_an_engine_closes_while_a_plugin_blocks(open_fleet: Fleet) -> None:
    engine = open_fleet(policy("HookedFilter", plugin_time_limit_s=0.05))
    gate = Gate()
    with pytest.raises(PluginFailed):
        engine.schedule(ask())
    assert Thread(engine.close).answer is None
    gate.open()
