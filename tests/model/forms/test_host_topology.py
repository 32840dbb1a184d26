"""Topologies of hosts in every form become the same values; impossible ones none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from gantt.errors import Invalid
from gantt.model.bounds import MAX_CELLS, MAX_CPUS, MAX_PAGE_SIZES
from gantt.model.cpu_sets import mask_of, numbers_of, text_of
from gantt.model.forms import values
from gantt.model.forms.host_topology import read_cells
from gantt.model.forms.shared_topology import read_host
from gantt.model.forms.stats import read_stats
from gantt.model.hosts import HostStats
from gantt.model.topology import HostCell, HostTopology, Pages
from tests.model.forms.objects import nova
from tests.topology import synthetic

Make = Callable[[], HostTopology]
each_machine = pytest.mark.parametrize("make", synthetic.MACHINES)


def understood(stats: dict[str, Any]) -> HostTopology:
    """What a report comes to once it went through a door."""
    found = read_stats(stats)
    fields = {name: getattr(found, name) for name in stats}
    return read_host(fields)


@each_machine
def test_objects_of_nova_become_values(make: Make) -> None:
    host = make()
    assert understood(synthetic.nova_form(host)) == synthetic.nameless(host)


@each_machine
def test_our_form_becomes_values(make: Make) -> None:
    host = replace(make(), obeys=True)
    assert understood(synthetic.plain_form(host)) == host


@each_machine
def test_text_within_text_is_read(make: Make) -> None:
    host = make()
    texts = {
        name: json.dumps(json.dumps(value))
        for name, value in synthetic.nova_form(host).items()
    }
    assert understood(texts) == synthetic.nameless(host)


@pytest.mark.parametrize(
    ("version", "lost"),
    [
        ("1.6", {}),
        ("1.5", {}),
        ("1.4", {"socket": None}),
        ("1.3", {"socket": None, "pcpus": None}),
        (
            "1.2",
            {
                "socket": None,
                "pcpus": None,
                "physical_networks": frozenset(),
                "is_tunnelled": False,
            },
        ),
    ],
)
@pytest.mark.parametrize("make", [synthetic.single_cell, synthetic.four_cells])
def test_older_cells_lack_what_their_release_lacked(
    make: Make, version: str, lost: dict[str, Any]
) -> None:
    host = synthetic.nameless(make())
    if "pcpus" in lost:  # such a host has CPUs of one kind
        every = [cell.cpus | cell.pcpus for cell in host.cells]
        cells = zip(host.cells, every, strict=True)
        host = replace(
            host, cells=tuple(replace(one, cpus=cpu, pcpus=cpu) for one, cpu in cells)
        )
    wanted = [
        replace(cell, **{**lost, "pcpus": cell.pcpus} if lost else {})
        for cell in host.cells
    ]
    found = understood(synthetic.nova_form(host, version))
    assert found == replace(host, cells=tuple(wanted))


def test_reports_from_before_liberty_are_read() -> None:
    cell = {
        "id": 0,
        "cpus": "0-3,^2",
        "cpu_usage": 1,
        "mem": {"total": 512, "used": 128},
    }
    cpus = mask_of([0, 1, 3])
    wanted = HostCell(0, cpus, cpus, 512, cpu_usage=1, memory_usage=128)
    assert read_cells("t", {"cells": [cell]}) == (wanted,)


def test_no_topology_is_no_cells() -> None:
    nothing: list[Any] = [None, "", "null", '"null"', {"cells": []}]
    empty = nova("NUMATopology", "1.2", cells=[])
    for one in (*nothing, empty, json.dumps(empty)):
        assert read_cells("t", one) == ()
        assert understood({"numa_topology": one}) == HostTopology()
    assert read_host({}) == HostTopology()
    assert read_stats({}).numa_topology is UNSET


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2", "1.9"])
def test_topologies_of_every_version_are_read(version: str) -> None:
    host = synthetic.four_cells()
    sent = synthetic.nova_form(host)["numa_topology"]
    sent["nova_object.version"] = version
    for form in (sent, json.dumps(sent)):
        assert understood({"numa_topology": form}).cells == host.cells


@pytest.mark.parametrize(
    ("version", "fields", "free"),
    [("1.0", {}, 75), ("1.1", {"reserved": 5}, 70), ("1.1", {}, 75)],
)
def test_pages_of_every_version_are_read(
    version: str, fields: dict[str, int], free: int
) -> None:
    sizes = {"size_kb": 4, "total": 100, "used": 25}
    one = nova("NUMAPagesTopology", version, **sizes, **fields)
    sent = {"cells": [{"id": 0, "cpuset": [0], "memory": 8, "mempages": [one]}]}
    assert read_cells("t", sent)[0].pages[0].free == free


def test_pages_are_put_in_order_and_cells_are_not() -> None:
    """Nova tries equal cells in the order of the report."""
    pages = [{"size_kb": size, "total": 1} for size in (2048, 4)]
    cells = [
        {"id": 1, "cpuset": [1], "memory": 8, "mempages": pages},
        {"id": 0, "cpuset": [0], "memory": 8},
    ]
    found = read_cells("t", {"cells": cells})
    assert [cell.id for cell in found] == [1, 0]
    assert found[0].pages == (Pages(4, 1), Pages(2048, 1))


def test_the_smallest_pages_may_be_overcommitted() -> None:
    """Nova compares shared memory with all pages, and then counts it as used."""
    pages = [{"size_kb": 4, "total": 1, "used": 2}]
    cell = {"id": 0, "cpuset": [0], "memory": 8, "mempages": pages}
    assert read_cells("t", {"cells": [cell]})[0].pages[0].free == -1


def cells(**fields: Any) -> dict[str, Any]:
    """Two cells; ``fields`` of the second."""
    second = {"id": 1, "cpuset": [4, 5], "siblings": [[4, 5]], "memory": 8, **fields}
    return {"cells": [{"id": 0, "cpuset": "0-3", "memory": 8}, second]}


IMPOSSIBLE: list[tuple[Any, str]] = [
    (cells(cpuset=[3, 4], siblings=[]), r"1.cpuset has CPUs 3, which are in cell 0"),
    (cells(pcpuset=[0, 1], siblings=[]), r"1.pcpuset has CPUs 0-1, which are in cell"),
    (cells(siblings=[[4, 6]]), r"1.siblings has CPUs 6; the cell has only 4-5"),
    (cells(siblings=[[4]]), r"1.siblings lacks CPUs 5: list each CPU that can be"),
    (cells(siblings=[[4, 5], [5]]), r"1.siblings has CPUs 5 in two sets"),
    (cells(pinned_cpus=[6]), r"1.pinned_cpus has CPUs 6; only .* pinned: 4-5"),
    (cells(pcpuset=[], pinned_cpus=[4]), r"1.pinned_cpus has CPUs 4; .* none"),
    (cells(id=0), r"1.id is 0, as of another cell"),
    (cells(id=-1), r"1.id must be an integer from 0"),
    (cells(memory=-1), r"1.memory must be an integer from 0 to \d+, not -1"),
    (cells(memory=None), r"1.memory is missing; it is required"),
    (cells(cpu_usage=-1), r"1.cpu_usage must be .* not -1"),
    (cells(memory_usage=-1), r"1.memory_usage must be .* not -1"),
    (cells(cpuset=[True]), r"1.cpuset must be an integer, not true"),
    (cells(cpuset=[-1]), r"1.cpuset must be an integer from 0 to 8191, not -1"),
    (cells(cpuset=[MAX_CPUS]), r"1.cpuset must be .* to 8191, not 8192"),
    (cells(cpuset="5-4"), r"1.cpuset must be CPUs such as .* not '5-4'"),
    (cells(cpuset="4-99999"), r"1.cpuset must be CPUs .* below 8192"),
    (cells(cpuset=4), r"1.cpuset must be a list, not 4"),
    (cells(pinned=[4]), r"1 has unknown fields: 'pinned'"),
    (cells(network_metadata={"tunnelled": True}), r"unknown fields: 'tunnelled'"),
    (
        cells(mempages=[{"size_kb": 4, "total": 2305}]),
        r"1.mempages has pages of 9220 KiB, but the memory of the cell is 8 MB",
    ),
    (
        cells(
            mempages=[
                {"size_kb": 4, "total": 1},
                {"size_kb": 2048, "total": 1, "used": 2},
            ]
        ),
        r"1.mempages has 2 used pages of 2048 KiB, of 1 in all",
    ),
    (cells(mempages=[{"size_kb": 4, "total": 1}] * 2), r"mempages.1.size_kb is 4, as"),
    (cells(mempages=[{"size_kb": 0, "total": 1}]), r"size_kb must be .* from 1"),
    (cells(mempages=[{"size_kb": 4, "total": -1}]), r"0.total must be .* not -1"),
    (
        cells(mempages=[{"size_kb": 4}] * (MAX_PAGE_SIZES + 1)),
        r"1.mempages has 17 sizes; the limit is 16",
    ),
    (cells(siblings=[[]] * (MAX_CPUS + 1)), r"siblings has 8193 sets; the limit"),
    ({"cells": [{}] * (MAX_CELLS + 1)}, r"cells has 65; the limit is 64"),
    ({"cell": []}, r"unknown fields: 'cell'"),
    ([], r"stats.numa_topology must be an object, not a list of 0"),
]


@pytest.mark.parametrize(("topology", "named"), IMPOSSIBLE)
def test_impossible_topologies_are_refused_by_name(topology: Any, named: str) -> None:
    for sent in (topology, json.dumps(topology)):
        with pytest.raises(Invalid, match=named) as refused:
            read_stats({"numa_topology": sent})
        assert refused.value.message.startswith("stats.numa_topology")
    with pytest.raises(Invalid, match=named):
        values.stats(HostStats(numa_topology=topology))


def test_a_newer_minor_of_nova_is_read_and_a_newer_major_refused() -> None:
    host = synthetic.single_cell()
    stats = synthetic.nova_form(host, "1.9")
    cell = stats["numa_topology"]["nova_object.data"]["cells"][0]
    cell["nova_object.data"]["a_new_field"] = 1
    assert understood(stats) == synthetic.nameless(host)
    cell["nova_object.version"] = "2.0"
    with pytest.raises(Invalid, match="has version 2.0"):
        understood(stats)


def test_sets_of_cpus_as_lists_and_texts() -> None:
    numbers = [0, 1, 2, 8, 70, 71]
    assert list(numbers_of(mask_of(numbers))) == numbers
    assert text_of(mask_of(numbers)) == "0-2,8,70-71"
    assert text_of(0) == "none"


# -- what a compute of Nova wrote that no machine can have -----------------------------


def of_nova(**fields: Any) -> tuple[HostCell, ...]:
    """Two cells as Nova's objects; ``fields`` of the second."""
    first = {"id": 0, "cpuset": [0, 1], "pcpuset": [0, 1], "memory": 8}
    second = {"id": 1, "cpuset": [4, 5], "pcpuset": [4, 5], "memory": 8, **fields}
    made = [nova("NUMACell", "1.5", **one) for one in (first, second)]
    return read_cells("t", nova("NUMATopology", "1.2", cells=made))


def test_cpus_of_two_cells_are_of_the_first() -> None:
    first, second = of_nova(cpuset=[1, 4], pcpuset=[1, 4], pinned_cpus=[1, 4])
    assert (first.cpus, first.pcpus) == (0b11, 0b11)
    assert (second.cpus, second.pcpus, second.pinned) == (1 << 4, 1 << 4, 1 << 4)


@pytest.mark.parametrize(
    ("siblings", "cores"),
    [
        ([[4, 6]], (1 << 4, 1 << 5)),
        ([[4]], (1 << 4, 1 << 5)),
        ([[4, 5], [5]], (0b11 << 4,)),
    ],
    ids=["beyond", "lacking", "twice"],
)
def test_each_cpu_is_in_one_core(siblings: Any, cores: tuple[int, ...]) -> None:
    assert of_nova(siblings=siblings)[1].siblings == cores


def test_cpus_that_cannot_be_pinned_are_not() -> None:
    assert of_nova(pinned_cpus=[5, 6])[1].pinned == 1 << 5


def test_more_in_use_than_there_is_leaves_nothing_free() -> None:
    """And use below nothing is none."""
    sizes = ((4, 99_999, 0), (2048, 3, 5))
    pages = [
        nova("NUMAPagesTopology", "1.1", size_kb=size, total=total, used=used)
        for size, total, used in sizes
    ]
    cell = of_nova(mempages=pages, memory_usage=99, cpu_usage=-2)[1]
    assert [one.free for one in cell.pages] == [99_999, -2]
    assert (cell.memory_usage, cell.cpu_usage) == (99, 0)


def test_what_cannot_be_read_of_nova_is_refused() -> None:
    for fields in ({"id": 0}, {"memory": None}, {"cpuset": [True]}):
        with pytest.raises(Invalid, match="t.cells.1"):
            of_nova(**fields)
