"""A long decision lets others at the columns on the way, and is right all the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from gantt.engine.clock import SystemClock
from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import NoValidHost
from gantt.model.hosts import Service
from gantt.model.selection import Why
from gantt.model.spec import Flavor
from gantt.scheduler.options import SchedulerOptions
from gantt.store.memory_store import MemoryStore
from tests.engine.test_scheduling import ask, report

MANY = 20
TINY = Flavor(vcpus=1, memory_mb=64, root_gb=1)


class Slow(SystemClock):
    """Any work takes a second, and others do ``meanwhile`` during a rest."""

    def __init__(self) -> None:
        self.time = 0.0
        self.pace = 0.0
        self.rests = 0
        self.meanwhile: Callable[[int], object] = lambda _rest: None

    def monotonic(self) -> float:
        self.time += self.pace
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        self.rests += 1
        other = threading.Thread(target=self.meanwhile, args=(self.rests,))
        other.start()
        other.join(10)
        assert not other.is_alive(), "the columns are locked"


@pytest.fixture
def clock() -> Slow:
    return Slow()


@pytest.fixture
def books(clock: Slow) -> Iterator[Gantt]:
    options = EngineOptions(scheduler=SchedulerOptions(shared_records=0))
    with Gantt(
        MemoryStore(), options, clock=clock, standard_names=standard_names()
    ) as found:
        report(found, "a", vcpus=MANY)
        report(found, "b", vcpus=MANY)
        yield found


def refused(books: Gantt, count: int, vcpus: int) -> Why:
    with pytest.raises(NoValidHost) as refusal:
        books.schedule(
            ask(count=count, flavor=Flavor(vcpus=vcpus, memory_mb=64, root_gb=1))
        )
    assert isinstance(refusal.value.why, Why)
    return refusal.value.why


def test_short_decisions_never_pause(books: Gantt, clock: Slow) -> None:
    books.schedule(ask(count=3, flavor=TINY))
    refused(books, 2, MANY + 1)
    assert clock.rests == 0


def test_reads_run_during_a_long_decision(books: Gantt, clock: Slow) -> None:
    heard: list[int] = []
    clock.meanwhile = lambda rest: books.read(lambda _: heard.append(rest))
    clock.pace = 1.0
    books.schedule(ask(count=MANY, flavor=TINY))
    assert len(heard) >= MANY - 1
    assert books.counts()["search_rests"] == clock.rests
    heard.clear()
    why = refused(books, MANY, 2)
    assert why.change == "ask for 1 instead of 2 VCPU"
    assert not why.is_truncated
    assert len(heard) >= MANY


def test_hosts_added_during_a_decision_are_seen(books: Gantt, clock: Slow) -> None:
    def write(rest: int) -> None:
        if rest == 1:
            clock.pace = 0.0
            report(books, "c", vcpus=MANY)

    clock.pace, clock.meanwhile = 1.0, write
    found = books.schedule(ask(count=3 * MANY, flavor=TINY))
    assert {one[0].service_host for one in found} == {"a", "b", "c"}


def test_repeatedly_interrupted_decision_ends(books: Gantt, clock: Slow) -> None:
    clock.meanwhile = lambda rest: report(books, f"new{rest}", vcpus=1)
    clock.pace = 1.0
    assert len(books.schedule(ask(count=MANY, flavor=TINY))) == MANY
    assert clock.rests == 2


def test_advice_invalidated_by_other_writes_is_dropped(
    books: Gantt, clock: Slow
) -> None:
    def write(rest: int) -> None:
        # An amount that helps was found by then, and others are tried.
        if rest == 3:
            for host in ("a", "b"):
                books.update_service(Service(host, disabled=True))

    clock.pace, clock.meanwhile = 1.0, write
    why = refused(books, 1, MANY + 1)
    assert clock.rests >= 3
    assert (why.change, why.is_truncated) == (None, True)
