"""A clock that is set back or ahead: stamps never fall, and leases go by the clock."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.engine.clock import BooksClock, SystemClock
from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import ClaimExpired
from gantt.model.changes import Cursor
from gantt.store import open_store
from tests.engine.conftest import Connect, opened
from tests.engine.faults import FaultyStore, ScriptedClock
from tests.engine.test_leader_tasks import Steady
from tests.engine.test_outcomes import create, names
from tests.engine.test_scheduling import ask, held, report
from tests.kinds import ON_SQLITE
from tests.waiting import until

NOON_US = 1_700_000_000_000_000
HOUR_US = 3_600_000_000


class Fixed(Steady):
    """Its time of day stands still, and must not be used."""

    def now(self) -> int:
        return 0


class Wall(SystemClock):
    """A clock on the wall that a test sets; it stands still in between."""

    def __init__(self) -> None:
        self.time_us = NOON_US

    def now(self) -> int:
        return self.time_us


def stamps(store: Any) -> list[int]:
    entries = store.tail(Cursor())
    assert entries is not None
    return [entry.at for entry in entries]


@ON_SQLITE
def test_timestamps_do_not_go_back_after_a_restart(url: str, connect: Connect) -> None:
    before = connect(opened(url), clock=ScriptedClock(1000))
    before.submit(create(1))
    before.close()
    # Opening reads it once.
    after = connect(opened(url), clock=ScriptedClock(50, 50, 60, 2000))
    for number in (2, 3, 4):
        after.submit(create(number))
    assert stamps(after._store) == [1000, 1000, 1000, 2000]
    assert [one.modified_at for one in after.list_providers()] == stamps(after._store)


@ON_SQLITE
def test_timestamps_follow_those_read_from_the_log(
    shared: FaultyStore, url: str, connect: Connect
) -> None:
    slow = connect(opened(url), clock=ScriptedClock(50))
    fast = connect(shared, clock=ScriptedClock(100))
    fast.submit(create(1))
    assert names(slow) == ["node-1"]
    slow.submit(create(2))
    assert stamps(shared) == [100, 100]


@ON_SQLITE
def test_stamps_never_fall_after_a_reload(
    shared: FaultyStore, url: str, connect: Connect
) -> None:
    slow = connect(opened(url), clock=ScriptedClock(50))
    fast = connect(shared, clock=ScriptedClock(100))
    for number in range(3):
        fast.submit(create(number))
    shared.inner.compact(1)
    slow.submit(create(9))
    assert slow.counts()["reloads"] == 1
    assert shared.inner.stamp() == 100


def test_empty_log_has_no_timestamp(store: FaultyStore, books: Gantt) -> None:
    assert store.inner.stamp() == 0
    books.submit(create(1))
    assert store.inner.stamp() > 0


@pytest.fixture
def wall() -> Wall:
    return Wall()


def engine_at(wall: Wall) -> Gantt:
    """Books in memory, where the standard names are known."""
    names, options = standard_names(), EngineOptions(sweep_s=0.02)
    return Gantt(open_store("memory://"), options, standard_names=names, clock=wall)


def test_lease_ends_in_time_though_the_clock_was_set_back(wall: Wall) -> None:
    with engine_at(wall) as engine:
        report(engine, "a")
        wall.time_us -= HOUR_US
        ((chosen, *_),) = engine.schedule(ask(lease_s=10))
        wall.time_us += 10_900_000  # lease_skew_s is a second
        assert engine.expire_claims() == 0
        wall.time_us += 200_000
        until(lambda: held(engine) == {"a": 0})  # swept by itself
        assert chosen.claim is not None
        with pytest.raises(ClaimExpired):
            engine.confirm_claim(chosen.claim)
        assert engine._store.stamp() == NOON_US


def test_lease_survives_the_configured_clock_skew(wall: Wall) -> None:
    with engine_at(wall) as engine:
        report(engine, "a")
        ((chosen, *_),) = engine.schedule(ask(lease_s=10))
        wall.time_us += 10_999_999  # ten seconds, and a clock that is one ahead
        assert engine.expire_claims() == 0
        assert chosen.claim is not None
        engine.confirm_claim(chosen.claim)
        assert held(engine) == {"a": 1}


def test_database_time_advances_with_the_monotonic_clock() -> None:
    steady = Fixed()
    time = BooksClock(steady)
    time.learn(NOON_US)
    assert time.now() == NOON_US
    steady.seconds += 1.5
    assert time.now() == NOON_US + 1_500_000
    time.learn(NOON_US - HOUR_US)
    assert time.now() == NOON_US - HOUR_US


def test_process_clock_is_used_without_a_database_clock(wall: Wall) -> None:
    time = BooksClock(wall)
    assert time.now() == NOON_US
    wall.time_us += 1
    assert time.now() == NOON_US + 1
