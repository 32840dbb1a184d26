"""Demands that wait: whether one may be placed is judged in the commit that does so."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gantt.errors import Conflict, Invalid, NotFound, Queued
from gantt.model import commands as c
from gantt.model.demand import Demand, Item
from gantt.model.fleet import DEMAND
from gantt.model.hosts import Service
from gantt.model.request_identity import Booked
from tests.placement.fleet_desk import FleetDesk, claim, on, server, undone

SECOND = 1_000_000


@pytest.fixture
def desk() -> FleetDesk:
    return FleetDesk(2)


def wait(
    desk: FleetDesk, number: int, *, wait_s: float = 60.0, priority: int = 0
) -> str:
    items = (Item(f"i{number}", cpu=1),)
    demand = Demand(items, wait_s=wait_s, priority=priority)
    desk.do(c.AwaitRoom(server(number), demand, "shape", 10))
    return server(number)


def book(number: int, uuid: str = "", *, priority: int = 0) -> c.Book:
    named = Booked(f"i{number}", f"i{number}")
    one = replace(on(number, 1), booked=named)
    return c.Book((claim(f"c{number}", one),), uuid, "shape", priority)


def state_of(desk: FleetDesk, uuid: str) -> str:
    return desk.state.fleet.facts.queue.by_uuid[uuid].entry.state


def test_one_is_placed_in_its_turn_and_once(desk: FleetDesk) -> None:
    first, second = wait(desk, 1), wait(desk, 2)
    with pytest.raises(Queued, match="1 demands that ask for the same"):
        desk.do(book(2, second))
    with pytest.raises(Queued, match="2 demands"):
        desk.do(book(3))
    assert undone(desk, book(1, first))
    desk.do(book(1, first))
    assert (state_of(desk, first), state_of(desk, second)) == ("placed", "waiting")
    with pytest.raises(Conflict, match="waits no more"):
        desk.do(book(4, first))
    desk.do(book(2, second))


def test_a_higher_priority_comes_first(desk: FleetDesk) -> None:
    low, high = wait(desk, 1), wait(desk, 2, priority=1)
    with pytest.raises(Queued):
        desk.do(book(1, low))
    desk.do(book(3, priority=2))
    desk.do(book(2, high, priority=1))
    desk.do(book(1, low))


def test_none_is_placed_at_its_time_or_later_nor_keeps_others_back(
    desk: FleetDesk,
) -> None:
    uuid = wait(desk, 1, wait_s=1.0)
    desk.now += SECOND
    with pytest.raises(Conflict, match="waits no more"):
        desk.do(book(1, uuid))
    desk.do(book(2))
    assert desk.do(c.SweepDemands(60 * SECOND)) == 1
    assert state_of(desk, uuid) == "late"
    desk.now += 60 * SECOND
    assert desk.do(c.SweepDemands(60 * SECOND)) == 1
    assert desk.state.fleet.facts.queue.by_uuid == {}


def test_a_plan_waits_only_where_it_was_not_placed_and_not_after_its_time(
    desk: FleetDesk,
) -> None:
    def join(number: int, plan: str, project: str | None = None) -> str:
        demand = Demand((Item("i", cpu=1),), plan, project, wait_s=1.0)
        uuid: str = desk.do(c.AwaitRoom(server(number), demand, "shape", 10))
        return uuid

    assert join(1, "p") == server(1)
    assert join(2, "p", "") == server(1)
    desk.now += SECOND
    assert join(3, "p") == server(3)
    named = replace(on(4, 1), booked=Booked("i", "i", "red", "q"))
    desk.do(c.Book((claim("c", named),)))
    with pytest.raises(Conflict, match="The plan 'q' was placed before"):
        join(5, "q", "red")
    assert join(5, "q") == server(5)


def test_one_that_was_cancelled_is_not_placed(desk: FleetDesk) -> None:
    uuid = wait(desk, 1)
    desk.do(c.EndDemand(uuid, "cancelled"))
    with pytest.raises(Conflict, match="waits no more"):
        desk.do(book(1, uuid))
    with pytest.raises(Conflict, match="it is cancelled"):
        desk.do(c.EndDemand(uuid, "cancelled"))
    with pytest.raises(NotFound):
        desk.do(c.EndDemand(server(9), "cancelled"))


def test_so_many_are_remembered_that_have_ended(desk: FleetDesk) -> None:
    """A caller that cancels one after the other makes no more rows than that."""
    for number in range(1, 25):
        uuid = server(number)
        demand = Demand((Item("i", cpu=1),), wait_s=60.0)
        desk.do(c.AwaitRoom(uuid, demand, "shape", 2))
        desk.do(c.EndDemand(uuid, "cancelled"))
    known = desk.state.fleet.facts.queue.by_uuid
    assert list(known) == [server(number) for number in range(5, 25)]
    assert undone(desk, c.AwaitRoom(server(25), demand, "shape", 2))


def test_it_is_no_service_that_can_be_told(desk: FleetDesk) -> None:
    uuid = wait(desk, 1)
    with pytest.raises(Invalid, match="is no service"):
        desk.do(c.UpdateService(Service(uuid, DEMAND, disabled_reason="{}")))
    with pytest.raises(Invalid, match="is no service"):
        desk.do(c.DeleteService(uuid, DEMAND))
    assert state_of(desk, uuid) == "waiting"
