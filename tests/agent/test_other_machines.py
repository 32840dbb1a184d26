"""Trees of machines of other kinds than the one that reads them."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import pytest

from gantt.agent.collectors.architecture import machine_of, small_page_kib
from gantt.agent.files import Files
from gantt.agent.machine import all_collectors, describe
from tests.agent.trees import KIB_PER_GIB, Tree

ARM = (
    "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd aes atomics\n"
    "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0c\n"
)
POWER = (
    "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3800.000000MHz\n"
    "revision\t: 2.2 (pvr 004e 1202)\n\ntimebase\t: 512000000\nplatform\t: PowerNV\n"
)
OLD_POWER = POWER.replace("POWER9", "POWER7")
MAINFRAME = (
    "vendor_id       : IBM/S390\n# processors    : 4\nfeatures\t: esan3 zarch stfle\n"
    "processor 0: version = FF,  identification = 2733E8,  machine = 2964\n"
)
RISCV = "processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nmmu\t\t: sv39\n"
OLD_ARM = (
    "processor\t: 0\nmodel name\t: ARMv7\nFeatures\t: vfp neon\nCPU architecture: 7\n"
)
INTEL_32 = "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu mmx\n"


def fields(tree: Tree) -> dict[str, Any]:
    return describe(all_collectors(), tree.root).fields


@pytest.mark.parametrize(
    ("cpuinfo", "machine", "trait"),
    [
        (ARM, "aarch64", "HW_ARCH_AARCH64"),
        (POWER, "ppc64le", "HW_ARCH_PPC64LE"),
        (MAINFRAME, "s390x", "HW_ARCH_S390X"),
        (RISCV, "riscv64", None),  # os-traits has no name for it
        (OLD_ARM, "armv7l", "HW_ARCH_ARMV7"),
        (INTEL_32, "i686", "HW_ARCH_I686"),
        (OLD_POWER, None, None),
        ("processor\t: 0\n", None, None),
    ],
)
def test_the_architecture_is_that_of_the_tree(
    tmp_path: Path, cpuinfo: str, machine: str | None, trait: str | None
) -> None:
    tree = Tree(tmp_path)
    tree.write("proc/cpuinfo", cpuinfo)
    found = fields(tree)
    assert found["cpu_info"].get("arch") == machine
    archs = [one for one in found["traits"] if one.startswith("HW_ARCH_")]
    assert archs == ([] if trait is None else [trait])
    assert not [one for one in found["traits"] if "X86" in one and trait is None]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("proc/sys/kernel/arch", "ppc64\n"),
        ("proc/version", "Linux version 3.10.0-957.el7.ppc64 (mock@it) (gcc 4.8)\n"),
    ],
)
def test_the_kernel_tells_before_the_processor(
    tmp_path: Path, path: str, text: str
) -> None:
    tree = Tree(tmp_path)
    tree.write("proc/cpuinfo", POWER)
    tree.write(path, text)
    assert machine_of(Files(tree.root)) == "ppc64"
    assert "HW_ARCH_PPC64" in fields(tree)["traits"]


def test_this_machine_is_asked_itself() -> None:
    assert machine_of(Files()) == platform.machine()
    assert small_page_kib(Files()) in (4, 16, 64)


def test_what_else_a_processor_says(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.write("proc/cpuinfo", MAINFRAME)
    info = fields(tree)["cpu_info"]
    assert (info["vendor"], info["features"]) == (
        "IBM/S390",
        ["esan3", "stfle", "zarch"],
    )
    tree.write("proc/cpuinfo", POWER)
    found = fields(tree)
    assert found["cpu_info"]["model"] == "POWER9, altivec supported"
    assert "HW_CPU_PPC64LE_POWER9" in found["traits"]


@pytest.mark.parametrize(
    ("cpuinfo", "huge", "kib"),
    [
        (ARM, ("64", "2048", "32768", "1048576"), 4),
        (ARM, ("2048", "524288", "16777216"), 64),
        (ARM, ("2048", "32768", "1048576"), 16),
        (POWER, ("2048", "1048576"), 64),
        (MAINFRAME, ("1024",), 4),
        (INTEL_32, ("2048",), 4),
    ],
)
def test_small_pages_are_as_large_as_that_machine_has_them(
    tmp_path: Path, cpuinfo: str, huge: tuple[str, ...], kib: int
) -> None:
    tree = Tree(tmp_path, huge=(0, 0))
    tree.write("proc/cpuinfo", cpuinfo)
    for size in huge:
        tree.write(f"sys/kernel/mm/hugepages/hugepages-{size}kB/nr_hugepages", "0")
    pages = fields(tree)["numa_topology"]["cells"][0]["mempages"]
    assert pages == [{"size_kb": kib, "total": 32 * KIB_PER_GIB // kib}]
    tree.write("proc/self/smaps", "0-1 r--p\nSize: 64 kB\nKernelPageSize:   16 kB\n")
    pages = fields(tree)["numa_topology"]["cells"][0]["mempages"]
    assert pages[0]["size_kb"] == 16


def test_a_list_may_end_with_a_nul(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    before = fields(tree)["numa_topology"]
    for path in tree.root.rglob("*list"):
        path.write_bytes(path.read_bytes() + b"\0")
    tree.write("sys/devices/system/cpu/online", "0-15\n\0")
    part = describe(all_collectors(), tree.root)
    assert part.problems == ()
    assert part.fields["numa_topology"] == before


def test_nodes_that_list_the_same_cpus_cost_the_topology_alone(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.write("sys/devices/system/node/node1/cpulist", "0-15\n")
    part = describe(all_collectors(), tree.root)
    assert "numa_topology" not in part.fields
    assert "numa_topology" in part.unread
    assert (part.fields["vcpus"], part.fields["memory_mb"]) == (16, 64 * 1024)
    (problem,) = part.problems
    assert "the cells are left out: " in problem.reason
    assert problem.path == "/sys/devices/system/node"


def with_gpu_memory(tree: Tree) -> None:
    """Two more nodes, with 16 GiB each and no CPUs."""
    for node in (254, 255):
        folder = f"sys/devices/system/node/node{node}"
        tree.write(f"{folder}/cpulist", "\n")
        tree.write(
            f"{folder}/meminfo", f"Node {node} MemTotal: {16 * KIB_PER_GIB} kB\n"
        )
    tree.write("proc/meminfo", f"MemTotal: {96 * KIB_PER_GIB} kB\n")


def gpus_of(tree: Tree) -> None:
    for number, node in enumerate((254, 255)):
        tree.write(
            f"proc/driver/nvidia/gpus/0004:0{number}:00.0/numa_status",
            f"Node: {node}\nStatus: online\n",
        )


def gpu_devices_of(tree: Tree) -> None:
    tree.write("proc/cpuinfo", POWER)
    tree.device("0004:04:00.0", "10de", "1db1")
    tree.write("sys/bus/pci/devices/0004:04:00.0/class", "0x030200\n")


@pytest.mark.parametrize("known_by", [gpus_of, gpu_devices_of])
def test_memory_of_gpus_is_not_offered(tmp_path: Path, known_by: Any) -> None:
    tree = Tree(tmp_path)
    with_gpu_memory(tree)
    known_by(tree)
    found = fields(tree)
    assert found["memory_mb"] == 64 * 1024
    assert [one["id"] for one in found["numa_topology"]["cells"]] == [0, 1]


def test_other_memory_without_cpus_is(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    with_gpu_memory(tree)
    found = fields(tree)
    assert found["memory_mb"] == 96 * 1024
    assert len(found["numa_topology"]["cells"]) == 4
