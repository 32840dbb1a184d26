"""One of several processes does the leader tasks, and another one when it is gone."""

from __future__ import annotations

import time

import pytest

from gantt.engine.background.leader_tasks import Leadership
from gantt.engine.gantt import Gantt
from gantt.errors import StoreFailed
from gantt.store import open_store
from gantt.store.interface import LEADER_TASKS, Lead
from tests.engine.conftest import Connect, opened
from tests.engine.test_outcomes import create
from tests.waiting import until


class Steady:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def now(self) -> int:
        raise AssertionError("leadership must not depend on the time of day")

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def leads(books: Gantt) -> bool:
    return bool(books.counts()["leader"])


def test_silent_leader_is_replaced() -> None:
    store, clock, slower = open_store("memory://"), Steady(), Steady()
    one = Leadership(store, "one", 4, clock)
    two = Leadership(store, "two", 4, slower)
    assert one.look()
    assert not two.look()
    slower.seconds += 3.9
    assert not two.look()
    clock.seconds += 1  # says again that it leads
    assert one.look()
    slower.seconds += 3.9
    assert not two.look()
    slower.seconds += 4  # and now has been silent
    assert two.look()
    assert not one.look()
    assert store.leader().holder == "two"


def test_leadership_moves_at_once_after_a_stop() -> None:
    store, clock = open_store("memory://"), Steady()
    one = Leadership(store, "one", 4, clock)
    two = Leadership(store, "two", 4, clock)
    assert one.look()
    one.give_up()
    one.give_up()
    assert store.leader().holder == ""
    assert two.look()
    assert two.is_mine
    assert not one.look()


def test_a_leader_leads_on_where_an_answer_to_it_was_lost() -> None:
    store, clock, slower = open_store("memory://"), Steady(), Steady()
    lead = store.lead
    one = Leadership(store, "one", 4, clock)
    two = Leadership(store, "two", 4, slower)

    def lost(holder: str, seen: Lead) -> None:
        lead(holder, seen)
        raise StoreFailed("no answer")

    for _ in range(2):  # as it begins to lead, and as it says that it goes on
        store.lead = lost  # type: ignore[method-assign, assignment]
        with pytest.raises(StoreFailed):
            one.look()
        store.lead = lead  # type: ignore[method-assign]
        assert one.look() and not two.look()
        clock.seconds += 3.9
        slower.seconds += 3.9
    assert one.look()
    store.lead("two", store.leader())
    assert not one.look()


def test_concurrent_takeover_elects_one_leader() -> None:
    store, clock = open_store("memory://"), Steady()
    one = Leadership(store, "one", 4, clock)
    taken = store.leader()
    assert store.lead("other", taken) == Lead("other", 1)
    assert not one.look()
    assert store.leader() == Lead("other", 1)


def test_exactly_one_engine_leads(url: str, connect: Connect) -> None:
    options = {"sweep_s": 0.01, "leader_silence_s": 0.5}
    engines = [connect(opened(url), **options) for _ in range(3)]
    until(lambda: sum(map(leads, engines)) == 1)
    time.sleep(1)
    assert sum(map(leads, engines)) == 1
    first = next(filter(leads, engines))
    first.close()
    rest = [one for one in engines if one is not first]
    until(lambda: sum(map(leads, rest)) == 1)


def test_leader_tasks_continue_after_the_leader_dies(
    url: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantt.engine.background.leader_tasks._COMPACT_EVERY", 5)
    dead = open_store(url)
    assert dead.lead("a process that was killed", dead.leader())
    books = connect(opened(url), sweep_s=0.01, leader_silence_s=2, log_length=10)
    for number in range(1, 30):
        books.submit(create(number))
    assert not leads(books)
    assert books.counts()["compacted"] == 0
    until(lambda: leads(books) and books.counts()["compacted"] > 0)
    dead.close()


def test_an_outage_is_logged_once(
    url: str, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    store = opened(url)
    asked = []

    def fail(of: int = LEADER_TASKS) -> Lead:
        asked.append(1)
        raise StoreFailed("no answer")

    real, store.leader = store.leader, fail  # type: ignore[method-assign]
    books = connect(store, sweep_s=0.01)
    until(lambda: len(asked) > 3)
    assert caplog.text.count("the leader is unknown: no answer") == 1
    store.leader = real  # type: ignore[method-assign]
    until(lambda: leads(books))


def test_leader_tasks_survive_an_exception(url: str, connect: Connect) -> None:
    store = opened(url)
    asked = []

    def fail(of: int = LEADER_TASKS) -> Lead:
        asked.append(1)
        raise RuntimeError("a bug")

    real, store.leader = store.leader, fail  # type: ignore[method-assign]
    books = connect(store, sweep_s=0.01)
    until(lambda: len(asked) > 3)
    store.leader = real  # type: ignore[method-assign]
    until(lambda: leads(books))
