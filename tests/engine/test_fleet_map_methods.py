"""Hosts as columns, then what changed since; and one host in the books."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Invalid, NotFound
from gantt.model.commands import ConsumerAllocations, Inventory, SyncNames
from gantt.model.fleet_map import STATES, FleetMap
from gantt.model.hosts import HostAggregate, HostStats, Service
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.placement import map_columns as queries
from gantt.placement.host_details import whole_host
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import StoreOptions
from gantt.store.memory_store import MemoryStore
from tests.engine.faults import NOW, ScriptedClock

A, B, C = (f"0000000{n}-aaaa-4000-8000-000000000000" for n in (1, 2, 3))
DOWN_AFTER_S = 60


@pytest.fixture
def books() -> Iterator[Gantt]:
    with open_gantt("memory://") as found:
        yield found


def stats(**more: Any) -> HostStats:
    known: dict[str, Any] = {
        "vcpus": 8,
        "memory_mb": 16_384,
        "local_gb": 100,
        "vcpus_used": 2,
        "memory_mb_used": 0,
        "local_gb_used": 0,
        "free_ram_mb": 12_288,
        "free_disk_gb": 100,
        "cpu_allocation_ratio": 2.0,
        "ram_allocation_ratio": 1.0,
        "disk_allocation_ratio": 1.0,
    }
    return HostStats(**known | more)


def use(books: Gantt, host: str, consumer: str, vcpus: int) -> None:
    (view,) = books.list_hosts(host=host)
    assert view.provider_uuid is not None
    amounts = {view.provider_uuid: {"VCPU": vcpus}} if vcpus else {}
    given = ConsumerAllocations(consumer, amounts, "blue", "ann", UNSET, "INSTANCE")
    books.set_allocations([given])


def of(found: FleetMap, name: str) -> dict[str, tuple[int, int]]:
    """Host -> capacity and use of a class."""
    column = found.classes[name]
    return dict(
        zip(found.hosts, zip(column.capacity, column.used, strict=True), strict=True)
    )


def test_every_column_has_a_value_for_every_host(books: Gantt) -> None:
    for host in ("one", "two", "three"):
        books.update_host(host, host if host != "two" else "node2", stats())
    found = books.fleet_map()
    assert found.is_whole
    assert sorted(found.hosts) == ["one", "three", "two"]
    assert dict(zip(found.hosts, found.nodes, strict=True))["two"] == "node2"
    assert dict(zip(found.hosts, found.nodes, strict=True))["one"] is None
    lengths = {
        len(column)
        for column in (
            found.rows,
            found.states,
            found.zone,
            found.aggregates.of,
            found.traits.of,
            found.updated_at,
            found.instances,
            *(one.capacity for one in found.classes.values()),
            *(one.used for one in found.classes.values()),
        )
    }
    assert lengths == {3}
    assert of(found, "VCPU") == {"one": (16, 0), "two": (16, 0), "three": (16, 0)}


def test_a_class_is_summed_over_the_tree_of_a_host(books: Gantt) -> None:
    view = books.update_host("one", "one", stats())
    child = books.create_provider("one_cell", parent_uuid=view.provider_uuid)
    more = {"VCPU": Inventory(total=4), "VGPU": Inventory(total=2)}
    books.set_inventories(child.uuid, more, generation=0)
    other = books.create_provider("no host")
    books.set_inventories(other.uuid, {"VCPU": Inventory(total=64)}, generation=0)
    amounts = {child.uuid: {"VCPU": 3, "VGPU": 1}}
    given = ConsumerAllocations(A, amounts, "blue", "ann", UNSET, "INSTANCE")
    books.set_allocations([given])
    use(books, "one", B, 5)
    found = books.fleet_map()
    assert of(found, "VCPU") == {"one": (20, 8)}
    assert of(found, "VGPU") == {"one": (2, 1)}


def test_a_host_without_a_provider_shows_what_it_reports() -> None:
    options = EngineOptions(scheduler=SchedulerOptions(reports_write_books=False))
    with open_gantt("memory://", options) as books:
        books.update_host("one", "one", stats())
        found = books.fleet_map()
        assert of(found, "VCPU") == {"one": (16, 2)}
        assert of(found, "MEMORY_MB") == {"one": (16_384, 4096)}
        assert of(found, "DISK_GB") == {"one": (100, 0)}


def test_only_what_changed_is_answered_afterwards(books: Gantt) -> None:
    for host in ("one", "two", "three"):
        books.update_host(host, host, stats())
    first = books.fleet_map()
    none = books.fleet_map(first.place)
    assert (none.is_whole, none.rows, none.gone) == (False, (), ())
    use(books, "two", A, 4)
    found = books.fleet_map(none.place)
    assert (found.is_whole, found.hosts) == (False, ("two",))
    assert of(found, "VCPU") == {"two": (16, 4)}
    assert found.rows == (first.rows[first.hosts.index("two")],)
    # Gone again: the row of an allocation that was deleted tells no host.
    use(books, "two", A, 0)
    assert of(books.fleet_map(found.place), "VCPU") == {"two": (16, 0)}
    # An older place has all of it.
    assert books.fleet_map(first.place).hosts == ("two",)


@pytest.mark.parametrize("what", ["service", "claim", "instances", "traits", "report"])
def test_whatever_is_said_of_a_host_changes_it(books: Gantt, what: str) -> None:
    books.update_host("one", "one", stats())
    (view,) = (books.update_host("two", "two", stats()),)
    assert view.provider_uuid is not None
    before = books.fleet_map()
    if what == "service":
        books.update_service(Service("two", disabled=True))
    elif what == "claim":
        spec = RequestSpec(
            flavor=Flavor(vcpus=1, memory_mb=64, root_gb=0),
            project_id="blue",
            user_id="ann",
            force_hosts=("two",),
        )
        books.schedule(ScheduleRequest(spec, (A,)))
    elif what == "instances":
        books.sync_instances("two", [A])
    elif what == "traits":
        books.set_traits(view.provider_uuid, ["HW_CPU_X86_AVX"], generation=1)
    else:
        metrics = [{"name": "load", "value": 3}]
        books.update_host("two", "two", stats(metrics=metrics))
    found = books.fleet_map(before.place)
    assert (found.is_whole, found.hosts) == (False, ("two",))
    if what == "service":
        assert [STATES[state] for state in found.states] == ["disabled"]
    elif what == "traits":
        assert found.traits.names == ("HW_CPU_X86_AVX",)
        assert found.traits.sets[found.traits.of[0]] == (0,)
    elif what == "report":
        assert found.metrics == {"load": (3.0,)}


def test_a_host_that_is_gone_is_told(books: Gantt) -> None:
    books.update_host("one", "one", stats())
    books.update_host("two", "two", stats())
    first = books.fleet_map()
    books.delete_host("two", "two")
    found = books.fleet_map(first.place)
    assert (found.rows, found.is_whole) == ((), False)
    assert found.gone == (first.rows[first.hosts.index("two")],)
    books.update_host("three", "three", stats())
    again = books.fleet_map(first.place)
    assert again.hosts == ("three",)
    assert {*again.rows, *again.gone} == {*found.gone, *again.rows}


def test_zones_are_those_of_aggregates(books: Gantt) -> None:
    for host in ("one", "two", "three"):
        books.update_host(host, host, stats())
    first = books.fleet_map()
    assert [first.zones[code] for code in first.zone] == ["nova"] * 3
    zone = {"availability_zone": "z2"}
    books.set_host_aggregates(
        [
            HostAggregate(A, "second", hosts=frozenset({"two"}), metadata=zone),
            HostAggregate(B, "ssd", hosts=frozenset({"one", "two"})),
        ]
    )
    found = books.fleet_map(first.place)
    assert found.is_whole, "an aggregate says something of many hosts"
    zones = [found.zones[code] for code in found.zone]
    assert dict(zip(found.hosts, zones, strict=True)) == {
        "one": "nova",
        "two": "z2",
        "three": "nova",
    }
    names = {
        host: {found.aggregate_names[one] for one in found.aggregates.sets[code]}
        for host, code in zip(found.hosts, found.aggregates.of, strict=True)
    }
    assert names == {"one": {"ssd"}, "two": {"second", "ssd"}, "three": set()}
    assert set(found.aggregates.names) == {A, B}


def test_a_host_that_falls_silent_is_told_although_no_row_changed() -> None:
    clock = ScriptedClock()
    clock.last = NOW
    names = SyncNames(("VCPU", "MEMORY_MB", "DISK_GB"), ())
    with Gantt(MemoryStore(), clock=clock, standard_names=names) as books:
        books.update_host("one", "one", stats())
        books.update_host("two", "two", stats())
        books.update_service(Service("one", last_seen_up=clock.now()))
        first = books.fleet_map()
        assert books.fleet_map(first.place).rows == ()
        clock.last += (DOWN_AFTER_S + 1) * 1_000_000
        found = books.fleet_map(first.place)
        assert (found.hosts, found.is_whole) == (("one",), False)
        assert [STATES[state] for state in found.states] == ["down"]


def test_a_place_of_another_process_or_epoch_gets_all(tmp_path: Path) -> None:
    url, options = (
        f"sqlite:///{tmp_path / 'gantt.db'}",
        EngineOptions(store=StoreOptions(create=True)),
    )
    with open_gantt(url, options) as books, open_gantt(url) as other:
        books.update_host("one", "one", stats())
        place = books.fleet_map().place
        assert not books.fleet_map(place).is_whole
        assert other.fleet_map(place).is_whole
        with books._replica.turn:
            books._log_tailer.reload()
        found = books.fleet_map(place)
        assert (found.is_whole, found.hosts) == (True, ("one",))


@pytest.mark.parametrize("place", ["", "1", "x.1-2-3", "a.1-2", "a.1-2-3-4", "٣.1-2-3"])
def test_a_malformed_place_is_refused(books: Gantt, place: str) -> None:
    with pytest.raises(Invalid, match="place of an earlier answer"):
        books.fleet_map(place)


def test_others_go_on_while_all_hosts_are_answered(books: Gantt) -> None:
    """What they change meanwhile is in the next answer."""
    for host in ("one", "two"):
        books.update_host(host, host, stats())
    terms = queries.MapTerms(0, 60_000_000, "nova")
    pauses = 0

    def pause() -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 1:
            books.update_service(Service("two", disabled=True))

    state = books._replica.state
    found = queries.fleet_map(state, terms, "e.0", pause)
    assert pauses >= 3
    applied = int(found.place.split("-")[1])
    after = queries.MapTerms(0, 60_000_000, "nova", (applied, 0))
    assert queries.fleet_map(state, after, "e.0").hosts == ("two",)


def test_a_host_in_full(books: Gantt) -> None:
    view = books.update_host("one", "one", stats())
    child = books.create_provider("one_gpu", parent_uuid=view.provider_uuid)
    gpus = {"VGPU": Inventory(total=2)}
    books.set_inventories(child.uuid, gpus, generation=0)
    spec = RequestSpec(
        flavor=Flavor(vcpus=3, memory_mb=64, root_gb=1), project_id="blue", user_id="x"
    )
    books.schedule(ScheduleRequest(spec, (A,), lease_s=60))
    found = books.whole_host("one", "one")
    assert (found.view.host, found.topology.host) == ("one", "one")
    root, leaf = found.providers
    assert (root.uuid, root.parent_uuid) == (view.provider_uuid, None)
    assert (leaf.name, leaf.parent_uuid) == ("one_gpu", root.uuid)
    assert (root.inventories["VCPU"].capacity, root.inventories["VCPU"].used) == (16, 3)
    assert leaf.inventories["VGPU"].total == 2
    (consumer,) = root.consumers
    assert (consumer.uuid, consumer.project_id) == (A, "blue")
    assert consumer.resources["VCPU"] == 3
    (claim,) = found.claims
    assert (claim.instance_uuid, claim.vcpus, claim.is_running) == (A, 3, False)
    assert claim.leased_until is not None
    assert 0 < claim.leased_until - found.at <= 60_000_000
    with pytest.raises(NotFound, match="no host two"):
        books.whole_host("two", "two")


def test_consumers_beyond_the_limit_are_counted(
    books: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    books.update_host("one", "one", stats())
    for consumer in (A, B, C):
        use(books, "one", consumer, 1)
    monkeypatch.setattr("gantt.placement.host_details.MOST_CONSUMERS", 2)
    found = books.read(whole_host, "one", "one", 0)
    assert [one.uuid for one in found.providers[0].consumers] == [A, B]
    assert found.consumers_left_out == 1
