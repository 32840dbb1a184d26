"""What a request for a topology or devices can give up, and what is left then."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.model.diagnosis import Relaxation
from gantt.model.spec import Image, RequestSpec, ResourceGroup, ScheduleRequest
from gantt.model.topology import ANY_PAGES, Wanted
from gantt.scheduler.explain.concessions import conceded, concessions
from gantt.scheduler.explain.topology_concessions import OF_TOPOLOGY
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request.requested_topology import topology_of, wanted_of
from tests.scheduler.test_shape import asked
from tests.scheduler.test_topology_request import BOTH, a_spec

GPU = {"name": "gpu", "resource_class": "GPU", "numa_policy": "required"}
OPTIONS = SchedulerOptions(pci_alias=(GPU,))
PINNED = {
    "hw:numa_nodes": "2",
    "hw:cpu_policy": "dedicated",
    "hw:cpu_thread_policy": "isolate",
    "hw:emulator_threads_policy": "isolate",
    "hw:mem_page_size": "2MB",
}
Plain = dict[str, Any]


def offered(spec: RequestSpec) -> dict[str, Relaxation]:
    """By their texts."""
    found = concessions(ScheduleRequest(spec))
    return {one.text: one for one in found if one.kind in OF_TOPOLOGY}


def less(spec: RequestSpec, text: str) -> tuple[RequestSpec, Wanted | None]:
    """The request with that conceded, and what it wants."""
    spec = conceded(ScheduleRequest(spec), offered(spec)[text]).spec
    return spec, wanted_of(spec, OPTIONS, BOTH)


def amounts(spec: RequestSpec) -> Plain:
    return dict(asked(spec)[0].groups[0].resources)


def test_nothing_is_offered_of_ordinary_and_refused_requests() -> None:
    for extra_specs in ({}, {"hw:cpu_policy": "shared"}, {"hw:numa_nodes": "3"}):
        assert not offered(a_spec(extra_specs))
    assert not offered(a_spec({"pci_passthrough:alias": "gpu"}))
    assert not offered(a_spec({"hw:numa_nodes": "1"}))


def test_what_a_topology_can_do_without() -> None:
    assert list(offered(a_spec(PINNED))) == [
        "ask for any page size (hw:mem_page_size=any)",
        "let threads be placed freely (hw:cpu_thread_policy=prefer)",
        "ask for 1 instead of 2 NUMA nodes",
        "ask for shared CPUs (hw:cpu_policy=shared)",
    ]


@pytest.mark.parametrize("is_given", [False, True])
def test_fewer_nodes(is_given: bool) -> None:
    spec = a_spec(PINNED)
    if is_given:
        cells = [
            {"id": n, "pcpuset": [2 * n, 2 * n + 1], "memory": 512}
            | {"cpu_policy": "dedicated", "pagesize": 2048}
            for n in range(2)
        ]
        topology = {"cells": cells, "emulator_threads_policy": "isolate"}
        spec = replace(spec, numa_topology=topology)
    _, wanted = less(spec, "ask for 1 instead of 2 NUMA nodes")
    assert wanted is not None
    (cell,) = wanted.cells
    assert (cell.pcpus, cell.memory, cell.page_kib) == (0b1111, 1024, 2048)
    assert wanted.isolates_emulator


def test_any_page_size() -> None:
    before = topology_of(a_spec(PINNED))
    _, wanted = less(a_spec(PINNED), "ask for any page size (hw:mem_page_size=any)")
    assert before is not None and wanted is not None
    pages = [replace(cell, page_kib=ANY_PAGES) for cell in before.cells]
    assert list(wanted.cells) == pages


@pytest.mark.parametrize(
    ("extra_specs", "properties"),
    [
        (PINNED, {}),
        (
            {"resources:PCPU": "4", "trait:HW_CPU_HYPERTHREADING": "required"},
            {"hw_disk_bus": "virtio"},
        ),
        (
            {"hw:cpu_policy": "dedicated"},
            {"traits_required": ["HW_CPU_HYPERTHREADING", "CUSTOM_A"]},
        ),
        ({}, {"hw_cpu_policy": "dedicated", "hw_cpu_thread_policy": "require"}),
    ],
)
def test_threads_and_shared_cpus(extra_specs: Plain, properties: Plain) -> None:
    spec = a_spec(extra_specs, properties)
    freely = "let threads be placed freely (hw:cpu_thread_policy=prefer)"
    found, wanted = less(spec, freely)
    assert wanted is not None
    assert {cell.threads for cell in wanted.cells} == {"prefer"}
    traits = asked(found)[0].groups[0].traits
    assert "HW_CPU_HYPERTHREADING" not in str(traits)
    assert ("CUSTOM_A" in str(traits)) is ("traits_required" in properties)
    assert amounts(found) == amounts(spec)
    found, wanted = less(spec, "ask for shared CPUs (hw:cpu_policy=shared)")
    assert wanted is not None and not wanted.isolates_emulator
    for cell in wanted.cells:
        assert (cell.pcpus, cell.policy, cell.threads) == (0, "shared", None)
    assert amounts(found)["VCPU"] == 4 and "PCPU" not in amounts(found)


# --------------------------------------------------------------------------- devices

FARTHER = "take devices of any cell (hw:pci_numa_affinity_policy=preferred)"
GIVEN: Plain = {"request_id": "r", "alias_name": "gpu", "count": 3, "spec": [GPU]}


def with_groups() -> RequestSpec:
    groups = [ResourceGroup(f"r-{n}", {"CUSTOM_GPU": 1}) for n in range(3)]
    other = ResourceGroup("port", {"NET_BW_EGR_KILOBIT_PER_SEC": 1})
    return a_spec(
        {"pci_passthrough:alias": "gpu:3", "hw:numa_nodes": "2"},
        pci_requests=({**GIVEN, "numa_policy": "required"},),
        requested_resources=(*groups, other),
    )


def test_fewer_devices_by_alias() -> None:
    spec = a_spec({"pci_passthrough:alias": "gpu:3"})
    assert list(offered(spec)) == [
        "ask for 2 instead of 3 devices gpu",
        "ask for 1 instead of 3 devices gpu",
    ]
    _, wanted = less(spec, "ask for 2 instead of 3 devices gpu")
    assert wanted is not None and [one.count for one in wanted.devices] == [2]
    assert not offered(a_spec({"pci_passthrough:alias": "gpu:1"}))


def test_fewer_devices_take_their_groups_along() -> None:
    found, wanted = less(with_groups(), "ask for 1 instead of 3 devices gpu")
    assert wanted is not None and [one.count for one in wanted.devices] == [1]
    assert [one.requester_id for one in found.requested_resources] == ["r-0", "port"]


@pytest.mark.parametrize(
    "spec",
    [
        with_groups(),
        a_spec({"pci_passthrough:alias": "gpu:1", "hw:numa_nodes": "2"}),
        a_spec(
            {"pci_passthrough:alias": "gpu:1", "hw:numa_nodes": "2"},
            {"hw_pci_numa_affinity_policy": "socket"},
        ),
    ],
)
def test_devices_farther_away(spec: RequestSpec) -> None:
    found, wanted = less(spec, FARTHER)
    assert wanted is not None
    assert [one.affinity for one in wanted.devices] == ["preferred"]
    assert FARTHER not in offered(found)
    # Without cells nothing is near.
    flavor = {"pci_passthrough:alias": "gpu:1"}
    assert FARTHER not in offered(a_spec(flavor))


def test_no_devices_and_no_topology_at_all() -> None:
    request = ScheduleRequest(with_groups())
    bare = conceded(request, Relaxation("pci_requests", None)).spec
    assert [one.requester_id for one in bare.requested_resources] == ["port"]
    found = wanted_of(bare, OPTIONS, BOTH)
    assert found is not None and not found.devices
    topology: Plain = {"cells": [{"id": 0, "cpuset": [0], "memory": 4}]}
    spec = a_spec({"hw:numa_nodes": "2"}, numa_topology=topology)
    without = conceded(ScheduleRequest(spec), Relaxation("numa_topology", None)).spec
    assert wanted_of(without, OPTIONS, BOTH) is None


def test_an_image_keeps_the_rest_of_its_properties() -> None:
    properties = {"hw_cpu_policy": "dedicated", "hw_disk_bus": "virtio"}
    spec = a_spec({}, properties)
    found, _ = less(spec, "ask for shared CPUs (hw:cpu_policy=shared)")
    assert found.image == Image(properties={"hw_disk_bus": "virtio"})
