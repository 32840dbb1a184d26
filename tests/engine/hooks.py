"""Plug-ins that do what a test tells them, and engines that ask them."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from gantt.engine.clock import SystemClock
from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.engine.threads import SystemThreads
from gantt.errors import PluginFailed
from gantt.model.requests import CandidateRequest, RequestGroup
from gantt.scheduler.contract import Cacheable, Filter, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.state.column import Bools, Floats
from gantt.store.memory_store import MemoryStore
from tests.engine.test_scheduling import ask, report
from tests.waiting import until

MINE = f"{__name__}."
HOSTS = ("a", "b", "c")
DEADLINE_S = 20.0


class Hook:
    """What plug-ins do when they are asked; ``calls`` so far."""

    def __init__(self) -> None:
        self.calls = 0
        self.does: Callable[[Any], object] = lambda _seen: None

    def __call__(self, seen: Any) -> None:
        self.calls += 1
        self.does(seen)


hook = Hook()


class HookedFilter(Filter):
    def mask(self, hosts: Hosts, request: Request) -> Bools:
        hook(hosts)
        return np.ones(len(hosts), np.bool_)


class OtherFilter(HookedFilter):
    """Another one."""


class RamFilter(Filter):
    """Kept by the driver caching."""

    cacheable = Cacheable(
        needs=("free_ram_mb",), reads=("flavor.memory_mb",), elementwise=True
    )

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        mask: Bools = hosts.free_ram_mb >= request.spec.flavor.memory_mb
        hook(hosts)
        return mask


class HookedWeigher(Weigher):
    def score(self, hosts: Hosts, request: Request) -> Floats:
        hook(hosts)
        return np.zeros(len(hosts))


class NovaFilter:
    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        hook(host_state)
        return True


class NovaWeigher:
    def _weigh_object(self, host_state: Any, weight_properties: Any) -> float:
        hook(host_state)
        return 0.0


class NarrowFilter(Filter):
    """Keeps one host by assigning to ``rows``, and answers for that one alone."""

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        hosts.rows = hosts.rows[:1]
        return np.ones(len(hosts), np.bool_)


class NarrowWeigher(Weigher):
    def score(self, hosts: Hosts, request: Request) -> Floats:
        hosts.rows = hosts.rows[:1]
        return np.zeros(len(hosts))


def policy(
    *filters: str, weighers: tuple[str, ...] = (), **more: Any
) -> SchedulerOptions:
    options = SchedulerOptions(
        shared_records=0, use_placement="never", plugin_time_limit_s=DEADLINE_S
    )
    return replace(
        options,
        available_filters=tuple(MINE + one for one in filters),
        enabled_filters=("ComputeFilter", *filters),
        weight_classes=tuple(MINE + one for one in weighers),
        **more,
    )


class Fleet:
    """Engines with ``HOSTS``, closed in the end."""

    def __init__(self) -> None:
        self.engines: list[Gantt] = []

    def __call__(
        self,
        options: SchedulerOptions,
        clock: SystemClock | None = None,
        threads: SystemThreads | None = None,
    ) -> Gantt:
        names = standard_names()
        engine = Gantt(
            MemoryStore(),
            EngineOptions(scheduler=options),
            clock=clock,
            standard_names=names,
            threads=threads,
        )
        self.engines.append(engine)
        for host in HOSTS:
            report(engine, host)
        return engine


class Thread(threading.Thread):
    """Runs ``what``; ``answer`` has what it returned or raised."""

    def __init__(self, what: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._what = what
        self._answer: Any = None
        self.start()

    def run(self) -> None:
        try:
            self._answer = self._what()
        except BaseException as error:
            self._answer = error

    @property
    def answer(self) -> Any:
        self.join(DEADLINE_S)
        assert not self.is_alive(), "blocked"
        return self._answer


class Gate:
    """Blocks plug-ins until it is opened."""

    def __init__(self) -> None:
        self.is_reached, self._opened = threading.Event(), threading.Event()
        hook.does = self._wait

    def _wait(self, _seen: object) -> None:
        self.is_reached.set()
        assert self._opened.wait(DEADLINE_S)

    def open(self) -> None:
        hook.does = lambda _seen: None
        self._opened.set()


def fails(message: str) -> None:
    """From here on what is hooked has a fault."""

    def fail(_seen: object) -> None:
        raise KeyError(message)

    hook.does = fail


def once(does: Callable[[Any], object]) -> None:
    """``does``, in the first call of a plug-in only."""

    def first(seen: Any) -> None:
        hook.does = lambda _seen: None
        does(seen)

    hook.does = first


def others_go_on(engine: Gantt, gate: Gate) -> None:
    """Reads, writes, searches and claims, while a decision waits for a plug-in."""
    blocked = Thread(lambda: engine.schedule(ask()))
    assert gate.is_reached.wait(DEADLINE_S)

    def others() -> int:
        report(engine, "c", vcpus=8)
        groups = (RequestGroup(resources={"VCPU": 1}),)
        engine.find_candidates(CandidateRequest(groups))
        return engine.read(lambda state: state.fleet.hosts.count)

    assert Thread(others).answer == len(HOSTS)
    assert blocked.is_alive()
    gate.open()
    assert blocked.answer[0][0].service_host in HOSTS


def counted_by_itself(engine: Gantt) -> list[int]:
    """What a plug-in that reads the books finds: hosts, at each call from now on. It
    would wait for itself if a lock were held."""
    counts: list[int] = []
    hook.does = lambda _seen: counts.append(
        engine.read(lambda state: state.fleet.hosts.count)
    )
    return counts


def suspended(engine: Gantt, label: str) -> None:
    """A call that blocks fails its request, and those that follow."""
    with pytest.raises(PluginFailed, match=f"{label} did not return within 0.05 s"):
        engine.schedule(ask())
    with pytest.raises(PluginFailed, match=f"{label} is suspended: a call .* has not"):
        engine.schedule(ask())
    assert hook.calls == 1
    counts = engine.counts()
    assert counts["plugin_calls_late"] == counts["plugin_threads_blocked"] == 1
    assert counts["plugins_suspended"] == 1


def resumed(
    engine: Gantt, gate: Gate, label: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Once the call has returned, the plug-in is asked again."""
    with caplog.at_level(logging.WARNING):
        gate.open()
        until(lambda: engine.counts()["plugins_suspended"] == 0)
    assert re.search(f"{label} has returned after", caplog.text)
    assert engine.schedule(ask())
    assert engine.counts()["plugin_threads_blocked"] == 0


def never_stay(engine: Gantt) -> None:
    """At each call a host is gone and another one has come."""
    report(engine, "n0")
    names = iter(range(1_000))

    def replace_host(_seen: object) -> None:
        number = next(names)
        report(engine, f"n{number + 1}")
        engine.delete_host(f"n{number}", f"n{number}")

    hook.does = replace_host


def begins_anew(engine: Gantt) -> None:
    """A decision whose host is gone, and its row another host's."""

    def replace_host(_seen: object) -> None:
        engine.delete_host("a", "a")
        report(engine, "z")  # at the row that was free

    once(replace_host)
    found = engine.decide(ask())
    assert {one.host for one in found.scores} == {"b", "c", "z"}
    assert hook.calls == 2
