"""From flavor, image and ports to what an instance asks to be fitted."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import Invalid, NeverFits
from gantt.model.spec import Flavor, Image, NetworkMetadata, RequestSpec
from gantt.model.topology import (
    ANY_PAGES,
    LARGE_PAGES,
    SMALL_PAGES,
    DeviceRequest,
    Wanted,
)
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request.exact_fit import unjudged
from gantt.scheduler.request.requested_topology import topology_of, wanted_of

BOTH = frozenset({"NUMATopologyFilter", "PciPassthroughFilter"})
OPTIONS = SchedulerOptions()
DEDICATED = {"hw:cpu_policy": "dedicated"}
MIXED = {"hw:cpu_policy": "mixed"}
ISOLATED = {"hw:emulator_threads_policy": "isolate"}
REALTIME = {"hw:cpu_realtime": "yes"}
TWO = {"hw:numa_nodes": "2"}
LARGE = {"hw:mem_page_size": "large"}
NO_TOPOLOGY = frozenset({"numa_topology"})
HYPERTHREADING = "trait:HW_CPU_HYPERTHREADING"
Texts = dict[str, str]
Properties = dict[str, Any]
Plain = dict[str, Any]


def a_spec(
    extra_specs: Texts | None = None,
    properties: Properties | None = None,
    **fields: Any,
) -> RequestSpec:
    flavor = Flavor(vcpus=4, memory_mb=1024, extra_specs=extra_specs or {})
    image = None if properties is None else Image(properties=properties)
    return RequestSpec(**{"flavor": flavor, "image": image, **fields})


def wanted(
    spec: RequestSpec,
    filters: frozenset[str] = BOTH,
    options: SchedulerOptions = OPTIONS,
) -> Wanted:
    found = wanted_of(spec, options, filters)
    assert found is not None
    return found


def cells(
    extra_specs: Texts, properties: Properties | None = None
) -> list[tuple[int, int, int]]:
    """(shared, pinned, MB) of each cell; CPUs as bit masks."""
    found = wanted(a_spec(extra_specs, properties)).cells
    assert [cell.id for cell in found] == list(range(len(found)))
    return [(cell.cpus, cell.pcpus, cell.memory) for cell in found]


def explicit(**changed: str) -> Texts:
    said = {
        "hw__numa_cpus.0": "0-2",
        "hw__numa_cpus.1": "3",
        "hw__numa_mem.0": "1000",
        "hw__numa_mem.1": "24",
        **changed,
    }
    return TWO | {key.replace("__", ":"): one for key, one in said.items() if one}


# ------------------------------------------------------------------------ NUMA cells


@pytest.mark.parametrize(
    ("extra_specs", "properties"),
    [
        ({}, None),
        ({}, {"hw_disk_bus": "virtio"}),
        ({"hw:cpu_policy": "shared"}, None),
        ({"resources:VCPU": "4"}, None),
        ({"hw:emulator_threads_policy": "share"}, None),
        ({"hw:locked_memory": "false"}, None),
        ({"hw:pmem": "", "hw:numa_nodes": "", "hw:mem_page_size": ""}, None),
    ],
)
def test_nothing_to_fit(extra_specs: Texts, properties: Properties | None) -> None:
    assert wanted_of(a_spec(extra_specs, properties), OPTIONS, BOTH) is None


@pytest.mark.parametrize(
    ("extra_specs", "properties", "expected"),
    [
        (TWO, None, [(0b0011, 0, 512), (0b1100, 0, 512)]),
        ({}, {"hw_numa_nodes": 2}, [(0b0011, 0, 512), (0b1100, 0, 512)]),
        ({}, {"hw_numa_nodes": "1"}, [(0b1111, 0, 1024)]),
        (explicit(), None, [(0b0111, 0, 1000), (0b1000, 0, 24)]),
        (
            explicit(**{"hw__numa_cpus.0": "0-3,^3", "hw__numa_cpus.1": " 3 ,"}),
            None,
            [(0b0111, 0, 1000), (0b1000, 0, 24)],
        ),
        # A node may have memory alone.
        (
            explicit(**{"hw__numa_cpus.0": "0-3", "hw__numa_cpus.1": "^0-2"}),
            None,
            [(0b1111, 0, 1000), (0, 0, 24)],
        ),
        # The image says which, as Nova's object and as Glance have it.
        (
            TWO,
            {"hw_numa_cpus": [[0, 1, 2], [3]], "hw_numa_mem": [1000, 24]},
            [(0b0111, 0, 1000), (0b1000, 0, 24)],
        ),
        (
            TWO,
            {
                "hw_numa_cpus.0": "0-2",
                "hw_numa_cpus.1": "3",
                "hw_numa_mem.0": "1000",
                "hw_numa_mem.1": "24",
            },
            [(0b0111, 0, 1000), (0b1000, 0, 24)],
        ),
        (DEDICATED, None, [(0, 0b1111, 1024)]),
        (DEDICATED | TWO, None, [(0, 0b0011, 512), (0, 0b1100, 512)]),
        ({}, {"hw_cpu_policy": "dedicated"}, [(0, 0b1111, 1024)]),
        ({"resources:PCPU": "4"}, None, [(0, 0b1111, 1024)]),
        ({"resources1:PCPU": "2", "resources2:PCPU": "2", "group_policy": "none"}, None,
         [(0, 0b1111, 1024)]),
        (MIXED | {"hw:cpu_dedicated_mask": "^0"}, None, [(0b0001, 0b1110, 1024)]),
        (
            MIXED | TWO | {"hw:cpu_dedicated_mask": "0,2"},
            None,
            [(0b0010, 0b0001, 512), (0b1000, 0b0100, 512)],
        ),
        (
            MIXED | TWO | {"hw:cpu_dedicated_mask": "0-1"},
            None,
            [(0, 0b0011, 512), (0b1100, 0, 512)],
        ),
        (
            MIXED | REALTIME | {"hw:cpu_realtime_mask": "^0"},
            None,
            [(0b0001, 0b1110, 1024)],
        ),
        ({"hw:pmem": "6GB"}, None, [(0b1111, 0, 1024)]),
        ({"hw:cpu_policy": "shared"} | LARGE, None, [(0b1111, 0, 1024)]),
    ],
)  # fmt: skip
def test_cells(
    extra_specs: Texts,
    properties: Properties | None,
    expected: list[tuple[int, int, int]],
) -> None:
    assert cells(extra_specs, properties) == expected


@pytest.mark.parametrize(
    ("extra_specs", "properties", "policy", "threads"),
    [
        (TWO, None, None, None),
        (TWO | {"hw:cpu_policy": "shared"}, None, "shared", None),
        (TWO | {"resources:VCPU": "4"}, None, "shared", None),
        (DEDICATED, {"hw_cpu_policy": "shared"}, "dedicated", None),
        (
            DEDICATED | {"hw:cpu_thread_policy": "require"},
            None,
            "dedicated",
            "require",
        ),
        (
            DEDICATED | {"hw:cpu_thread_policy": "prefer"},
            {"hw_cpu_thread_policy": "isolate"},
            "dedicated",
            "prefer",
        ),
        (
            DEDICATED,
            {"hw_cpu_thread_policy": "isolate"},
            "dedicated",
            "isolate",
        ),
        (DEDICATED | {HYPERTHREADING: "required"}, None, "dedicated", "require"),
        (DEDICATED | {HYPERTHREADING: "forbidden"}, None, "dedicated", "isolate"),
        (
            DEDICATED,
            {"traits_required": ["HW_CPU_HYPERTHREADING"]},
            "dedicated",
            "require",
        ),
    ],
)
def test_policies_are_those_of_every_cell(
    extra_specs: Texts,
    properties: Properties | None,
    policy: str | None,
    threads: str | None,
) -> None:
    for cell in wanted(a_spec(extra_specs, properties)).cells:
        assert (cell.policy, cell.threads) == (policy, threads)


@pytest.mark.parametrize(
    ("extra_specs", "expected"),
    [
        (DEDICATED, False),
        (DEDICATED | {"hw:emulator_threads_policy": "share"}, False),
        (DEDICATED | ISOLATED, True),
        ({"resources:PCPU": "5"} | ISOLATED, True),
        (MIXED | ISOLATED | {"hw:cpu_dedicated_mask": "0"}, True),
        # Emulator threads elsewhere: all CPUs may be real-time.
        (DEDICATED | ISOLATED | REALTIME, True),
    ],
)
def test_emulator_threads(extra_specs: Texts, expected: bool) -> None:
    assert wanted(a_spec(extra_specs)).isolates_emulator is expected


@pytest.mark.parametrize(
    ("flavor", "image", "expected"),
    [
        ("small", None, SMALL_PAGES),
        ("large", None, LARGE_PAGES),
        ("any", None, ANY_PAGES),
        ("2048", None, 2048),
        ("2MB", None, 2048),
        ("2MiB", None, 2048),
        ("0.5GB", None, 524_288),
        ("4KB", None, 4),
        ("any", "small", SMALL_PAGES),
        ("large", "2MB", 2048),
        ("any", 4, 4),
        ("large", None, LARGE_PAGES),
    ],
)
def test_page_sizes(flavor: str, image: object, expected: int) -> None:
    properties = None if image is None else {"hw_mem_page_size": image}
    found = wanted(a_spec({"hw:mem_page_size": flavor}, properties))
    assert [cell.page_kib for cell in found.cells] == [expected]


@pytest.mark.parametrize(("vcpus", "memory_mb"), [(0, 64), (1, 0)])
def test_cells_need_cpus_and_memory(vcpus: int, memory_mb: int) -> None:
    """Not a number of nodes that was never set is named, but what lacks."""
    flavor = Flavor(vcpus, memory_mb, extra_specs={"hw:cpu_policy": "dedicated"})
    words = f"vcpus={vcpus} and memory_mb={memory_mb}"
    with pytest.raises(NeverFits, match=words):
        topology_of(RequestSpec(flavor))


@pytest.mark.parametrize(
    ("extra_specs", "properties", "words"),
    [
        ({"hw:numa_nodes": "0"}, None, "hw:numa_nodes='0'"),
        ({"hw:numa_nodes": "two"}, None, "hw:numa_nodes='two'"),
        ({"hw:numa_nodes": "1000"}, None, "give 1 to 128"),
        ({"hw:numa_nodes": "3"}, None, "4 vCPUs and 1024 MB cannot be divided evenly"),
        ({"hw:numa_nodes": "8"}, None, "hw:numa_nodes=8"),
        (TWO, {"hw_numa_nodes": 2}, "hw_numa_nodes=2"),
        (explicit(), {"hw_numa_cpus": [[0, 1], [2, 3]]}, "hw_numa_cpus.N"),
        (explicit(**{"hw__numa_mem.1": ""}), None, "nothing of hw:numa_mem.1"),
        (explicit(**{"hw__numa_cpus.0": ""}), None, "nothing of hw:numa_cpus.0"),
        (explicit(**{"hw__numa_cpus.2": "0"}), None, "hw:numa_cpus.2='0'"),
        (explicit(**{"hw__numa_cpus.x": "0"}), None, "hw:numa_cpus.x='0'"),
        (explicit(**{"hw__numa_cpus.1": "4"}), None, "names CPU 4, the flavor has 4"),
        (explicit(**{"hw__numa_cpus.1": "2-3"}), None, "hw:numa_cpus.1 has vCPU 2"),
        (explicit(**{"hw__numa_cpus.0": "0-1"}), None, "vCPU 2 of 4 is in no"),
        (explicit(**{"hw__numa_mem.1": "25"}), None, "1000+25 MB, together 1025"),
        (explicit(**{"hw__numa_mem.1": "0"}), None, "hw:numa_mem.1='0'"),
        ({"hw:mem_page_size": "huge"}, None, "hw:mem_page_size='huge'"),
        ({"hw:mem_page_size": "2mb"}, None, "hw:mem_page_size='2mb'"),
        ({"hw:mem_page_size": "0"}, None, "hw:mem_page_size='0'"),
        ({"hw:mem_page_size": "3MB"}, None, "no multiple of it"),
        ({}, {"hw_mem_page_size": "2MB"}, "does not set hw:mem_page_size"),
        (
            {"hw:mem_page_size": "small"},
            {"hw_mem_page_size": "any"},
            "an image chooses only if",
        ),
        (LARGE, {"hw_mem_page_size": "x"}, "hw_mem_page_size='x'"),
        ({"hw:locked_memory": "true"}, None, "hw:locked_memory"),
        (TWO | {"hw:locked_memory": "true"}, None, "needs a page size"),
        ({}, {"hw_locked_memory": True}, "hw_locked_memory"),
        (
            LARGE | {"hw:locked_memory": "true"},
            {"hw_locked_memory": False},
            "let them agree",
        ),
        ({"hw:cpu_thread_policy": "prefer"}, None, "hw:cpu_thread_policy=prefer"),
        ({HYPERTHREADING: "required"}, None, "is for pinned CPUs"),
        (
            DEDICATED | {HYPERTHREADING: "required", "hw:cpu_thread_policy": "require"},
            None,
            "both say how threads are used",
        ),
        (
            DEDICATED
            | {HYPERTHREADING: "required"}
            | {"trait2:HW_CPU_HYPERTHREADING": "forbidden"},
            None,
            "is required and forbidden",
        ),
        (ISOLATED | TWO, None, "hw:emulator_threads_policy=isolate is for pinned"),
        (REALTIME, None, "hw:cpu_realtime=true is for pinned"),
        (DEDICATED | REALTIME, None, "makes 4 of 4 CPUs real-time"),
        (
            DEDICATED | REALTIME | {"hw:cpu_realtime_mask": "^0-3"},
            None,
            "makes 0 of 4 CPUs real-time",
        ),
        (DEDICATED | {"hw:cpu_dedicated_mask": "0"}, None, "is for hw:cpu_policy=mix"),
        ({"hw:cpu_dedicated_mask": "0"}, None, "is for hw:cpu_policy=mixed"),
        (MIXED, None, "does not say which CPUs are pinned"),
        (MIXED | {"hw:cpu_dedicated_mask": "0-3"}, None, "pins 4 of 4 CPUs"),
        (
            MIXED | REALTIME | {"hw:cpu_dedicated_mask": "0"} | ISOLATED,
            None,
            "say only one of them",
        ),
        ({"resources:PCPU": "3"}, None, "ask for 4"),
    ],
)
def test_impossible_topologies_are_refused(
    extra_specs: Texts, properties: Properties | None, words: str
) -> None:
    # Whichever filters are enabled.
    for filters in (BOTH, frozenset[str]()):
        with pytest.raises(Invalid) as caught:
            wanted_of(a_spec(extra_specs, properties), OPTIONS, filters)
        assert words in caught.value.message


# ----------------------------------------------------------- which filters ask for it


NIC = {
    "request_id": "r1",
    "count": 1,
    "spec": [{"physical_network": "p1", "remote_managed": True}],
}


def test_only_what_a_filter_checks_is_wanted() -> None:
    spec = a_spec(
        TWO,
        pci_requests=(NIC,),
        network_metadata=NetworkMetadata(frozenset({"p1"}), tunneled=True),
    )
    whole = wanted(spec)
    assert len(whole.cells) == 2 and len(whole.devices) == 1
    assert whole.physical_networks == {"p1"} and whole.is_tunnelled
    # Devices are fitted near the cells.
    assert wanted(spec, frozenset({"NUMATopologyFilter"})) == whole
    devices = wanted(spec, frozenset({"PciPassthroughFilter"}))
    assert devices == Wanted(devices=whole.devices)
    assert wanted_of(spec, OPTIONS, frozenset()) is None
    # Without cells, nothing is near them.
    alone = a_spec(pci_requests=(NIC,), network_metadata=spec.network_metadata)
    assert wanted(alone) == Wanted(devices=whole.devices)
    assert wanted_of(alone, OPTIONS, frozenset({"NUMATopologyFilter"})) is None


# ------------------------------------------------------------------ what a spec bears


def test_a_given_topology_wins() -> None:
    cell: Plain = {"id": 1, "cpuset": [], "pcpuset": [0], "memory": 64}
    cell["cpu_policy"] = "dedicated"
    topology = {"cells": [cell]}
    # Even where its flavor would be refused today.
    spec = a_spec({"hw:numa_nodes": "3"}, numa_topology=topology)
    (found,) = wanted(spec).cells
    assert (found.id, found.pcpus, found.memory) == (1, 0b1, 64)
    with pytest.raises(Invalid, match="numa_topology.cells.0.memory"):
        wanted(a_spec(numa_topology={"cells": [{**cell, "memory": -1}]}))


def test_nova_says_that_there_is_no_topology() -> None:
    none = a_spec(TWO, nulls=NO_TOPOLOGY)
    assert wanted_of(none, OPTIONS, BOTH) is None
    unset = a_spec(TWO, unset=NO_TOPOLOGY)
    assert len(wanted(unset).cells) == 2


# --------------------------------------------------------------------------- devices

GPU: Plain = {"vendor_id": "10de", "product_id": "1eb8"}
VF: Plain = {"vendor_id": "8086", "dev_type": "type-VF"}
ALIASES = (
    GPU | {"name": "gpu", "numa_policy": "required"},
    {"name": "nic", "vendor_id": "8086", "product_id": "1", "device_type": "type-VF"},
    {"name": "nic", "vendor_id": "8086", "product_id": "2", "device_type": "type-VF"},
    {"name": "odd", "resource_class": "A", "device_type": "vdpa"},
    {"name": "two", "resource_class": "A", "device_type": "type-PF"},
    {"name": "two", "resource_class": "A", "device_type": "type-VF"},
    {"name": "far", "resource_class": "A", "numa_policy": "required"},
    {"name": "far", "resource_class": "B", "numa_policy": "preferred"},
    {"name": "moves", "resource_class": "A", "live_migratable": "yes"},
    {"name": "lost", "resource_class": "A", "numa_policy": "there"},
)  # fmt: skip
WITH_ALIASES = SchedulerOptions(pci_alias=ALIASES)
NEAR = "hw:pci_numa_affinity_policy"


def asks(text: str) -> Texts:
    return {"pci_passthrough:alias": text}


def test_aliases() -> None:
    found = wanted(a_spec(asks("gpu:2, nic:1,gpu:0")), options=WITH_ALIASES).devices
    assert found == (
        DeviceRequest("gpu", 2, (GPU,), is_of_flavor=True, affinity="required"),
        DeviceRequest(
            "nic",
            1,
            (VF | {"product_id": "1"}, VF | {"product_id": "2"}),
            is_of_flavor=True,
        ),
    )
    assert found[0].suffixes == ["gpu-0", "gpu-1"]


def test_an_alias_that_can_migrate() -> None:
    (found,) = wanted(a_spec(asks("moves:1")), options=WITH_ALIASES).devices
    assert found.wanted == ({"resource_class": "A", "live_migratable": "true"},)


def test_each_request_has_an_id_of_its_own() -> None:
    found = wanted(a_spec(asks("gpu:1,gpu:2,gpu:1")), options=WITH_ALIASES).devices
    assert [one.request_id for one in found] == ["gpu", "gpu_", "gpu__"]


@pytest.mark.parametrize(
    ("extra_specs", "properties", "expected"),
    [
        ({NEAR: "socket"}, None, "socket"),
        ({}, {"hw_pci_numa_affinity_policy": "preferred"}, "preferred"),
        ({}, None, "required"),
    ],
)
def test_the_flavor_decides_on_affinity(
    extra_specs: Texts, properties: Properties | None, expected: str
) -> None:
    spec = a_spec(asks("gpu:1") | extra_specs, properties)
    (found,) = wanted(spec, options=WITH_ALIASES).devices
    assert found.affinity == expected


def test_ports() -> None:
    virtual: Plain = {
        "physical_network": None,
        "remote_managed": True,
        "dev_type": "vdpa",
        "ids": ["a", 1],
    }
    port = {"request_id": "p1", "requester_id": "port", "count": 1, "spec": [virtual]}
    spec = a_spec({NEAR: "required"}, pci_requests=(port,))
    (found,) = wanted(spec).devices
    said = {**virtual, "remote_managed": "true", "ids": ("a", "1")}
    assert found == DeviceRequest("p1", 1, (said,), affinity="required")
    # What the port says itself, as Nova's object has it, comes first.
    for policy, expected in (("socket", "socket"), (None, "legacy")):
        spec = a_spec(
            {NEAR: "required"}, pci_requests=({**port, "numa_policy": policy},)
        )
        assert wanted(spec).devices[0].affinity == expected


def test_given_devices_of_the_flavor_win() -> None:
    mine = {"request_id": "r", "alias_name": "gpu", "count": 1, "spec": [GPU]}
    spec = a_spec(asks("gpu:2,none:1"), pci_requests=(mine,))
    assert [one.request_id for one in wanted(spec).devices] == ["r"]
    port = {**mine, "alias_name": None}
    both = a_spec(asks("gpu:2"), pci_requests=(port,))
    found = wanted(both, options=WITH_ALIASES).devices
    assert [one.request_id for one in found] == ["gpu", "r"]


@pytest.mark.parametrize(
    ("extra_specs", "words"),
    [
        (asks("gpu"), "'gpu' is not NAME:COUNT"),
        (asks("gpu:x"), "'gpu:x' is not NAME:COUNT"),
        (asks("gpu:1,"), "'' is not NAME:COUNT"),
        (asks("tpu:1"), "there is no alias 'tpu'"),
        (asks("odd:1"), "has device_type 'vdpa'"),
        (asks("two:1"), "with device_type 'type-PF', 'type-VF'"),
        (asks("far:1"), "with numa_policy 'required', 'preferred'"),
        (asks("lost:1"), "numa_policy='there'"),
        (asks("gpu:1") | {NEAR: "close"}, f"{NEAR}='close'"),
        (asks("gpu:1025"), "'gpu:1025' asks for more than 1024 devices"),
    ],
)
def test_impossible_devices_are_refused(extra_specs: Texts, words: str) -> None:
    with pytest.raises(Invalid) as caught:
        wanted_of(a_spec(extra_specs), WITH_ALIASES, BOTH)
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"count": 1025, "spec": [GPU]}, "count=1025"),
        ({"count": 1, "spec": []}, "1 device and has spec=[]"),
        ({"count": 1, "spec": None}, "1 device and has spec=[]"),
    ],
)
def test_requests_that_no_device_meets(entry: Plain, words: str) -> None:
    with pytest.raises(Invalid) as caught:
        wanted_of(a_spec(pci_requests=(entry,)), SchedulerOptions(), BOTH)
    assert words in caught.value.message


# ------------------------------------------------------------- what no filter checks


def test_unchecked_parts_are_named() -> None:
    spec = a_spec(DEDICATED | asks("gpu:1"))
    said = dict(unjudged(spec, frozenset()))
    assert set(said) == BOTH
    assert "hw:cpu_policy=dedicated" in said["NUMATopologyFilter"]
    assert "pci_passthrough:alias=gpu:1" in said["PciPassthroughFilter"]
    assert list(dict(unjudged(spec, {"NUMATopologyFilter"}))) == [
        "PciPassthroughFilter"
    ]
    assert not [*unjudged(spec, BOTH)]


@pytest.mark.parametrize(
    ("extra_specs", "properties", "words"),
    [
        (LARGE, {"hw_mem_page_size": 4}, "hw:mem_page_size=large"),
        ({"hw:pmem": "6GB"}, None, "hw:pmem=6GB"),
        ({"resources:PCPU": "4"}, None, "resources:PCPU=4"),
        ({"hw:cpu_policy": "shared"}, {"hw_numa_nodes": 2}, "hw_numa_nodes=2"),
    ],
)
def test_what_asks_for_a_topology(
    extra_specs: Texts, properties: Properties | None, words: str
) -> None:
    spec = a_spec(extra_specs, properties)
    (said,) = dict(unjudged(spec, frozenset())).values()
    assert words in said
    assert wanted(spec).cells
    assert not [*unjudged(replace(spec, nulls=NO_TOPOLOGY), frozenset())]


def test_nothing_is_said_of_ordinary_requests() -> None:
    for extra_specs in ({}, {"hw:cpu_policy": "shared"}, {"hw:numa_nodes": ""}):
        assert not [*unjudged(a_spec(extra_specs), frozenset())]
