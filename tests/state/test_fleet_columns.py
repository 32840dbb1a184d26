"""The tables of the fleet hold together, in whatever order their rows come and go."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gantt.model import rows as t
from gantt.model.changes import Change, Cursor
from gantt.model.facts import as_fact
from gantt.model.rows import (
    FleetRow,
    HostRow,
    InstanceRow,
    ProviderRow,
)
from gantt.state import check
from gantt.state.fleet_columns import ChangedHosts, Fleet
from gantt.state.host_table import USE, HostColumns
from gantt.state.state import State
from tests.examples import examples
from tests.state.books import aggregate, claim, fact, filled, group, service

UNIQUE = {
    t.HOSTS: ("host", "node"),
    t.SERVICES: ("host", "binary"),
    t.FACTS: ("kind", "subject"),
    t.HOST_AGGREGATES: ("uuid",),
    t.INSTANCES: ("uuid",),
    t.SERVER_GROUPS: ("uuid",),
    t.BOOKINGS: ("instance_uuid",),
}
TABLE_OF = {t.ROW_TYPES[table]: table for table in t.FLEET}


def put(state: State, *new: FleetRow) -> None:
    for row in new:
        table = TABLE_OF[type(row)]
        change = Change(table, row.id, state.get(table, row.id), row)
        state.apply([change], Cursor(state.revision + 1))


def drop(state: State, table: str, key: int) -> None:
    change = Change(table, key, state.get(table, key), None)
    state.apply([change], Cursor(state.revision + 1))


def host(number: int, name: str = "", uuid: str | None = None) -> HostRow:
    text = json.dumps({"vcpus": 8, "stats": {"num_instances": number}})
    return HostRow(number, name or f"h{number}", f"n{number}", uuid, text, 1, None)


def sound(state: State) -> Fleet:
    assert check.problems(state) == []
    return state.fleet


# What is said of a host before it is there.


def test_a_host_that_enters_finds_all_that_is_said_of_it() -> None:
    state = State()
    put(
        state,
        service(1, "h1", disabled=True, last_seen_up=7, cell_uuid="cell"),
        aggregate(1, "h1"),
        claim(1, "i1", 1),
        claim(2, "i2", 1, vcpus=3),
        host(1),
    )
    fleet = sound(state)
    assert fleet.hosts.has_service[0]
    assert fleet.hosts.is_disabled[0]
    assert (fleet.hosts.last_seen_up[0], fleet.hosts.cells[0]) == (7, "cell")
    assert fleet.hosts.aggregates.labels_of(0) == [
        fleet.aggregates.index["aggregate-1"]
    ]
    assert (fleet.hosts.claimed_vcpus[0], fleet.hosts.claimed_instances[0]) == (5, 2)


def test_a_host_that_left_and_came_back() -> None:
    state = filled()
    before = state.fleet.hosts.get(1)
    assert before is not None
    drop(state, t.BOOKINGS, 1)
    drop(state, t.HOSTS, 1)
    fleet = sound(state)
    assert fleet.hosts.row_of("h1", "n1") is None
    put(state, replace(before, id=9))
    fleet = sound(state)
    row = fleet.hosts.row_of("h1", "n1")
    assert row is not None
    assert (fleet.hosts.claimed_vcpus[row], fleet.hosts.vcpus_used[row]) == (0, 4)
    assert fleet.hosts.has_service[row]


def test_the_provider_of_a_host_may_come_after_it_and_go_before() -> None:
    state = State()
    put(state, host(1, uuid="p"))
    hosts = sound(state).hosts
    assert hosts.provider[0] == -1
    before = hosts.touched[0]
    provider = ProviderRow(5, "p", "name", 0, 5, None, None, None)
    state.apply([Change(t.PROVIDERS, 5, None, provider)], Cursor(9))
    assert sound(state).hosts.provider[0] == state.providers.row_of("p") == 0
    assert hosts.touched[0] > before
    before = hosts.touched[0]
    state.apply([Change(t.PROVIDERS, 5, provider, None)], Cursor(10))
    assert sound(state).hosts.provider[0] == -1
    assert hosts.touched[0] > before


# Services.


def test_a_service_is_that_of_all_nodes_of_its_host() -> None:
    state = State()
    put(state, host(1, "h"), host(2, "h"), host(3), service(1, "h", forced_down=True))
    put(state, service(2, "h3", "nova-conductor", disabled=True))
    hosts = sound(state).hosts
    assert hosts.rows_of("h") == [0, 1]
    assert hosts.is_forced_down[:3].tolist() == [True, True, False]
    assert hosts.has_service[:3].tolist() == [True, True, False]
    drop(state, t.SERVICES, 1)
    assert not sound(state).hosts.has_service[:3].any()
    assert not hosts.is_forced_down[:3].any()


def test_the_oldest_compute_is_known() -> None:
    state = State()
    put(state, service(1, "a", version=66), service(2, "b", version=60))
    put(state, service(3, "c", "nova-conductor", version=1))
    assert sound(state).services.oldest_compute == 60
    put(state, service(2, "b", version=67))
    assert sound(state).services.oldest_compute == 66
    put(state, service(4, "d"))
    assert sound(state).services.oldest_compute == 0
    for key in (1, 2, 4):
        drop(state, t.SERVICES, key)
    assert sound(state).services.oldest_compute is None


# Facts.


def test_an_agent_and_an_operator_say_whether_a_host_is_in_service() -> None:
    state = State()
    put(state, host(1, "h"), host(2, "h"), host(3))
    put(state, fact(1, "agent", "h", away=True), fact(2, "operator", "h3"))
    hosts = sound(state).hosts
    assert hosts.is_forced_down[:3].tolist() == [True, True, False]
    assert not hosts.is_disabled[:3].any()
    put(state, fact(2, "operator", "h3", disabled=True), fact(1, "agent", "h"))
    assert not sound(state).hosts.is_forced_down[:3].any()
    assert hosts.is_disabled[:3].tolist() == [False, False, True]
    drop(state, t.FACTS, 2)
    assert not sound(state).hosts.is_disabled[:3].any()


def test_what_is_kept_of_requests_ends_with_a_cell_that_is_disabled() -> None:
    state = State()
    put(state, fact(1, "cell", "c"))
    before = state.fleet.context_touched
    put(state, fact(1, "cell", "c", disabled=True))
    assert sound(state).facts.disabled_cells == {"c"}
    assert state.fleet.context_touched > before
    drop(state, t.FACTS, 1)
    assert sound(state).facts.disabled_cells == frozenset()


def test_a_fact_is_told_as_a_service_and_no_service_has_its_place() -> None:
    state = State()
    put(state, fact(1, "agent", "h", away=True, at=7), service(2, "h", "gantt-x"))
    told = state.fleet.told("h", "gantt-agent")
    assert told is not None
    assert (told.id, told.forced_down, told.last_seen_up) == (1, True, 7)
    assert as_fact(told) == state.fleet.facts.of("agent", "h")
    assert state.fleet.told("h", "gantt-x") == service(2, "h", "gantt-x")
    assert state.fleet.told("h", "gantt-operator") is None
    assert as_fact(service(3, "h", "gantt-scheduler")) is None
    assert as_fact(service(3, "", "gantt-scheduler")) == fact(3, "switch", "")


# Aggregates.


def test_hosts_join_and_leave_an_aggregate() -> None:
    state = State()
    put(state, host(1), host(2), aggregate(1, "h1"), aggregate(2, "h1", "h2"))
    fleet = sound(state)
    assert fleet.aggregates.of_host("h1") == ("aggregate-1", "aggregate-2")
    put(state, aggregate(1, "h2", metadata='{"ssd": "true"}'))
    fleet = sound(state)
    assert fleet.aggregates.of_host("h1") == ("aggregate-2",)
    assert fleet.aggregates.having("ssd") == {0: "true"}
    drop(state, t.HOST_AGGREGATES, 1)
    fleet = sound(state)
    assert fleet.hosts.aggregates.labels_of(1) == [1]
    # The column that is free is the next one given.
    put(state, aggregate(3, "h1"))
    assert sound(state).aggregates.index == {"aggregate-2": 1, "aggregate-3": 0}


def test_the_number_of_an_aggregate_may_pass_to_another() -> None:
    state = State()
    put(state, aggregate(1), aggregate(2))
    put(state, aggregate(1, number=None), aggregate(2, number=1))
    table = sound(state).aggregates
    assert {number: row.uuid for number, row in table.by_number.items()} == {
        1: "aggregate-2"
    }
    put(state, aggregate(3, number=1))
    drop(state, t.HOST_AGGREGATES, 2)
    assert sound(state).aggregates.by_number[1].uuid == "aggregate-3"


# Instances, groups, claims.


def test_an_instance_moves_from_host_to_host() -> None:
    state = filled()
    put(state, InstanceRow(1, "alice", "h2", '{"flavorid": "1"}', 1, 2))
    fleet = sound(state)
    assert (dict(fleet.instances.on("h1")), fleet.hosts_of("alice")) == ({}, {"h2"})
    assert list(fleet.instances.hosts()) == ["h2"]
    drop(state, t.INSTANCES, 1)
    fleet = sound(state)
    assert (fleet.hosts_of("alice"), list(fleet.instances.hosts())) == (set(), [])


def test_a_claim_says_where_an_instance_is_before_its_host_does() -> None:
    state = filled()
    fleet = state.fleet
    assert fleet.hosts_of("bob") == {"h1"}
    put(state, claim(2, "alice", 2))
    assert sound(state).hosts_of("alice") == {"h1", "h2"}
    # She moves, and so counts on both: she may stay where she is after all.
    assert fleet.members_on(("alice", "bob", "nobody")) == {"h2": 1, "h1": 2}


def test_a_confirmed_claim_has_no_lease_and_takes_as_much() -> None:
    state = filled()
    table = state.fleet.claims
    assert table.expired(98, 9) == []
    assert table.expired(99, 9) == ["claim"]
    put(state, claim(2, "carol", 2, claim="other", leased_until=5))
    assert table.expired(99, 9) == ["other", "claim"]
    assert table.expired(99, 1) == ["other"]
    put(state, claim(1, "bob", 1, group_uuid="group-1"))
    assert sound(state).claims.leased == {2: 5}
    assert state.fleet.hosts.claimed_vcpus[0] == 2
    assert table.of_group("group-1") == {"bob"}
    assert [row.id for row in table.of("claim")] == [1]
    drop(state, t.BOOKINGS, 1)
    assert sound(state).hosts.claimed_vcpus[0] == 0
    assert (table.of("claim"), list(table.on(1))) == ([], [])
    assert table.of_group("group-1") == frozenset()


def test_members_of_a_group() -> None:
    state = filled()
    put(state, group(1, "alice", "bob"))
    assert sound(state).groups.members == {"group-1": {"alice", "bob"}}
    drop(state, t.SERVER_GROUPS, 1)
    assert sound(state).groups.members == {}


# What changed since.


def test_what_changed_since_a_stamp_is_known_for_a_while() -> None:
    state = filled()
    seen = state.applied
    journal = state.fleet.journal
    assert journal.since(seen) == ChangedHosts(set(), True)
    put(state, service(1, "h1", disabled=True))
    assert journal.since(seen) == ChangedHosts({0}, False)
    put(state, service(3, "h2"))
    assert journal.since(seen) == ChangedHosts({0, 1}, False)
    for n in range(5000):
        put(state, service(3, "h2", version=n))
    assert journal.since(seen) is None
    assert journal.since(state.applied - 1) == ChangedHosts({1}, False)


def test_a_claim_changes_nothing_of_its_host_but_use() -> None:
    state = filled()
    before = {
        name: getattr(state.fleet.hosts, name).copy() for name in HostColumns.specs
    }
    seen = state.applied
    put(state, claim(9, "i9", host=1))
    assert state.fleet.journal.since(seen) == ChangedHosts({0}, True)
    changed = {
        name
        for name, values in before.items()
        if (getattr(state.fleet.hosts, name) != values).any()
    }
    assert changed <= USE | {"touched"}
    assert {"vcpus_used", "free_ram_mb", "num_instances"} <= changed


@pytest.mark.parametrize("table", sorted(t.FLEET))
def test_ids_are_never_given_again(table: str) -> None:
    state = State()
    assert state.next_id(table) == 1
    other = filled()
    last = max(int(row.id) for row in other.fleet.rows(table))
    if table == t.HOSTS:
        drop(other, t.BOOKINGS, 1)
    drop(other, table, last)
    assert other.next_id(table) == last + 1


# Any order.


def made(table: str, key: int, rng: random.Random) -> FleetRow:
    """A row with this key; what is unique follows from the key."""
    name = f"h{rng.randint(1, 4)}"
    some = [f"h{n}" for n in range(1, 5) if rng.random() < 0.5]
    if table == t.HOSTS:
        uuid = rng.choice((None, "root", "other", f"u{key}"))
        stats = {"vcpus": rng.randint(0, 3), "cpu_info": {"arch": rng.choice("ab")}}
        found = rng.choice(("{}", json.dumps(stats)))
        return HostRow(key, f"h{key % 3 + 1}", f"n{key}", uuid, found, 1, None)
    if table == t.SERVICES:
        return service(key, f"h{key}", disabled=rng.random() < 0.5)
    if table == t.FACTS:
        kind = ("agent", "operator", "cell")[key % 3]
        return fact(key, kind, f"h{key % 4}", disabled=rng.random() < 0.5)
    if table == t.HOST_AGGREGATES:
        return aggregate(key, *some)
    if table == t.INSTANCES:
        return InstanceRow(key, f"i{key}", name, "{}", None, None)
    if table == t.SERVER_GROUPS:
        return group(key, *some)
    lease = rng.choice((None, 5, 9))
    return claim(key, f"i{key}", rng.choice((1, 2)), leased_until=lease, vcpus=key)


def held(state: State, table: str, key: int) -> bool:
    """Whether a claim stands in the way: it ends before its host."""
    ends = state.fleet.claims.on(key) if table == t.HOSTS else ()
    return bool(list(ends))


STEPS = st.lists(
    st.tuples(st.sampled_from(sorted(t.FLEET)), st.integers(1, 4), st.booleans()),
    max_size=40,
)


@settings(max_examples=examples(60), deadline=None)
@given(STEPS, st.integers(0, 2**16))
def test_any_order_leaves_a_sound_fleet(
    steps: list[tuple[str, int, bool]], seed: int
) -> None:
    rng = random.Random(seed)
    state, done = filled(), []
    state.fleet.hosts.factor("cpu_info", "arch")
    for table, number, is_put in steps:
        key = number + 10 * (table == t.FACTS)  # no id is also that of a service
        old = state.get(table, key)
        new = made(table, key, rng) if is_put else None
        if new is None and (old is None or held(state, table, key)):
            continue
        if new is not None and old is not None:
            names = UNIQUE[table]
            new = replace(new, **{name: getattr(old, name) for name in names})
        done.append(Change(table, key, old, new))
        state.apply(done[-1:], Cursor(state.revision + 1))
        lost = [one for one in check.problems(state) if "is gone" not in one]
        assert lost == []
    loaded = State()
    for table in t.ROW_TYPES:
        loaded.load(table, list(state.rows(table)))
    assert check.differences(state, loaded) == []
    assert check.problems(loaded) == check.problems(state)
    state.apply([one.inverse() for one in reversed(done)], Cursor(1, "b"))
    assert check.differences(state, filled()) == []
    assert check.problems(state) == []
