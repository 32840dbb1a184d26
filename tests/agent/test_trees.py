"""What the collectors make of other machines' /proc and /sys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gantt.agent.collectors.metrics import MetricsCollector
from gantt.agent.collectors.numa import NumaCollector
from gantt.agent.collectors.pci import PciCollector, offer_of
from gantt.agent.files import MOST_BYTES, Files, cpus_of
from gantt.agent.machine import all_collectors, describe, with_use
from gantt.errors import Invalid
from gantt.model.forms.shared_topology import read_host
from gantt.model.topology import Device, Pages
from tests.agent.trees import DISK, GPU, NIC, PF, VFS, Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path).furnish()


def found(tree: Tree, *more: Any) -> dict[str, Any]:
    part = describe(all_collectors(), tree.root)
    assert part.problems == () and part.unread == frozenset()
    return part.fields


def test_amounts_of_a_machine_with_two_sockets(tree: Tree) -> None:
    fields = with_use(found(tree))
    assert (fields["vcpus"], fields["memory_mb"]) == (16, 2 * 32 * 1024)
    assert (fields["local_gb"], fields["free_disk_gb"]) == (1024, 1024)
    assert (fields["vcpus_used"], fields["free_ram_mb"]) == (0, 2 * 32 * 1024)
    assert "HW_CPU_HYPERTHREADING" in fields["traits"]
    info = fields["cpu_info"]
    assert info["topology"] == {"sockets": 2, "cores": 4, "threads": 2}
    assert (info["model"], info["vendor"]) == ("Imaginary 9000", "GenuineIntel")
    assert "avx2" in info["features"]


def test_cells_have_cpus_cores_memory_and_pages(tree: Tree) -> None:
    host = read_host(found(tree))
    assert host.obeys
    first, second = host.cells
    assert (first.id, first.socket, second.id, second.socket) == (0, 0, 1, 1)
    assert first.cpus == first.pcpus == sum(1 << one for one in tree.cpus(0))
    assert tree.cpus(0) == [0, 1, 2, 3, 8, 9, 10, 11]
    assert first.siblings[0] == (1 << 0) | (1 << 8)
    assert len(second.siblings) == 4
    assert first.memory == 32 * 1024
    small, huge = first.pages
    assert huge == Pages(2048, 1024, used=24)
    assert small.total * 4 + huge.total * 2048 == 32 * 1024 * 1024


def test_cpus_that_are_not_online_are_in_no_cell(tree: Tree) -> None:
    tree.write("sys/devices/system/cpu/online", "0-7\n")
    first, second = read_host(found(tree)).cells
    assert (first.cpus, second.cpus) == (0b1111, 0b11110000)
    assert first.siblings == (1, 2, 4, 8)


def test_dedicated_cpus_are_not_shared(tree: Tree) -> None:
    fields = NumaCollector(dedicated=frozenset(range(2, 8))).collect(Files(tree.root))
    first, second = read_host(fields).cells
    assert first.pcpus == (1 << 2) | (1 << 3)
    assert first.cpus == sum(1 << one for one in (0, 1, 8, 9, 10, 11))
    assert second.pcpus == 0b11110000


def test_a_machine_without_numa_is_one_cell(tmp_path: Path) -> None:
    tree = Tree(tmp_path, sockets=1)
    nodes = tree.root / "sys/devices/system/node"
    nodes.rename(tmp_path / "elsewhere")
    (cell,) = read_host(found(tree)).cells
    assert (cell.id, cell.memory, cell.cpus) == (0, 32 * 1024, 0xFF)


def test_virtual_functions_and_passed_through_devices_are_offered(tree: Tree) -> None:
    pools = read_host(found(tree)).pools
    assert pools is not None
    vfs, gpu = sorted(pools, key=lambda pool: pool.tags["dev_type"], reverse=True)
    assert vfs.tags["dev_type"] == "type-VF" and vfs.numa_node == 0
    assert vfs.devices == tuple(Device(one, PF) for one in VFS)
    assert (gpu.devices, gpu.numa_node) == ((Device(GPU),), 1)
    assert gpu.tags == {
        "vendor_id": "10de",
        "product_id": "1eb8",
        "dev_type": "type-PCI",
    }


@pytest.mark.parametrize(
    ("offer", "address", "kind"),
    [
        ("8086:1572", PF, "type-PF"),
        (PF.upper(), PF, "type-PF"),
        ("8086:1521", NIC, "type-PCI"),
        ("144d:*", DISK, "type-PCI"),
    ],
)
def test_an_operator_may_offer_more(
    tree: Tree, offer: str, address: str, kind: str
) -> None:
    collected = PciCollector((offer_of(offer),)).collect(Files(tree.root))
    pools = {one["devices"][0]["address"]: one for one in collected["pci_stats"]}
    assert pools.keys() == {VFS[0], GPU, address}
    assert pools[address]["dev_type"] == kind
    assert ("numa_node" in pools[address]) == (address != DISK)


@pytest.mark.parametrize("text", ["", "gpu", "10de", "10de:1eb8:1", "*:1eb8", "3b:00"])
def test_an_offer_that_names_no_device_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="VENDOR:PRODUCT"):
        offer_of(text)


def metrics(collector: MetricsCollector, tree: Tree) -> dict[str, Any]:
    fields = collector.collect(Files(tree.root))
    return {one["name"]: one.get("value") for one in fields["metrics"]}


def test_load_is_what_was_spent_since_it_was_asked_before(tree: Tree) -> None:
    collector = MetricsCollector()
    first = metrics(collector, tree)
    assert first["cpu.percent"] == 0.15 and first["cpu.idle.percent"] == 0.8
    tree.write("proc/stat", "cpu  160 0 60 810 70 0 0 0 0 0\n")
    then = metrics(collector, tree)
    assert then["cpu.user.percent"] == 0.6 and then["cpu.kernel.percent"] == 0.1
    assert (then["cpu.iowait.percent"], then["cpu.percent"]) == (0.2, 0.7)
    assert then["cpu.user.time"] == 1_600_000_000
    assert "numa.membw.current" not in then and "cpu.frequency" not in then


def test_bandwidth_and_frequency_where_they_can_be_read(tree: Tree) -> None:
    times = iter((10.0, 12.0))
    collector = MetricsCollector(lambda: next(times))
    tree.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2400000\n")
    counter = "sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes"
    tree.write(counter, "1000000\n")
    assert metrics(collector, tree)["cpu.frequency"] == 2400
    tree.write(counter, "801000000\n")
    found = collector.collect(Files(tree.root))["metrics"]
    (bandwidth,) = (one for one in found if one["name"] == "numa.membw.current")
    assert bandwidth["numa_membw_values"] == {"0": 400}


@pytest.mark.parametrize(
    ("path", "missing"),
    [
        ("proc/cpuinfo", {"cpu_info", "traits"}),
        ("proc/meminfo", {"memory_mb"}),
        ("proc/stat", {"metrics"}),
        ("sys/devices/system/node/node1/cpulist", {"numa_topology"}),
        ("sys/devices/system/node/node1/meminfo", {"numa_topology"}),
        (
            "sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages",
            {"numa_topology"},
        ),
        ("sys/devices/system/cpu/online", {"vcpus", "numa_topology"}),
        ("sys/block/sda/size", {"local_gb"}),
    ],
)
@pytest.mark.parametrize("is_odd", [False, True])
def test_what_cannot_be_read_is_named_and_the_rest_goes_on(
    tree: Tree, path: str, missing: set[str], is_odd: bool
) -> None:
    file = tree.root / path
    if is_odd and not file.name.endswith("info"):
        tree.write(path, "\x00odd\xff")
    else:
        file.unlink()
    part = describe(all_collectors(), tree.root)
    assert f"/{path}" in {one.path for one in part.problems}
    assert missing <= part.unread
    assert part.unread.isdisjoint(part.fields)
    every = {"vcpus", "memory_mb", "local_gb", "traits", "cpu_info", "metrics"}
    assert every - part.fields.keys() <= missing


def test_a_device_that_cannot_be_read_is_left_out(tree: Tree) -> None:
    (tree.root / f"sys/bus/pci/devices/{GPU}/vendor").unlink()
    part = describe([PciCollector()], tree.root)
    (pool,) = part.fields["pci_stats"]
    assert pool["count"] == len(VFS)
    assert [one.path for one in part.problems] == [f"/sys/bus/pci/devices/{GPU}/vendor"]


class Failing:
    provides = frozenset({"host_ip"})

    def collect(self, files: Files) -> dict[str, Any]:
        raise ZeroDivisionError("by zero")


class Overreaching:
    provides = frozenset({"host_ip"})

    def collect(self, files: Files) -> dict[str, Any]:
        return {"vcpus": 1}


class Odd:
    provides = frozenset({"host_ip"})

    def collect(self, files: Files) -> dict[str, Any]:
        return {"host_ip": 7}


@pytest.mark.parametrize("collector", [Failing(), Overreaching(), Odd()])
def test_a_collector_that_fails_keeps_nothing_else_out(
    tree: Tree, collector: Any
) -> None:
    part = describe([collector, *all_collectors()], tree.root)
    assert part.fields["vcpus"] == 16 and "host_ip" not in part.fields
    (problem,) = part.problems
    assert type(collector).__name__ in str(problem)
    assert part.unread == {"host_ip"}


def test_a_file_that_is_too_large_is_a_problem(tree: Tree) -> None:
    with (tree.root / "proc/meminfo").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    files = Files(tree.root)
    assert files.text("/proc/meminfo") is None
    assert str(MOST_BYTES) in files.problems[0].reason


def test_what_is_no_file_is_a_problem(tree: Tree) -> None:
    (tree.root / "proc/meminfo").unlink()
    (tree.root / "proc/meminfo").mkdir()
    part = describe(all_collectors(), tree.root)
    assert str(part.problems[0]) == "/proc/meminfo: Is a directory"


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("", []), ("3", [3]), ("0-2,8", [0, 1, 2, 8])],
)
def test_lists_of_cpus(text: str, cpus: list[int]) -> None:
    assert list(cpus_of(text)) == cpus


@pytest.mark.parametrize("text", ["x", "3-1", "0-70000", "1,,2", "-1"])
def test_odd_lists_of_cpus_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        list(cpus_of(text))


def test_what_a_machine_costs_grows_with_its_cpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that are read for one report; each takes some microseconds."""
    reads: list[str] = []
    read = Files.read

    def counting(files: Files, path: str) -> str:
        reads.append(path)
        return read(files, path)

    monkeypatch.setattr(Files, "read", counting)

    def count(cores: int) -> int:
        tree = Tree(tmp_path / str(cores), cores=cores)
        reads.clear()
        describe(all_collectors(), tree.root)
        return len(reads)

    few, many = count(4), count(8)
    assert few <= 140
    assert many - few <= 6 * 16, "at most six for each CPU"
