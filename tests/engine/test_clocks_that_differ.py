"""A service whose clock is off: the time at the database is what all go by."""

from __future__ import annotations

import logging

import pytest

from gantt.engine.clock import ASK_EVERY_S
from gantt.model.reports import ReportOutcome
from gantt.store.memory_store import MemoryStore, MemoryTransaction
from tests.engine.test_heartbeats import DOWN_S, SECOND, Fleet, Hand
from tests.engine.test_scheduling import ask

OFF_S = 360


class Timed(MemoryTransaction):
    """Of a database that has a clock."""

    def now(self) -> int:
        assert isinstance(self._store, TimedStore)
        return self._store.now()


class TimedStore(MemoryStore):
    """A database with a clock, on another machine than the service."""

    def __init__(self) -> None:
        super().__init__()
        self.wall, self.ahead_s, self.asked = Hand(), float(OFF_S), 0

    def now(self) -> int:  # type: ignore[override]
        self.asked += 1
        return self.wall.now() + int(self.ahead_s * SECOND)

    def begin(self) -> MemoryTransaction:
        self._head.acquire()
        return Timed(self)


def a_fleet(store: MemoryStore | None = None) -> Fleet:
    """The service's machine is behind those of the hosts, and of a database with a
    clock."""
    wall = store.wall if isinstance(store, TimedStore) else None
    fleet = Fleet(store=store, wall=wall)
    fleet.hosts_ahead_s = OFF_S
    return fleet


def look(fleet: Fleet) -> None:
    fleet.books._clock_watch.look()


def go_on(fleet: Fleet, seconds: int, *hosts: str) -> list[ReportOutcome]:
    """The answers to the reports of the hosts meanwhile."""
    found = []
    for _ in range(seconds // 5):
        fleet.wall.sleep(5)
        found.append(fleet.report(*hosts))
        fleet.beats.write()
        fleet.beats._look()
    return found


def refused(outcome: ReportOutcome) -> str:
    assert (outcome.outcome, outcome.code) == ("refused", "report_time")
    return outcome.message


def test_reports_are_judged_by_the_time_at_the_database() -> None:
    fleet = a_fleet(TimedStore())
    answers = go_on(fleet, 200, "a", "b", "c")
    assert {one.outcome for one in answers} == {"applied"}
    assert fleet.states() == {"a": True, "b": True, "c": True}
    fleet.books.schedule(ask())


def test_the_service_says_that_its_own_clock_is_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fleet = a_fleet(TimedStore())
    caplog.set_level(logging.WARNING)
    look(fleet)
    look(fleet)
    assert fleet.books.notice() == (
        "the clock of this machine is 360 s behind the database's, which the books go "
        "by: correct it"
    )
    assert caplog.text.count("the clock of this machine is 360 s behind") == 1
    assert fleet.books.counts()["clock_ahead_seconds"] == -OFF_S


def test_a_report_that_is_refused_for_its_time_is_a_heartbeat() -> None:
    """On a database without a clock, which has nothing but the service's."""
    fleet = a_fleet()
    fleet.hosts_ahead_s = 0  # until the hosts are known
    go_on(fleet, 200, "a", "b", "c")
    fleet.hosts_ahead_s = OFF_S
    answers = go_on(fleet, 300, "a", "b", "c")
    assert {"future by this machine's clock" in refused(one) for one in answers} == {
        True
    }
    assert {one.beat_s for one in answers} == {DOWN_S / 3}
    assert fleet.states() == {"a": True, "b": True, "c": True}
    fleet.books.schedule(ask())


def test_a_service_to_which_many_hosts_are_in_the_future_says_whose_clock_is_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fleet = a_fleet()
    caplog.set_level(logging.WARNING)
    fleet.report("a")
    look(fleet)
    assert fleet.books.notice() == ""  # of one host it is not known whose is off
    fleet.report("b", "c")
    look(fleet)
    text = (
        "the clocks of 3 of 3 hosts are 360 s ahead of this machine's, which the books "
        "go by, and their reports are refused: correct this machine's clock"
    )
    assert fleet.books.notice() == text
    assert text in caplog.text
    assert fleet.books.counts()["clock_hosts_off"] == 3

    fleet.hosts_ahead_s = 0
    fleet.report("a", "b", "c")
    look(fleet)
    assert fleet.books.notice() == ""


def test_a_few_hosts_in_the_future_say_nothing_of_the_service() -> None:
    fleet = Fleet()
    fleet.report("a", "b", "c")
    fleet.hosts_ahead_s = OFF_S
    refused(fleet.report("d"))
    look(fleet)
    assert fleet.books.notice() == ""


def test_what_hosts_said_minutes_ago_is_forgotten() -> None:
    fleet = a_fleet()
    fleet.report("a", "b")
    for _ in range(2):
        fleet.wall.sleep(60)
        look(fleet)
    assert fleet.books.notice() == ""
    assert fleet.books.counts()["clock_hosts"] == 0


def test_the_clock_of_the_database_may_be_the_one_that_is_off() -> None:
    store = TimedStore()
    fleet = a_fleet(store)
    fleet.hosts_ahead_s = store.ahead_s = 0
    store.ahead_s = -OFF_S
    fleet.wall.sleep(ASK_EVERY_S)
    look(fleet)
    assert "in the future by the database's clock" in refused(fleet.report("a", "b"))
    look(fleet)
    assert "correct the database's clock" in fleet.books.notice()


def test_an_idle_process_asks_the_database_for_the_time_now_and_then() -> None:
    store = TimedStore()
    fleet = a_fleet(store)
    asked = store.asked
    store.ahead_s = 100.0
    for _ in range(20):
        look(fleet)
    assert store.asked == asked
    fleet.wall.sleep(ASK_EVERY_S)
    look(fleet)
    assert store.asked == asked + 1
    now = fleet.books._scheduling.clock.now()
    assert now == fleet.wall.now() + 100 * SECOND


def test_a_replaced_agent_is_no_heartbeat_whatever_its_time() -> None:
    fleet = Fleet()
    fleet.report("a", agent="first")
    fleet.wall.sleep(1)
    fleet.report("a", agent="second")
    heard = fleet.books.counts()["heartbeats_heard"]
    fleet.wall.sleep(1)
    fleet.hosts_ahead_s = OFF_S
    fleet.beats.write()
    assert fleet.report("a", agent="first").outcome == "superseded"
    assert fleet.books.counts()["heartbeats_heard"] == heard
    refused(fleet.report("a", agent="second"))
    assert fleet.books.counts()["heartbeats_heard"] == heard + 1
