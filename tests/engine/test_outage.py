"""An outage is logged when it begins, once a minute while it lasts, and at its end."""

from __future__ import annotations

import pytest

from gantt.engine.background.leader_tasks import Leadership
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.engine.reading.outage import OVER_S, REMIND_S, Kind, Outage
from gantt.engine.threads import SystemThreads
from gantt.errors import StoreFailed
from gantt.model.commands import CreateTrait
from gantt.store import open_store
from gantt.store.outcomes import UnknownOutcome
from tests.engine.conftest import Connect
from tests.engine.faults import FaultyStore
from tests.engine.test_outcomes import create
from tests.waiting import until

AWAY = StoreFailed("canary is away")


class Stopped:
    """A clock that a test turns."""

    at_s = 0.0

    def now(self) -> int:
        return int(self.at_s * 1_000_000)

    def monotonic(self) -> float:
        return self.at_s

    def sleep(self, seconds: float) -> None:
        self.at_s += seconds


@pytest.fixture
def clock() -> Stopped:
    return Stopped()


@pytest.fixture
def outage(clock: Stopped) -> Outage:
    return Outage("the database", clock, SystemThreads())


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [one for one in caplog.records if one.name == "gantt.engine.reading.outage"]
    assert all(one.exc_info is None for one in found)
    caplog.clear()
    return [one.message for one in found]


def test_outage_is_logged_once_a_minute(
    outage: Outage, clock: Stopped, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(1000):
        outage.failed("read", AWAY)
        assert outage.refuses(AWAY)
        clock.sleep(0.01)
    assert len(told(caplog)) == 1
    clock.sleep(REMIND_S)
    outage.failed("read", AWAY)
    assert outage.refuses(AWAY)
    (again,) = told(caplog)
    assert "70 s; 1000 requests" in again
    outage.succeeded("read")
    outage.succeeded("read")
    (end,) = told(caplog)
    assert end == (
        "the database is back after 70.0 s; 1001 requests were refused meanwhile"
    )


def test_refusals_outside_an_outage_are_not_counted(
    outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    assert not outage.refuses(AWAY)
    outage.succeeded("write")
    assert told(caplog) == []


def test_outages_of_reads_and_writes_are_independent(
    outage: Outage, clock: Stopped, caplog: pytest.LogCaptureFixture
) -> None:
    outage.failed("write", AWAY)
    clock.sleep(10)
    outage.failed("read", AWAY)
    assert outage.refuses(AWAY)
    clock.sleep(1)
    outage.failed("write", AWAY)
    outage.succeeded("read")
    first, second, back = told(caplog)
    assert first.startswith("the database takes no writes: ")
    assert second.startswith("the database is away: ")
    assert back == "the database is back after 1.0 s; 1 requests were refused meanwhile"
    outage.succeeded("read")  # as any reader would, the disk still full
    assert told(caplog) == []
    assert outage.is_on()
    assert not outage.is_on("read")
    clock.sleep(4)
    outage.succeeded("write")
    (end,) = told(caplog)
    assert end.startswith("the database takes writes again after 15.0 s; 0 requests")
    assert not outage.is_on()


def test_successful_write_does_not_end_a_read_outage(
    outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    outage.failed("read", AWAY)
    outage.failed("write", AWAY)
    outage.succeeded("write")
    assert outage.is_on("read")
    assert len(told(caplog)) == 1  # writes fail because of the same
    outage.succeeded("read")
    assert len(told(caplog)) == 1


@pytest.mark.parametrize("kind", ["read", "write"])
def test_late_failure_begins_another_outage(
    kind: Kind, outage: Outage, clock: Stopped, caplog: pytest.LogCaptureFixture
) -> None:
    outage.failed(kind, AWAY)
    clock.sleep(3600)  # and nothing is asked that would end it
    assert not outage.is_on()
    assert not outage.refuses(AWAY)
    outage.failed(kind, AWAY)
    first, second = told(caplog)
    assert first == second
    clock.sleep(2)
    outage.succeeded(kind)
    assert "after 2.0 s; 0 requests" in told(caplog)[0]


def test_unobserved_end_has_no_duration(
    outage: Outage, clock: Stopped, caplog: pytest.LogCaptureFixture
) -> None:
    outage.failed("write", AWAY)
    clock.sleep(3)
    outage.failed("write", AWAY)
    assert len(told(caplog)) == 1
    clock.sleep(3600)
    outage.succeeded("write")
    (end,) = told(caplog)
    assert "again (failures over 3.0 s, the last 3600 s ago); 0 requests" in end


def test_old_write_failure_does_not_hide_leader_task_failures(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, store = Stopped(), FaultyStore(open_store("memory://"))
    with Gantt(store, EngineOptions(poll_ms=0, sweep_s=3600), clock=clock) as books:
        store.fail("begin", AWAY)
        with pytest.raises(StoreFailed):
            books.submit(create(1))
        assert books._log_tailer.is_away()
        clock.sleep(OVER_S + 1)
        assert not books._log_tailer.is_away()
        store.fail("cursor", AWAY)  # and one that fails now is met
        assert books._log_tailer.is_away()
    assert len(told(caplog)) >= 2


def test_read_does_not_end_a_full_disk_outage(
    store: FaultyStore, books: Gantt, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        store.fail("commit", UnknownOutcome("no answer", StoreFailed("disk full")))
        with pytest.raises(StoreFailed, match="disk full"):
            books.submit(create(1))
    (begin,) = told(caplog)
    assert begin.startswith("the database takes no writes: disk full")
    books.submit(create(1))
    (end,) = told(caplog)
    assert end.startswith("the database takes writes again after ")


def test_empty_commit_does_not_end_a_write_outage(
    store: FaultyStore, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    books = connect(store, sweep_s=3600)
    books.submit(CreateTrait("CUSTOM_ONE"))
    store.fail("begin", AWAY)
    with pytest.raises(StoreFailed):
        books.submit(create(1))
    assert len(told(caplog)) == 1
    books.submit(CreateTrait("CUSTOM_ONE"))  # is there: it is looked at only
    assert books._log_tailer.outage.is_on("write")
    assert told(caplog) == []


def test_leader_heartbeat_ends_a_write_outage(
    shared: FaultyStore, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    books = connect(shared, sweep_s=0.01, leader_silence_s=0.2)
    shared.fail("begin", AWAY)
    with pytest.raises(StoreFailed):
        books.submit(create(1))
    until(lambda: "the database takes writes again after " in caplog.text)
    assert not books._log_tailer.outage.is_on()


def test_lost_leadership_does_not_end_a_write_outage() -> None:
    store, beats = open_store("memory://"), []
    one = Leadership(store, "one", 4, Stopped(), lambda: beats.append(1))
    seen = store.leader()
    store.leader = lambda of=1: seen  # type: ignore[method-assign]
    assert store.lead("other", seen)
    assert not one.look()
    assert not beats
