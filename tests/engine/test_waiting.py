"""``wait``: what finds no room waits for it in the books, and the leader places it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import gantt
from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.engine.scheduling_cycle import Run
from gantt.errors import (
    Busy,
    ClaimLost,
    Conflict,
    Invalid,
    NotFound,
    NoValidHost,
    PluginFailed,
)
from gantt.model.demand import Demand, Item
from gantt.model.demand_queue import DemandsQuery, DemandView, seconds_of
from gantt.model.hosts import Instance
from gantt.model.placements import PlacedQuery, Plan
from gantt.model.protocol import GanttProtocol
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import StoreOptions
from tests import inprocess
from tests.engine.test_place import report

BIG = Item("big", cpu=4)
OPTIONS = EngineOptions(
    sweep_s=0.02,
    scheduler=SchedulerOptions(max_waiting=4),
    store=StoreOptions(create=True),
)


@pytest.fixture
def engine() -> Iterator[Gantt]:
    """One host of 4 CPUs, which are taken by "first"."""
    with open_gantt("memory://", OPTIONS) as found:
        full(found)
        yield found


def full(books: GanttProtocol) -> None:
    report(books, "h1")
    books.place(Item("first", cpu=4))


def waits(books: GanttProtocol, *items: Item, **terms: Any) -> str:
    """The uuid of a demand that waits, whose caller does not."""
    terms = {"wait_s": 60.0, **terms}
    plan = books.place_demand(Demand(items, **terms))
    assert plan.placements == ()
    assert plan.demand
    return plan.demand


def ended(books: GanttProtocol, uuid: str) -> DemandView:
    found = books.show_demand(uuid, wait_s=20)
    assert found.state != "waiting"
    return found


def in_thread(call: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    return thread, found


def host_of(plan: Plan) -> str:
    return plan.placements[0].host


def test_it_is_placed_once_there_is_room(engine: Gantt) -> None:
    thread, found = in_thread(lambda: engine.place(BIG, wait="1m", lease_s=60))
    while not engine.list_demands():
        pass
    (view,) = engine.list_demands()
    assert (view.state, view.place, view.things) == ("waiting", 1, ("big",))
    engine.release_placement("first")
    thread.join(20)
    assert host_of(found[0]) == "h1"
    assert found[0].leased_until is not None
    (view,) = engine.list_demands()
    assert (view.state, view.place, view.placed) == ("placed", 0, found[0])
    assert [one.name for one in engine.list_placements()] == ["big"]


def test_with_room_nothing_waits(engine: Gantt) -> None:
    report(engine, "h2")
    assert host_of(engine.place(BIG, wait="1m")) == "h2"
    assert engine.list_demands() == ()


def test_room_of_a_new_host_lets_it_in(engine: Gantt) -> None:
    uuid = waits(engine, BIG)
    report(engine, "h2")
    placed = ended(engine, uuid).placed
    assert placed is not None
    assert host_of(placed) == "h2"


def test_a_dry_run_does_not_wait(engine: Gantt) -> None:
    with pytest.raises(NoValidHost):
        engine.place_demand(Demand((BIG,), dry_run=True, wait_s=60.0))
    assert engine.list_demands() == ()
    report(engine, "h2")
    plan = engine.place_demand(Demand((BIG,), dry_run=True, wait_s=60.0))
    assert (host_of(plan), plan.claim) == ("h2", None)


def test_what_ended_since_is_told_and_not_what_has_its_name_now(engine: Gantt) -> None:
    uuid = waits(engine, BIG)
    report(engine, "h2")
    ended(engine, uuid)
    engine.release_placement("big")
    for _ in range(2):
        placed = engine.show_demand(uuid).placed
        assert placed is not None
        assert (placed.placements, placed.ended) == ((), ("big",))
        if not engine.list_placements(PlacedQuery("big")):
            engine.place(BIG)


def test_its_time_ends(engine: Gantt) -> None:
    with pytest.raises(NoValidHost) as refusal:
        engine.place(BIG, wait=0.2)
    assert "There was no room for 'big' within 0.2 s." in str(refusal.value)
    engine.release_placement("first")
    assert engine.list_placements() == ()
    (view,) = engine.list_demands(DemandsQuery("late"))
    assert view.said


def test_it_is_cancelled(engine: Gantt) -> None:
    uuid = waits(engine, BIG)
    thread, found = in_thread(lambda: engine.show_demand(uuid, wait_s=20))
    engine.cancel_demand(uuid)
    thread.join(20)
    assert found[0].state == "cancelled"
    engine.release_placement("first")
    report(engine, "h2")
    assert engine.list_placements() == ()
    with pytest.raises(NoValidHost, match="cancelled while it waited"):
        engine.await_plan(Plan((), demand=uuid))
    with pytest.raises(Conflict, match="waits no more: it is cancelled"):
        engine.cancel_demand(uuid)
    with pytest.raises(NotFound, match="gantt demand list"):
        engine.show_demand("00000000-0000-4000-8000-000000000000")


def test_the_highest_priority_and_the_oldest_come_first(engine: Gantt) -> None:
    old = waits(engine, Item("old", cpu=4))
    young = waits(engine, Item("young", cpu=4))
    high = waits(engine, Item("high", cpu=4), priority=5)
    listed = [one.things[0] for one in engine.list_demands()]
    assert listed == ["high", "old", "young"]
    assert engine.show_demand(young).said == ("2 come before it.",)
    for uuid, name in ((high, "high"), (old, "old"), (young, "young")):
        (placed,) = engine.list_placements()
        engine.release_placement(placed.name)
        assert ended(engine, uuid).state == "placed"
        assert [one.name for one in engine.list_placements()] == [name]


def test_new_ones_of_its_shape_come_after_it_and_others_do_not(engine: Gantt) -> None:
    """A leader that is slow: there is room before it looks."""
    slow = EngineOptions(sweep_s=60.0, store=StoreOptions(create=True))
    with open_gantt("memory://", slow) as books:
        full(books)
        uuid = waits(books, BIG)
        books.release_placement("first")
        with pytest.raises(NoValidHost, match="1 demands that ask for the same wait"):
            books.place(Item("late", cpu=4))
        assert waits(books, Item("later", cpu=4)) != uuid
        # One of a higher priority, and one of another shape, go first.
        assert books.place(Item("small", cpu=1)).placements
        books.release_placement("small")
        assert books.place(Item("high", cpu=4), priority=1).placements


def test_why_it_waits_is_told(engine: Gantt) -> None:
    told = engine.show_demand(waits(engine, BIG), explain=True).said
    assert told[0].startswith("Of 1 host, 1 without enough free")
    assert len(told) > 1


def test_one_that_is_lost_before_it_is_told_waits_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer, lost = Run.answer, [ClaimLost("a host is gone")]

    def answered(self: Run, *args: Any) -> Any:
        if lost:
            raise lost.pop()
        return answer(self, *args)

    with open_gantt("memory://", replace(OPTIONS, sweep_s=600.0)) as books:
        full(books)
        uuid = waits(books, BIG, plan="p")
        report(books, "h2")
        monkeypatch.setattr(Run, "answer", answered)
        assert books._waiting.run() == 1
        placed = ended(books, uuid).placed
        assert placed is not None
        assert (lost, host_of(placed)) == ([], "h2")
        assert books.verify().problems == ()


def test_one_that_cannot_be_placed_any_more_ends(engine: Gantt) -> None:
    uuid = waits(engine, BIG)
    report(engine, "h2", vcpus=2)
    engine.place(Item("big", cpu=1))
    engine.release_placement("first")
    found = ended(engine, uuid)
    assert found.state == "refused"
    with pytest.raises(Conflict, match="'big' is placed already"):
        engine.await_plan(Plan((), demand=uuid))


@pytest.mark.parametrize(
    "failure", [PluginFailed("filter racks: timed out", "filter racks"), KeyError("a")]
)
def test_one_waits_on_where_what_decides_fails(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail(*_: object) -> None:
        raise failure

    with open_gantt("memory://", replace(OPTIONS, sweep_s=600.0)) as books:
        full(books)
        uuid = waits(books, BIG)
        report(books, "h2")
        with monkeypatch.context() as failing:
            failing.setattr(books._waiting._placing, "place_waiting", fail)
            assert books._waiting.run() == 0
        assert books.show_demand(uuid).state == "waiting"
        assert books._waiting.run() == 1
        assert books.show_demand(uuid).state == "placed"


def test_the_leader_does_not_wait_for_demands_for_many_things() -> None:
    """Nor do those behind one of these."""
    with open_gantt("memory://", replace(OPTIONS, sweep_s=600.0)) as books:
        full(books)
        many = waits(books, Item("many", count=65, cpu=1))
        small = waits(books, BIG)
        report(books, "h2", vcpus=100, memory_mb=2**20)
        with books._placing._turn:
            assert books._waiting.run() == 1
        states = [books.show_demand(uuid).state for uuid in (many, small)]
        assert states == ["waiting", "placed"]
        assert books._waiting.run() == 1


def test_a_plan_waits_once(engine: Gantt) -> None:
    uuid = waits(engine, BIG, plan="p")
    assert waits(engine, BIG, plan="p") == uuid
    with pytest.raises(Conflict, match="Another demand waits under the plan 'p'"):
        engine.place(Item("other", cpu=4), plan="p", wait="1m")
    engine.release_placement("first")
    placed = ended(engine, uuid).placed
    assert engine.place(BIG, plan="p", wait="1m") == placed


def test_so_many_may_wait(engine: Gantt) -> None:
    for number in range(4):
        waits(engine, Item(f"w{number}", cpu=4))
    with pytest.raises(Busy, match="4 demands wait already, which is the limit"):
        engine.place(BIG, wait="1m")
    assert engine.counts()["demands_waiting"] == 4


def test_novas_calls_are_not_held_back(engine: Gantt) -> None:
    from tests.engine.test_relations import ask

    slow = EngineOptions(sweep_s=60.0, store=StoreOptions(create=True))
    with open_gantt("memory://", slow) as books:
        full(books)
        waits(books, Item("w", cpu=1, memory=1024, disk=1))
        books.release_placement("first")
        assert books.schedule(ask())


def test_another_process_hears_and_cancels(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/gantt.db"
    with open_gantt(url, OPTIONS) as one, open_gantt(url, OPTIONS) as two:
        full(one)
        uuid = waits(two, BIG)
        thread, found = in_thread(lambda: two.show_demand(uuid, wait_s=20))
        one.release_placement("first")
        thread.join(20)
        assert found[0].state == "placed"
        again = waits(one, Item("again", cpu=4))
        two.cancel_demand(again)
        assert one.show_demand(again).state == "cancelled"


def test_it_outlives_its_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/gantt.db"
    with open_gantt(url, OPTIONS) as books:
        full(books)
        uuid = waits(books, BIG)
    with open_gantt(url, OPTIONS) as books:
        books.update_instances("h1", [Instance("11111111-1111-4111-8111-111111111111")])
        books.release_placement("first")
        assert ended(books, uuid).state == "placed"


def test_it_waits_over_http(tmp_path: Path) -> None:
    with inprocess.service(tmp_path) as url, gantt.connect(url) as books:
        full(books)
        uuid = waits(books, BIG)
        assert books.show_demand(uuid, explain=True).said
        assert books.list_demands()[0].uuid == uuid
        thread, found = in_thread(lambda: books.place(Item("b", cpu=4), wait="1m"))
        books.release_placement("first")
        assert ended(books, uuid).state == "placed"
        books.release_placement("big")
        thread.join(20)
        assert host_of(found[0]) == "h1"
        books.cancel_demand(waits(books, Item("c", cpu=4)))


@pytest.mark.parametrize(
    ("given", "expected"), [(90, 90), ("90s", 90), ("1.5m", 90), ("2h", 7200)]
)
def test_durations(given: float | str, expected: float) -> None:
    assert seconds_of(given) == expected


@pytest.mark.parametrize("bad", ["soon", "10x", "-1m", "", "8d", 0])
def test_what_is_no_duration_is_refused(engine: Gantt, bad: float | str) -> None:
    with pytest.raises(Invalid):
        engine.place(BIG, wait=bad)
