"""Instances with cells and devices that are rebuilt, resized or migrated: what they
have is promised to no other, and a rebuild alone is not asked to fit beside it.
And the smallest change of refused requests for cells, where less helps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from gantt.connection import open_gantt
from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.errors import NoValidHost
from gantt.model.forms.instance_topology import plain_topology
from gantt.model.hosts import Instance
from gantt.model.selection import Why
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.explain.topology_concessions import steps_of, with_smaller_cells
from gantt.scheduler.request.requested_topology import topology_of
from gantt.store.memory_store import MemoryStore
from tests.engine.test_advisor import Clock
from tests.scheduler.small_cells import NIC, PINNED, hosts, options, place, report, uuid
from tests.scheduler.test_topology_explained import cell_of

TWO_NICS = [{**NIC, "numa_node": None, "count": 2}]
MOVES = ("resize", "live_migrate")
each_move = pytest.mark.parametrize("kind", MOVES)
each_spec = pytest.mark.parametrize("has_nic", [False, True])


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["caching", "filter", "chance"])
def engine(request: pytest.FixtureRequest, clock: Clock) -> Iterator[Gantt]:
    chosen = options(driver=request.param)
    with Gantt(
        MemoryStore(), chosen, clock=clock, standard_names=standard_names()
    ) as found:
        yield found


def wanted(*, has_nic: bool) -> RequestSpec:
    entry = {"count": 1, "request_id": "nic", "spec": [NIC]}
    return replace(PINNED, pci_requests=(entry,) if has_nic else ())


def checked(spec: RequestSpec, kind: str, *, staying: bool = False) -> RequestSpec:
    """As a conductor asks for an instance that exists; ``staying``: on host a."""
    hints = {"_nova_check_type": (kind,)}
    found = replace(spec, scheduler_hints=hints)
    if kind == "rebuild":
        return replace(found, force_hosts=("a",), force_nodes=("a",))
    return replace(found, ignore_hosts=() if staying else ("a",))


def promised(engine: Gantt) -> dict[str, float]:
    return {one.host: one.claimed["instances"] for one in engine.list_hosts()}


def refuses(engine: Gantt, number: int, spec: RequestSpec) -> bool:
    try:
        place(engine, number, spec=spec)
    except NoValidHost:
        return True
    return False


@pytest.mark.parametrize("is_counted", [False, True])
@each_spec
def test_rebuild_is_not_fitted_beside_itself(
    engine: Gantt, has_nic: bool, is_counted: bool
) -> None:
    """Whether its own claim or a report has the host's last cell and device."""
    spec, last = wanted(has_nic=has_nic), [{**TWO_NICS[0], "count": 1}]
    report(engine, "a", 0, 1, pci_stats=last)
    place(engine, 1, spec=spec)
    if is_counted:
        report(engine, "a", 0, 1, 2, 3, pci_stats=[], instances=(uuid(1),))
    before = promised(engine)
    assert before == {"a": 0 if is_counted else 1}
    (found,) = place(engine, 1, spec=checked(spec, "rebuild"))
    assert (found.service_host, found.limits, found.claim) == ("a", None, None)
    assert promised(engine) == before
    assert refuses(engine, 2, spec)
    assert not engine.verify().problems


@pytest.mark.parametrize("is_counted", [False, True])
@each_spec
def test_resize_on_its_host_holds_what_it_has_and_what_it_gets(
    engine: Gantt, has_nic: bool, is_counted: bool
) -> None:
    """A compute holds both until the resize is confirmed."""
    spec = wanted(has_nic=has_nic)
    report(engine, "a", pci_stats=TWO_NICS)
    place(engine, 1, spec=spec)
    if is_counted:
        rest = [{**TWO_NICS[0], "count": 1}] if has_nic else TWO_NICS
        report(engine, "a", 0, 1, pci_stats=rest, instances=(uuid(1),))
    else:
        engine.update_instances("a", [Instance(uuid(1))])
    assert hosts(place(engine, 1, spec=checked(spec, "resize", staying=True))) == ["a"]
    assert promised(engine) == {"a": 1 if is_counted else 2}
    assert refuses(engine, 2, spec)
    assert not engine.verify().problems


@pytest.mark.parametrize("is_counted", [False, True])
@each_spec
def test_resize_goes_elsewhere_where_its_host_lacks_room_for_both(
    engine: Gantt, has_nic: bool, is_counted: bool
) -> None:
    spec, last = wanted(has_nic=has_nic), [{**TWO_NICS[0], "count": 1}]
    report(engine, "a", 0, 1, pci_stats=last)
    place(engine, 1, spec=spec)
    if is_counted:
        report(engine, "a", 0, 1, 2, 3, pci_stats=[], instances=(uuid(1),))
    else:
        engine.update_instances("a", [Instance(uuid(1))])
    resize = checked(spec, "resize", staying=True)
    assert refuses(engine, 1, resize)
    report(engine, "b", pci_stats=TWO_NICS)
    assert hosts(place(engine, 1, spec=resize)) == ["b"]


@each_move
@each_spec
def test_moving_instance_keeps_what_its_host_has_not_counted(
    engine: Gantt, clock: Clock, has_nic: bool, kind: str
) -> None:
    """Its old place is free once a report no longer has it; its new one is taken."""
    spec = wanted(has_nic=has_nic)
    for name in "ab":
        report(engine, name, 0, 1, pci_stats=[{**TWO_NICS[0], "count": 1}])
    place(engine, 1, spec=replace(spec, ignore_hosts=("b",)))
    engine.update_instances("a", [Instance(uuid(1))])
    assert hosts(place(engine, 1, spec=checked(spec, kind))) == ["b"]
    assert refuses(engine, 2, spec)
    # Both count it, in a later second than that in which it began to move.
    clock.seconds += 2
    report(engine, "a", 0, 1, 2, 3, pci_stats=[], instances=(uuid(1),))
    report(engine, "b", 0, 1, 2, 3, pci_stats=[], instances=(uuid(1),))
    assert promised(engine) == {"a": 0, "b": 0}
    assert refuses(engine, 2, spec)
    # It has left.
    report(engine, "a", 0, 1, pci_stats=[{**TWO_NICS[0], "count": 1}])
    assert hosts(place(engine, 2, spec=spec)) == ["a"]
    assert not engine.verify().problems


@each_move
def test_next_try_of_a_move_gives_back_the_last_one(engine: Gantt, kind: str) -> None:
    """The host refused it: the conductor asks anew, without it."""
    for name in "abc":
        report(engine, name, 0, 1)
    place(engine, 1, spec=replace(PINNED, ignore_hosts=("b", "c")))
    engine.update_instances("a", [Instance(uuid(1))])
    move = checked(PINNED, kind)
    (first,) = place(engine, 1, spec=replace(move, ignore_hosts=("a", "c")))
    assert first.claim is not None
    engine.release_claim(first.claim)
    assert hosts(place(engine, 1, spec=replace(move, ignore_hosts=("a", "b")))) == ["c"]
    assert hosts(place(engine, 2)) == ["b"]
    assert refuses(engine, 3, PINNED)
    assert not engine.verify().problems


DEDICATED = {"hw:cpu_policy": "dedicated"}
TWO = {"hw:numa_nodes": "2"}
LARGE = {"hw:mem_page_size": "2MB"}


def spec_of(vcpus: int, memory: int, extra_specs: dict[str, str]) -> RequestSpec:
    return RequestSpec(Flavor(vcpus, memory, extra_specs=extra_specs))


def as_nova_sends(spec: RequestSpec) -> RequestSpec:
    """With the topology that Nova's API derived."""
    given = topology_of(spec)
    assert given is not None
    return replace(spec, numa_topology=plain_topology(given))


def change(spec: RequestSpec) -> str | None:
    """Of a host with two cells, each with 12 of 16 CPUs and 512 pages of 2 MB free."""
    pages = [
        {"size_kb": 4, "total": 1_000_000},
        {"size_kb": 2048, "total": 1024, "used": 512},
    ]
    first = cell_of(12, mempages=pages)
    shift: dict[str, Any] = {
        name: [cpu + 16 for cpu in first[name]] for name in ("pcpuset", "pinned_cpus")
    }
    cells = [first, {**first, **shift, "id": 1}]
    with open_gantt("memory://", options()) as engine:
        report(engine, "a", numa_topology={"cells": cells}, vcpus=32)
        with pytest.raises(NoValidHost) as refused:
            engine.schedule(ScheduleRequest(spec, (uuid(1),)))
        assert isinstance(refused.value.why, Why)
        found = refused.value.why
        if found.given_up:
            (one,) = found.given_up
            lowered = with_smaller_cells(spec, one.names[0], one.lowered or 0)
            assert lowered.numa_topology is not None
        return found.change


@pytest.mark.parametrize("form", [replace, as_nova_sends])
@pytest.mark.parametrize(
    ("vcpus", "memory", "extra_specs", "expected"),
    [
        (16, 1024, DEDICATED, "ask for 12 instead of 16 PCPU"),
        (30, 1024, DEDICATED | TWO, "ask for 24 instead of 30 PCPU"),
        (4, 2048, DEDICATED | LARGE, "ask for 1 GiB instead of 2 GiB MEMORY_MB"),
        (4, 4096, DEDICATED | LARGE | TWO, "ask for 2 GiB instead of 4 GiB MEMORY_MB"),
    ],
)
def test_as_much_as_a_cell_has(
    form: Any, vcpus: int, memory: int, extra_specs: dict[str, str], expected: str
) -> None:
    assert change(form(spec_of(vcpus, memory, extra_specs))) == expected


def test_steps_are_cells_and_whole_pages() -> None:
    two_large = steps_of(spec_of(4, 4096, DEDICATED | LARGE | TWO))
    assert two_large == {"VCPU": 2, "PCPU": 2, "MEMORY_MB": 4}
    huge = steps_of(spec_of(4, 4096, {"hw:mem_page_size": "1GB"}))
    assert huge["MEMORY_MB"] == 1024
    for memory, step in ((4096, 1024), (1000, 8)):
        large = steps_of(spec_of(4, memory, {"hw:mem_page_size": "large"}))
        assert large["MEMORY_MB"] == step
    uneven = {"hw:numa_cpus.0": "0", "hw:numa_mem.0": "8"}
    uneven |= {"hw:numa_cpus.1": "1-3", "hw:numa_mem.1": "8"}
    assert steps_of(spec_of(4, 16, TWO | uneven)) == {}
    assert steps_of(spec_of(4, 16, {})) == {}
    assert steps_of(spec_of(3, 16, TWO)) == {}  # refused by itself


def test_every_cell_gets_less() -> None:
    spec = spec_of(8, 4096, DEDICATED | TWO | {"hw:emulator_threads_policy": "isolate"})
    for name, amount, expected in (
        ("PCPU", 4, [(0b11, 2048), (0b110000, 2048)]),
        ("MEMORY_MB", 1024, [(0b1111, 512), (0b11110000, 512)]),
        ("PCPU", 3, [(0b1111, 2048), (0b11110000, 2048)]),  # as it was
    ):
        found = topology_of(with_smaller_cells(spec, name, amount))
        assert found is not None
        assert [(cell.pcpus, cell.memory) for cell in found.cells] == expected
        assert found.isolates_emulator


def test_hosts_that_are_fitted_in_vain_use_up_the_search() -> None:
    """Two devices of one cell are asked for, and each cell has one: only an exact fit
    of each host tells."""
    wanted = {"count": 2, "request_id": "n", "spec": [NIC], "numa_policy": "required"}
    spec = replace(spec_of(4, 64, DEDICATED | TWO), pci_requests=(wanted,))
    pools = [{**NIC, "numa_node": node, "count": 1} for node in (0, 2)]
    third = {"pcpuset": [16, 17], "pinned_cpus": [16, 17], "id": 2}
    cells = [cell_of(2, 2), {**cell_of(2, 2), "id": 1, "pcpuset": [2, 3]}]
    cells.append({**cell_of(2, 2), **third})
    fits = []
    for budget in (200, 20_000):
        with open_gantt("memory://", options(change_budget=budget)) as engine:
            for number in range(20):
                name = f"h{number}"
                facts = {"numa_topology": {"cells": cells}, "pci_stats": pools}
                report(engine, name, **facts)
            with pytest.raises(NoValidHost) as refused:
                engine.schedule(ScheduleRequest(spec, (uuid(1),)))
            assert isinstance(refused.value.why, Why)
            fits.append(engine.counts()["topology_fits"])
            assert refused.value.why.is_truncated is (budget == 200)
    assert fits[0] <= 2 * 20 < fits[1]  # the request itself, and one trial
