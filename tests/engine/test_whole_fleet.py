"""A fleet in one statement, beside computes that write Placement themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

import gantt
from gantt.engine import whole_fleet
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import NoValidHost
from gantt.model.commands import Inventory
from gantt.model.fleet import (
    Cell,
    FleetNames,
    FleetRefusal,
    FleetStatement,
    HostReport,
)
from gantt.model.hosts import (
    HostAggregate,
    HostStats,
    Instance,
    ServerGroup,
    Service,
)
from gantt.model.spec import Destination, Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions

A, B, C = (str(uuid4()) for _ in range(3))
STATS = HostStats(vcpus=8, memory_mb=8192, local_gb=100, free_disk_gb=100)
SPEC = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=512), project_id="p", user_id="u")


def opened(**options: Any) -> Gantt:
    chosen = SchedulerOptions(use_placement="never", **options)
    found = gantt.connect("memory://", options=EngineOptions(scheduler=chosen))
    assert isinstance(found, Gantt)
    return found


@pytest.fixture
def books() -> Iterator[Gantt]:
    with opened(reports_write_books=False) as found:
        yield found


def fleet(*hosts: str, **more: Any) -> FleetStatement:
    return FleetStatement(
        services=tuple(Service(host) for host in hosts),
        hosts=tuple(HostReport(host, host, STATS) for host in hosts),
        **more,
    )


def chosen(books: Gantt, spec: RequestSpec = SPEC) -> set[str]:
    """The hosts that a request may go to."""
    return {one.host for one in books.decide(ScheduleRequest(spec)).scores}


def known(books: Gantt) -> dict[str, tuple[str, ...]]:
    return {one.host: one.instances for one in books.list_hosts()}


def test_a_report_leaves_the_books_to_the_compute(books: Gantt) -> None:
    compute = books.create_provider("h1", uuid=A)
    inventories = {"PCPU": Inventory(4), "MEMORY_MB": Inventory(8192)}
    before = books.set_inventories(A, inventories, generation=compute.generation)
    stats = replace(STATS, uuid=A, traits=("HW_CPU_X86_AVX",))
    aggregate = HostAggregate(B, "a", 1, frozenset({"h1"}))
    books.update_host("h1", "h1", stats)
    books.set_host_aggregates((aggregate,))
    books.set_fleet(fleet("h1", aggregates=(replace(aggregate, name="b"),)))
    books.delete_host_aggregate(uuid=B)
    assert books.get_inventories(A) == before
    assert books.get_traits(A).traits == ()
    assert books.get_aggregates(A).aggregates == ()
    # The compute's next write has the generation that it knows.
    after = books.set_inventories(
        A, {"PCPU": Inventory(5)}, generation=before.generation
    )
    assert after.generation == before.generation + 1
    (host,) = books.list_hosts()
    assert host.provider_uuid == A


def test_a_report_writes_the_books_by_default() -> None:
    with opened() as books:
        books.update_host("h1", "h1", STATS)
        (host,) = books.list_hosts()
        assert host.provider_uuid is not None
        assert "VCPU" in books.get_inventories(host.provider_uuid).inventories
        # A statement about the whole fleet does so only where it says so.
        books.set_fleet(fleet("h2"))
        assert books.list_hosts(host="h2")[0].provider_uuid is None
        books.set_fleet(fleet("h3", writes_books=True))
        assert books.list_hosts(host="h3")[0].provider_uuid is not None


def test_a_uuid_moves_to_another_host(books: Gantt) -> None:
    books.create_provider("h1", uuid=A)
    books.update_host("h1", "h1", replace(STATS, uuid=A))
    books.set_fleet(
        FleetStatement(hosts=(HostReport("h2", "h1", replace(STATS, uuid=A)),))
    )
    assert [(one.host, one.provider_uuid) for one in books.list_hosts()] == [
        ("h1", None),
        ("h2", A),
    ]
    assert books.verify().problems == ()
    # Two hosts that change places.
    books.create_provider("h3", uuid=B)
    books.update_host("h3", "h3", replace(STATS, uuid=B))
    swapped = (
        HostReport("h2", "h1", replace(STATS, uuid=B)),
        HostReport("h3", "h3", replace(STATS, uuid=A)),
    )
    assert books.set_fleet(FleetStatement(hosts=swapped)) == ()
    found = {one.host: one.provider_uuid for one in books.list_hosts()}
    assert found == {"h1": None, "h2": B, "h3": A}


def test_what_is_not_named_is_gone(books: Gantt) -> None:
    group = ServerGroup(A, policy="affinity")
    whole = fleet(
        "h1",
        "h2",
        aggregates=(HostAggregate(B, "a"),),
        groups=(group,),
        cells=(Cell(C),),
        instances={"h1": (Instance(A),), "elsewhere": (Instance(B),)},
    )
    assert books.set_fleet(whole) == ()
    assert known(books) == {"h1": (A,), "h2": ()}
    names = FleetNames(
        hosts=frozenset({("h2", "h2")}), services=frozenset({("h2", "nova-compute")})
    )
    assert books.set_fleet(FleetStatement(names=names)) == ()
    assert known(books) == {"h2": ()}
    assert books.list_host_aggregates() == ()
    assert books.read(_left) == (["h2"], [], [])
    # An engine's own marks among the services are not deleted.
    books.set_fleet(FleetStatement(names=FleetNames()))
    assert books.read(_left) == ([], [], [])


def _left(state: Any) -> tuple[list[str], list[str], list[str]]:
    services = [row.host for row in state.fleet.services.rows()]
    services += [row.subject for row in state.fleet.facts.rows()]
    groups = list(state.fleet.groups.by_uuid)
    return services, groups, list(state.fleet.instances.by_uuid)


def test_hosts_of_a_cell_that_could_not_be_read_stay(books: Gantt) -> None:
    services = (Service("h1", cell_uuid=A), Service("h2", cell_uuid=B))
    books.set_fleet(
        replace(fleet("h1", "h2", instances={"h1": (Instance(C),)}), services=services)
    )
    books.set_fleet(FleetStatement(names=FleetNames(kept_cells=frozenset({A}))))
    assert known(books) == {"h1": (C,)}


def test_an_instance_that_moves_keeps_its_group(books: Gantt) -> None:
    """Hosts are named in any order: the one it left may come first."""
    books.set_fleet(fleet("h1", "h2"))
    books.set_server_group(ServerGroup(A, policy="anti-affinity"))
    books.set_fleet(FleetStatement(instances={"h1": (Instance(B, {"x": "1"}),)}))
    moved = {"h1": (), "h2": (Instance(B, {"x": "1"}),)}
    books.set_fleet(FleetStatement(instances=moved))
    assert known(books) == {"h1": (), "h2": (B,)}
    row = books.read(lambda state: state.fleet.instances.by_uuid[B])
    assert row.updated_at is not None, "it was changed, not deleted and made anew"


def test_an_instance_without_facts_keeps_those_that_are_known(books: Gantt) -> None:
    """A feed that reads no facts must not lose those that casts told."""
    books.set_fleet(fleet("h1", "h2", instances={"h1": (Instance(B, {"x": "1"}),)}))

    def facts(state: Any) -> str:
        return str(state.fleet.instances.by_uuid[B].facts)

    without: tuple[dict[str, tuple[Instance, ...]], ...] = (
        {"h1": (Instance(B),)},
        {"h1": (), "h2": (Instance(B),)},
    )
    for said in without:
        books.set_fleet(FleetStatement(instances=said))
        assert books.read(facts) == '{"x":"1"}'
    assert known(books) == {"h1": (), "h2": (B,)}
    books.set_fleet(FleetStatement(instances={"h2": (Instance(B, {"x": "2"}),)}))
    assert books.read(facts) == '{"x":"2"}'


def test_one_bad_part_does_not_keep_out_the_rest(books: Gantt) -> None:
    bad = FleetStatement(
        hosts=(
            HostReport("h1", "h1", HostStats(vcpus=-1)),
            HostReport("h2", "h2", STATS),
        ),
        aggregates=(
            HostAggregate(A, "a", 1),
            HostAggregate(B, "b", 1),
            HostAggregate(C, "c", 2),
        ),
    )
    first, second = books.set_fleet(bad)
    assert isinstance(first, FleetRefusal)
    assert first.what == "host h1, node h1"
    assert "vcpus" in first.why
    assert second.what == B
    assert known(books) == {"h2": ()}
    assert {one.name for one in books.list_host_aggregates()} == {"a", "c"}


def test_what_is_known_reaches_no_committer(books: Gantt) -> None:
    whole = fleet(
        "h1",
        "h2",
        aggregates=(HostAggregate(B, "a", 1, frozenset({"h1"}), {"k": "v"}),),
        groups=(ServerGroup(A, policy="affinity", members=frozenset({C})),),
        cells=(Cell(C, disabled=True),),
        instances={"h1": (Instance(A, {"flavorid": "m1"}),)},
    )
    books.set_fleet(whole)
    before = books.revision, books.read(lambda state: state.applied)
    books.set_fleet(whole)
    assert (books.revision, books.read(lambda state: state.applied)) == before
    books.set_fleet(replace(whole, cells=(Cell(C),)))
    assert books.revision == before[0] + 1


# -- who may be chosen -------------------------------------------------------------


def test_hosts_of_a_disabled_cell_get_no_new_instances(books: Gantt) -> None:
    services = (Service("h1", cell_uuid=A), Service("h2", cell_uuid=B))
    books.set_fleet(replace(fleet("h1", "h2"), services=services))
    assert chosen(books) == {"h1", "h2"}
    books.set_fleet(FleetStatement(cells=(Cell(A, disabled=True), Cell(B))))
    assert chosen(books) == {"h2"}
    # A move within the cell may still go there, as in Nova.
    within = replace(SPEC, requested_destination=Destination(cell_uuid=A))
    across = replace(
        SPEC,
        requested_destination=Destination(cell_uuid=A, allow_cross_cell_move=True),
    )
    assert chosen(books, within) == {"h1"}
    assert chosen(books, across) == {"h2"}
    books.set_fleet(FleetStatement(cells=(Cell(A),)))
    assert chosen(books) == {"h1", "h2"}


@pytest.mark.parametrize("driver", ["caching", "filter"])
def test_hosts_without_a_service_are_not_used(driver: str) -> None:
    with opened(requires_service=True, driver=driver) as books:
        books.set_fleet(replace(fleet("h1", "h2"), services=(Service("h1"),)))
        assert chosen(books) == {"h1"}
        books.update_service(Service("h2"))
        assert chosen(books) == {"h1", "h2"}
        books.delete_service("h1")
        assert chosen(books) == {"h2"}
        books.delete_service("h1")
        books.delete_service("h2")
        with pytest.raises(NoValidHost) as refused:
            books.schedule(ScheduleRequest(SPEC, (A,)))
        assert "hosts in service" in str(refused.value.why)


def test_only_what_is_new_of_a_long_list_is_checked(
    books: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host with most instances must not delay what is said of others."""
    checked: list[Instance] = []
    check = whole_fleet._instance

    def count(one: Instance) -> Instance:
        checked.append(one)
        return check(one)

    monkeypatch.setattr(whole_fleet, "_instance", count)
    many = tuple(Instance(str(uuid4())) for _ in range(3 * whole_fleet.SLICE))
    assert books.set_fleet(fleet("a", instances={"a": many})) == ()
    checked.clear()
    before = books.revision
    new = Instance(str(uuid4()))
    assert books.set_fleet(fleet("a", instances={"a": (*many[1:], new)})) == ()
    assert checked == [new]
    assert books.revision == before + 2  # one came, one went
    (host,) = books.list_hosts()
    assert set(host.instances) == {one.uuid for one in (*many[1:], new)}
    assert books.verify().problems == ()


def test_what_is_no_uuid_is_no_instance_of_a_host(books: Gantt) -> None:
    odd: tuple[Any, ...] = ("no uuid", None, ["list"])
    said = (Instance(A), *map(Instance, odd))
    refused = books.set_fleet(fleet("a", instances={"a": said}))
    assert sorted(one.what for one in refused) == ["None", "['list']", "no uuid"]
    (host,) = books.list_hosts()
    assert host.instances == (A,)
    assert books.verify().problems == ()
