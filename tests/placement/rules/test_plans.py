"""The rule for demands in plain words: all of it, once, and released by name."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import AlreadyClaimed, ClaimLost, Conflict, Forbidden, NotFound
from gantt.model import commands as c
from gantt.model.demand import claim_of_plan
from gantt.model.hosts import Instance
from gantt.model.relations import DomainTerm, Relation, RelationKind
from gantt.model.request_identity import Booked
from gantt.model.rows import SOURCE, TARGET
from gantt.placement import named_placements
from tests.placement.fleet_desk import (
    SIZE,
    FleetDesk,
    claim,
    moving,
    on,
    server,
    undone,
    uuid_of,
)
from tests.placement.rules.test_topology_claims import PINNED, desk_of, pinned
from tests.placement.rules.test_topology_ends import MIGRATION

PLAN = claim_of_plan("project", "p")


def part(*instances: c.InstanceClaim, **fields: Any) -> c.Claim:
    """A claim of the plan p, whose instances are called by their uuids."""
    named = [
        replace(one, booked=Booked(one.instance_uuid, "item", "project", "p", "digest"))
        for one in instances
    ]
    return replace(claim(PLAN, *named), **fields)


def hosts(desk: FleetDesk) -> dict[str, int]:
    """Instance -> the host that it is promised."""
    return {row.instance_uuid: row.host_id for row in desk.claims()}


def test_later_claims_see_what_earlier_ones_take() -> None:
    desk = FleetDesk(2)
    big = part(on(1, 1, size={"VCPU": 7}))
    answer = desk.do(c.Book((big, part(on(2, 1, 2)), part(on(3, 1, 2)))))
    assert [one.taken for one in answer] == [(0,), (1,), (1,)]
    assert hosts(desk) == {server(1): 1, server(2): 2, server(3): 2}
    assert {row.claim for row in desk.claims()} == {PLAN}


def test_nothing_is_booked_where_a_part_does_not_fit() -> None:
    desk = FleetDesk(1)
    parts = part(on(1, 1, size={"VCPU": 5})), part(on(2, 1, size={"VCPU": 5}))
    assert "cannot be placed" in desk.refusal(c.Book(parts), ClaimLost)


def test_apart_is_judged_on_the_newest_columns() -> None:
    desk = FleetDesk(2)
    desk.do(claim("other", on(9, 1)))
    away = part(on(1, 1, 2), not_with=frozenset({server(9)}))
    near = part(on(2, 2, 1), not_with=frozenset({server(1)}))
    desk.do(c.Book((away, near)))
    assert hosts(desk) == {server(9): 1, server(1): 2, server(2): 1}
    third = part(on(3, 1, 2), not_with=frozenset({server(1), server(2)}))
    third = replace(
        third, instances=(replace(third.instances[0], booked=Booked("c", "c")),)
    )
    words = desk.refusal(c.Book((replace(third, claim="n"),)), ClaimLost)
    assert "the host has what it must not be with (2" in words


@pytest.mark.parametrize(
    ("kind", "kept", "broken"),
    [("near", 1, 2), ("apart", 2, 1), ("distinct", 2, 1), ("spread", 2, 1)],
)
def test_what_items_are_to_each_other_is_judged_when_all_have_a_place(
    kind: RelationKind, kept: int, broken: int
) -> None:
    def pair(host: int) -> c.Book:
        """The first says what the second, which is booked after it, must be."""
        is_fixed = kind in ("near", "apart")
        others = (server(2),) if is_fixed else (server(1), server(2))
        term = DomainTerm(Relation(kind, "host"), others=others)
        first = part(on(1, 1), domains=(term,))
        return c.Book((first, part(on(2, host))))

    desk = FleetDesk(2)
    words = desk.refusal(pair(broken), ClaimLost)
    assert f"By host {kind} no longer holds in h1" in words
    desk.do(pair(kept))
    assert hosts(desk) == {server(1): 1, server(2): kept}


def test_a_choice_that_relations_shut_is_left_for_the_next() -> None:
    desk = FleetDesk(3)
    desk.do(claim("other", on(9, 1)))
    gone = DomainTerm(Relation("apart", "host"), others=(server(9), server(1)))
    near = DomainTerm(Relation("near", "host"), others=(server(2),))
    first, second = part(on(1, 3)), part(on(2, 1, 3, 2), domains=(gone,))
    desk.do(c.Book((first, second, part(on(3, 1, 3, 2), domains=(near,)))))
    assert hosts(desk) == {server(9): 1, server(1): 3, server(2): 2, server(3): 2}


def test_a_plan_and_a_name_are_booked_once() -> None:
    desk = FleetDesk(2)
    desk.do(c.Book((part(on(1, 1)),)))
    words = desk.refusal(c.Book((part(on(2, 1)),)), Conflict)
    assert words == "The plan 'p' was placed before."
    again = replace(claim("n", on(1, 2)), identity=part(on(1, 2)).identity)
    named = replace(again.instances[0], booked=Booked("web", "web", "project"))
    again = replace(again, instances=(named,))
    words = desk.refusal(c.Book((again,)), AlreadyClaimed)
    assert words.startswith("'web' is placed already on h1 by the plan 'p'.")
    own = c.Book((replace(again, only_project="red"),))
    desk.refusal(own, Forbidden)


def test_a_name_goes_on_with_what_its_host_names() -> None:
    desk = FleetDesk(2)
    desk.do(c.Book((part(on(1, 1), on(2, 2)),)))
    desk.do(c.UpdateInstances("h1", (Instance(server(1), {"a": 1}),)))
    assert desk.claims()[0].instance_uuid == server(2)
    booked = named_placements.called(desk.state, server(1))
    assert booked is not None
    assert (booked.plan, booked.digest) == ("p", "digest")
    assert desk.refusal(c.Book((part(on(3, 1)),)), Conflict)
    both = {server(1), server(2)}
    assert named_placements.of_plan(desk.state, "project", "p") == both
    desk.do(c.SyncInstances("h1", ()))
    assert named_placements.called(desk.state, server(1)) == booked
    desk.do(c.Unbook((server(1), server(2))))
    assert desk.used(1) == desk.used(2) == {}
    assert named_placements.of_plan(desk.state, "project", "p") == set()
    assert list(desk.state.fleet.claims.booked) == []


@pytest.mark.parametrize("is_named", [False, True])
def test_a_name_ends_with_the_last_that_lives_of_it(is_named: bool) -> None:
    desk = FleetDesk(1)
    desk.do(c.Book((part(on(1, 1)),)))
    if is_named:
        desk.do(c.UpdateInstances("h1", (Instance(server(1)),)))
        desk.do(c.DeleteAllocations(server(1)))
        assert named_placements.called(desk.state, server(1)) is not None
        assert undone(desk, c.SyncInstances("h1", ()))
        desk.do(c.SyncInstances("h1", ()))
    else:
        assert undone(desk, c.DeleteAllocations(server(1)))
        desk.do(c.DeleteAllocations(server(1)))
    assert named_placements.called(desk.state, server(1)) is None
    other = replace(on(1, 1), booked=Booked(server(1), "item", "project"))
    desk.do(c.Book((claim("other", other),)))


def test_a_name_stays_with_what_moves_on() -> None:
    """By another program, before a report counts its cells; and by a claim of its
    own."""
    desk = desk_of(2)
    named = part(on(1, 1), wanted=PINNED)
    desk.do(c.Book((named,)))
    away = c.ConsumerAllocations(MIGRATION, {uuid_of(1): SIZE}, "project", "user", None)
    moved = c.ConsumerAllocations(
        server(1), {uuid_of(2): SIZE}, "project", "user", generation=1
    )
    assert undone(desk, c.SetAllocations((away, moved)))
    desk.do(c.SetAllocations((away, moved)))
    (left,) = desk.claims()
    assert (left.role, left.held_by, left.name) == (SOURCE, MIGRATION, "")
    booked = named_placements.called(desk.state, server(1))
    assert booked is not None and booked.role == TARGET
    assert (booked.name, booked.plan, booked.claim) == (server(1), "p", "")
    assert named_placements.of_plan(desk.state, "project", "p") == {server(1)}


def test_a_claim_of_its_own_moves_what_has_a_name() -> None:
    desk = desk_of(2)
    desk.do(c.Book((part(on(1, 1), wanted=PINNED),)))
    desk.do(moving(pinned("move", on(1, 2)), 1))
    assert [(row.role, row.name, row.host_id) for row in desk.claims()] == [
        (SOURCE, "", 1),
        (TARGET, server(1), 2),
    ]
    assert named_placements.of_plan(desk.state, "project", "p") == {server(1)}
    desk.do(c.Unbook((server(1),)))
    assert named_placements.called(desk.state, server(1)) is None


def test_a_plan_is_known_a_day_longer_than_what_it_placed() -> None:
    desk = FleetDesk(1)
    second = 1_000_000
    desk.do(c.Book((part(on(1, 1), on(2, 1)),)))
    sweep = c.ExpireClaims(plan_names_us=50 * second)
    assert desk.changes(sweep) == 0
    desk.do(c.Unbook((server(1),)))
    assert desk.changes(sweep) == 0
    desk.do(c.Unbook((server(2),)))
    assert undone(desk, sweep)
    desk.do(sweep)
    desk.now += 49 * second
    assert desk.changes(sweep) == 0
    assert desk.refusal(c.Book((part(on(3, 1)),)), Conflict)
    desk.now += second
    assert undone(desk, sweep)
    desk.do(sweep)
    desk.do(c.Book((part(on(3, 1)),)))
    assert hosts(desk) == {server(3): 1}


def test_plans_that_are_known_for_a_while_keep_no_others_back() -> None:
    """However many of these a sweep may take at once."""
    desk = FleetDesk(2)
    sweep = c.ExpireClaims(limit=1, plan_names_us=50_000_000)
    for number in (1, 2):
        named = replace(on(number, 1), booked=Booked("n", "n", "project", f"p{number}"))
        desk.do(c.Book((claim(f"c{number}", named),)))
        desk.do(c.Unbook((server(number),)))
    for _ in range(2):
        assert desk.changes(sweep) == 1
        desk.do(sweep)
    assert desk.changes(sweep) == 0
    table = desk.state.fleet.claims
    assert list(table.due_plans(desk.now)) == []
    desk.now += 50_000_000
    assert list(table.due_plans(desk.now)) == table.ended_plans()
    for _ in range(2):
        desk.do(sweep)
    assert table.ended_plans() == []


def test_all_that_is_named_is_released_or_nothing() -> None:
    desk = FleetDesk(2)
    desk.do(c.Book((part(on(1, 1), on(2, 2)),)))
    desk.refusal(c.Unbook((server(1), server(3))), NotFound)
    taken = c.ConsumerAllocations(
        server(2), {uuid_of(2): {"VCPU": 1}}, "project", "user"
    )
    desk.do(c.SetAllocations((taken,)))
    desk.refusal(c.Unbook((server(1), server(2))), Conflict)
    desk.do(c.Unbook((server(1),)))
    assert hosts(desk) == {server(2): 2}


@pytest.mark.parametrize("count", [1, 3])
def test_what_a_demand_changes_is_undone_by_the_inverse(count: int) -> None:
    desk = FleetDesk(2)
    parts = [part(on(number, 1, 2)) for number in range(count)]
    assert undone(desk, c.Book(tuple(parts)))
