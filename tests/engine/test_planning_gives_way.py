"""Counting for seconds lets decisions go on, and holds the columns for a second at
most."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gantt.engine.clock import SystemClock
from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Busy, NoValidHost
from gantt.model.demand import Item
from gantt.model.requests import CandidateRequest, Labels, RequestGroup
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from gantt.store.memory_store import MemoryStore
from tests.replay.recorded import add_hosts, uuid

SMALL = RequestSpec(Flavor(1, 64, name="small"))
TOO_LARGE = RequestSpec(Flavor(1_000, 64, name="large"))


class Clock(SystemClock):
    """``then``: what others do while a query rests; each look at the time takes
    ``step_s``."""

    def __init__(self) -> None:
        self.then: Callable[[], None] | None = None
        self.step_s = self.passed_s = 0.0

    def monotonic(self) -> float:
        self.passed_s += self.step_s
        return super().monotonic() + self.passed_s

    def sleep(self, seconds: float) -> None:
        then, self.then = self.then, None  # it may rest, too
        if then is None:
            super().sleep(seconds)
        else:
            then()
            self.then = then


def refused(gantt: Gantt) -> None:
    """The search for what would help."""
    with pytest.raises(NoValidHost, match="VCPU"):
        gantt.schedule(ScheduleRequest(TOO_LARGE, (uuid(2),)))


def opened(clock: Clock) -> Gantt:
    options = EngineOptions(
        search_slice_ms=0,
        usage_sample_s=0,
        heartbeats=False,
        scheduler=SchedulerOptions(use_placement="always"),
    )
    gantt = Gantt(MemoryStore(), options, clock=clock, standard_names=standard_names())
    add_hosts(gantt, "a", "b", "c")
    return gantt


@pytest.mark.parametrize(
    "ask",
    [
        lambda gantt: gantt.fair_split([SMALL, SMALL]),
        lambda gantt: gantt.rule_prices(SMALL),
        lambda gantt: gantt.runs_out([SMALL]),
        lambda gantt: gantt.capacity(TOO_LARGE),
        lambda gantt: gantt.decide(ScheduleRequest(TOO_LARGE)),
        refused,
        lambda gantt: gantt.place(Item("a", cpu=1), Item("b", cpu=1)),
    ],
    ids=["fair", "prices", "runs-out", "capacity", "dry run", "select", "place"],
)
def test_others_decide_meanwhile(ask: Callable[[Gantt], object]) -> None:
    clock, placed = Clock(), list[str]()
    gantt = opened(clock)

    def decide() -> None:
        request = ScheduleRequest(SMALL, (uuid(1),), dry_run=True)
        assert gantt._replica.search.acquire(blocking=False), "decisions wait"
        gantt._replica.search.release()
        placed.append(gantt.decide(request).chosen[0][0].service_host)

    try:
        clock.then = decide
        ask(gantt)
        assert placed
    finally:
        clock.then = None
        gantt.close()


def test_what_cannot_be_kept_from_changes_for_long_is_refused() -> None:
    clock, hosts = Clock(), list[str]()
    gantt = opened(clock)

    def add() -> None:
        hosts.append(f"new-{len(hosts)}")
        add_hosts(gantt, hosts[-1])

    try:
        clock.then, clock.step_s = add, 0.6
        with pytest.raises(Busy, match="fewer flavors"):
            gantt.fair_split([SMALL, SMALL])
        assert len(hosts) == 2
    finally:
        clock.then, clock.step_s = None, 0.0
        gantt.close()


def test_others_write_while_it_is_told_why_nothing_matches() -> None:
    """The explanation of Placement's candidates, of which each part may take as long as
    a search."""
    clock, written = Clock(), list[int]()
    gantt = opened(clock)

    def write() -> None:
        written.append(len(written))
        gantt.create_trait(f"CUSTOM_T{len(written)}")

    traits = Labels(required=(frozenset(("HW_CPU_X86_AVX",)),))
    group = RequestGroup("", {"VCPU": 1, "MEMORY_MB": 64}, traits)
    request = CandidateRequest((group,))
    try:
        quiet = gantt.explain_candidates(request)
        clock.then = write
        found = gantt.explain_candidates(request)
        # Before the terms of a group, before the next step, and before each search.
        assert len(written) >= 4
        assert found == quiet
        assert found.relaxation is not None
    finally:
        clock.then = None
        gantt.close()


def test_a_refusal_is_told_where_others_write_all_the_time() -> None:
    """What would help is then left out."""
    clock, hosts = Clock(), list[str]()
    gantt = opened(clock)

    def add() -> None:
        hosts.append(f"new-{len(hosts)}")
        add_hosts(gantt, hosts[-1])

    try:
        clock.then, clock.step_s = add, 0.6
        found = gantt.decide(ScheduleRequest(TOO_LARGE))
        assert found.failure is not None
        assert found.why is not None
        assert found.why.is_truncated
        assert 0 < len(hosts) <= 4  # begun again twice, then not interrupted any more
    finally:
        clock.then, clock.step_s = None, 0.0
        gantt.close()


def test_what_others_fit_meanwhile_is_not_counted_as_work_of_an_explanation() -> None:
    clock = Clock()
    gantt = opened(clock)
    driver = gantt._scheduling.driver

    def decide() -> None:
        driver.fits += 10_000  # as decisions about cells do

    try:
        clock.then = decide
        found = gantt.decide(ScheduleRequest(TOO_LARGE))
        assert found.why is not None
        assert driver.fits
        assert not found.why.is_truncated
    finally:
        clock.then = None
        gantt.close()


@pytest.mark.parametrize("is_enough", [True, False])
def test_no_change_is_advised_where_none_is_needed_any_more(is_enough: bool) -> None:
    clock = Clock()
    gantt = opened(clock)
    gantt.decide_by(SchedulerOptions(change_budget=60))

    def grow() -> None:
        clock.then = None
        add_hosts(gantt, "new", vcpus=4_000 if is_enough else 400)

    try:
        clock.then = grow
        found = gantt.decide(ScheduleRequest(TOO_LARGE))
        assert found.why is not None
        assert found.why.is_truncated
        assert (found.why.change is None) is is_enough
    finally:
        clock.then = None
        gantt.close()
