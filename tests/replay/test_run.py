"""A replay decides as the engine does, at the times of the trace, and counts."""

from __future__ import annotations

import random

import pytest

from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Invalid, NoValidHost
from gantt.model.answers import Inventory
from gantt.model.spec import ScheduleRequest
from gantt.replay.events import Arrival
from gantt.replay.machines import Machine, empty_stats, uuid_of
from gantt.replay.run import HOUR, Replay, ReplaySettings
from gantt.scheduler.options import SchedulerOptions
from gantt.state.check import problems
from gantt.store import open_store
from tests.replay.fleets import arrival, machines, replayed


def test_what_does_not_fit_is_refused_by_the_resource_that_is_short() -> None:
    replay, decided = replayed(
        machines(2), arrival(0, "a", vcpus=4), arrival(1, "b", vcpus=5)
    )
    assert [bool(one.hosts) for one in decided] == [True, False]
    assert decided[1].reason == "VCPU"
    assert replay.outcome.refused == {"VCPU": 1}
    assert (replay.outcome.arrived, replay.outcome.placed) == (2, 1)


def test_an_instance_that_went_leaves_its_room_to_the_next() -> None:
    fleet = machines(1)
    replay, decided = replayed(
        fleet,
        arrival(0, "a", vcpus=4, until_s=10),
        arrival(9, "b", vcpus=4),
        arrival(10, "c", vcpus=4),
    )
    assert [one.hosts for one in decided] == [("h0",), (), ("h0",)]
    assert replay.outcome.departed == 1


def test_all_of_a_request_are_placed_or_none() -> None:
    _, decided = replayed(
        machines(2), arrival(0, "a", "b", "c", vcpus=4), arrival(1, "d", "e", vcpus=4)
    )
    assert decided[0].hosts == ()
    assert decided[0].reason == "not enough hosts for all instances"
    assert sorted(decided[1].hosts) == ["h0", "h1"]


def test_members_of_a_group_keep_apart_until_one_goes() -> None:
    replay, decided = replayed(
        machines(2),
        arrival(0, "a", group="g", until_s=100),
        arrival(1, "b", group="g"),
        arrival(2, "c", group="g"),
        arrival(200, "d", group="g"),
    )
    hosts = [one.hosts for one in decided]
    assert sorted(hosts[:2]) == [("h0",), ("h1",)]
    assert hosts[2:] == [(), hosts[0]]
    assert decided[2].reason == "ServerGroupAntiAffinityFilter"
    assert replay.outcome.violations == 0


def test_members_placed_against_their_rule_are_counted() -> None:
    """Without the filter, nothing keeps them apart."""
    options = SchedulerOptions(enabled_filters=("ComputeFilter",))
    replay, _ = replayed(
        machines(1),
        arrival(0, "a", group="g"),
        arrival(1, "b", group="g"),
        settings=ReplaySettings(options),
    )
    assert replay.outcome.violations == 1


def test_time_must_not_go_back() -> None:
    with pytest.raises(Invalid, match="sort the trace by time"):
        replayed(machines(1), arrival(5, "a"), arrival(4, "b"))


def test_samples_show_use_and_what_is_stranded() -> None:
    """Per instance 1 VCPU and 4 GiB: of 4 VCPU and 8 GiB, 2 VCPU can never be used."""
    replay, _ = replayed(
        machines(2), arrival(0, "a", memory_mb=4096), arrival(7200, "b")
    )
    first, second = replay.outcome.samples[0], replay.outcome.samples[1]
    assert (first.at, second.at) == (0, HOUR)
    assert first.empty_hosts == 2
    assert second.empty_hosts == 1
    assert second.classes["VCPU"].used == 1
    assert second.classes["VCPU"].capacity == 8
    assert second.classes["VCPU"].stranded == pytest.approx(4.0)
    assert second.classes["MEMORY_MB"].stranded == 0


def test_the_last_departures_are_played_after_the_last_sample() -> None:
    replay, _ = replayed(
        machines(1), arrival(0, "a", until_s=90_000), arrival(60, "b"), arrival(61, "c")
    )
    outcome = replay.outcome
    assert (outcome.placed, outcome.departed) == (3, 1)
    assert outcome.samples[-1].at == 61_000_000, (
        "an empty fleet is no part of the trace"
    )
    state = replay.books.state
    assert state.consumers.find(uuid_of("a")) is None
    assert state.fleet.instances.on("h0").keys() == {uuid_of("b"), uuid_of("c")}


def test_claims_end_with_the_reports_of_hosts() -> None:
    """Else a weigher of instances being built would spread for ever."""
    replay, _ = replayed(machines(1), arrival(0, "a"), arrival(61, "b"))
    fleet = replay.books.state.fleet
    assert uuid_of("a") not in fleet.claims.by_instance
    assert uuid_of("b") in fleet.claims.by_instance
    assert fleet.instances.on("h0").keys() == {uuid_of("a")}


def test_the_columns_keep_every_invariant() -> None:
    dice = random.Random(1)
    events = [
        arrival(
            number * 20,
            f"i{number}",
            vcpus=dice.randint(1, 3),
            memory_mb=dice.choice((512, 4096)),
            until_s=number * 20 + dice.randint(1, 900),
            group=dice.choice((None, "g")),
        )
        for number in range(200)
    ]
    replay, decided = replayed(machines(6), *events)
    assert any(one.hosts for one in decided) and any(not one.hosts for one in decided)
    assert problems(replay.books.state) == []
    assert replay.outcome.departed == replay.outcome.placed
    assert replay.outcome.conflicts == replay.outcome.violations == 0
    assert not list(replay.books.state.rows("allocations"))


def test_the_seed_decides_among_equals_and_repeats() -> None:
    options = SchedulerOptions(host_subset_size=5)

    def hosts(seed: int) -> list[tuple[str, ...]]:
        settings = ReplaySettings(options, seed)
        events = [arrival(number, f"i{number}") for number in range(10)]
        return [
            one.hosts for one in replayed(machines(9), *events, settings=settings)[1]
        ]

    assert hosts(1) == hosts(1)
    assert hosts(1) != hosts(2)


def test_the_same_hosts_are_chosen_as_by_the_engine() -> None:
    """Requests without departures, one after the other, on the same fleet."""
    dice = random.Random(3)
    fleet = tuple(
        Machine(
            f"h{number}",
            {"VCPU": Inventory(16 + number), "MEMORY_MB": Inventory(65536)},
        )
        for number in range(12)
    )
    events = [
        arrival(number, f"i{number}", vcpus=dice.randint(1, 9)) for number in range(60)
    ]
    _, decided = replayed(fleet, *events)
    store = open_store("memory://")
    options = EngineOptions(usage_sample_s=0, heartbeats=False)
    with Gantt(store, options, standard_names=standard_names()) as gantt:
        for machine in fleet:
            root = uuid_of(machine.name)
            gantt.create_provider(machine.name, uuid=root)
            gantt.set_inventories(root, machine.inventories)
            gantt.update_host(machine.name, machine.name, empty_stats(machine))
        theirs = [_schedule(gantt, one) for one in events]
    assert [one.hosts for one in decided] == theirs
    assert () in theirs


def _schedule(gantt: Gantt, one: Arrival) -> tuple[str, ...]:
    request = ScheduleRequest(one.spec, tuple(map(uuid_of, one.names)))
    try:
        return tuple(found[0].service_host for found in gantt.schedule(request))
    except NoValidHost:
        return ()


def test_an_empty_fleet_is_refused() -> None:
    with pytest.raises(Invalid, match="no machine"):
        Replay((), ReplaySettings())
