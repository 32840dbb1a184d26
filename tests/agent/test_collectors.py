"""Collectors on sample files, and on the machine that runs the test."""

from __future__ import annotations

import os
from pathlib import Path

import os_traits
import pytest

from gantt.agent.collectors import traits
from gantt.agent.collectors.contract import Part, merge
from gantt.agent.collectors.cpu import CpuCollector
from gantt.agent.collectors.disk import DiskCollector
from gantt.agent.collectors.memory import MemoryCollector
from gantt.agent.collectors.traits import TraitsCollector
from gantt.agent.files import Files
from gantt.agent.machine import (
    all_collectors,
    default_collectors,
    describe,
    machine_uuid,
)
from gantt.model.commands import Inventory
from gantt.model.names import MAX_INT

INTEL = """processor\t: 0
vendor_id\t: GenuineIntel
siblings\t: 8
cpu cores\t: 4
flags\t\t: fpu mmx sse pni sse4_2 vmx avx avx2 avx512f vaes pcid ssbd ht aes svm_lock

processor\t: 1
vendor_id\t: GenuineIntel
flags\t\t: fpu xop
"""

AMD = """processor\t: 0
vendor_id\t: AuthenticAMD
siblings\t: 2
cpu cores\t: 2
flags\t\t: fpu sse sse4a svm bmi1 fma sev sev_es vaes pcid ibpb abm ht pclmulqdq
"""

ARM = """processor\t: 0
BogoMIPS\t: 50.00
Features\t: fp asimd evtstrm aes crc32 atomics cpuid sve sve2 i8mm
CPU implementer\t: 0x41
"""

POWER = "processor\t: 0\ncpu\t\t: POWER9 (architected), altivec supported\n"


def write(root: Path, path: str, text: str) -> None:
    """A file of a recorded tree."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def _traits(tmp_path: Path, text: str, machine: str) -> set[str]:
    write(tmp_path, "proc/cpuinfo", text)
    write(tmp_path, "proc/sys/kernel/arch", machine)
    return set(TraitsCollector().collect(Files(tmp_path))["traits"])


def test_intel_flags(tmp_path: Path) -> None:
    expected = "MMX SSE SSE3 SSE42 VMX INTEL_VMX AVX AVX2 AVX512F AVX512VAES "
    expected += "INTEL_PCID INTEL_SSBD AESNI"
    assert _traits(tmp_path, INTEL, "x86_64") == {
        "HW_ARCH_X86_64",
        "HW_CPU_HYPERTHREADING",
        *(f"HW_CPU_X86_{name}" for name in expected.split()),
    }


def test_amd_flags_give_amd_traits_only(tmp_path: Path) -> None:
    expected = "SSE SSE4A SVM AMD_SVM BMI FMA3 AMD_SEV AMD_SEV_ES AMD_IBPB ABM CLMUL"
    assert _traits(tmp_path, AMD, "x86_64") == {
        "HW_ARCH_X86_64",
        "HW_CPU_AMD_SEV",
        *(f"HW_CPU_X86_{name}" for name in expected.split()),
    }


def test_arm_features(tmp_path: Path) -> None:
    expected = "FP ASIMD EVTSTRM AES CRC32 ATOMICS CPUID SVE"
    assert _traits(tmp_path, ARM, "aarch64") == {
        "HW_ARCH_AARCH64",
        *(f"HW_CPU_AARCH64_{name}" for name in expected.split()),
    }


def test_power_generation(tmp_path: Path) -> None:
    found = _traits(tmp_path, POWER, "ppc64le")
    assert found == {"HW_ARCH_PPC64LE", "HW_CPU_PPC64LE_POWER9"}


def test_unknown_architecture_has_no_traits(tmp_path: Path) -> None:
    assert _traits(tmp_path, "", "pdp11") == set()


def test_trait_tables_match_os_traits() -> None:
    x86 = [
        traits.X86_FLAGS,
        traits.X86_FLAGS_WITH_AVX512,
        *traits.X86_FLAGS_OF_VENDOR.values(),
    ]
    names = {traits.X86 + name for table in x86 for name in table.values()}
    names |= {traits.ARM + name.upper() for name in traits.ARM_FEATURES}
    names |= {f"HW_ARCH_{name}" for name in traits.ARCHITECTURES.values()}
    names |= {"HW_CPU_AMD_SEV", "HW_CPU_HYPERTHREADING"}
    names |= {"HW_CPU_PPC64LE_POWER8", "HW_CPU_PPC64LE_POWER9"}
    assert names <= set(os_traits.get_traits())


def test_memory_is_counted_in_whole_mib(tmp_path: Path) -> None:
    write(tmp_path, "proc/meminfo", "MemTotal:   2049023 kB\nMemFree:        1 kB\n")
    assert MemoryCollector().collect(Files(tmp_path)) == {"memory_mb": 2000}


@pytest.mark.parametrize("text", ["", "MemFree: 4096 kB\n", "MemTotal: many kB\n"])
def test_memory_that_is_not_told_is_a_problem(tmp_path: Path, text: str) -> None:
    write(tmp_path, "proc/meminfo", text)
    files = Files(tmp_path)
    assert MemoryCollector().collect(files) == {}
    assert [one.path for one in files.problems] == ["/proc/meminfo"]


def test_memory_below_one_mib_is_not_offered(tmp_path: Path) -> None:
    write(tmp_path, "proc/meminfo", "MemTotal: 1023 kB\n")
    part = describe([MemoryCollector()], tmp_path)
    assert part.inventories == {}


def test_usable_processors_are_counted() -> None:
    assert CpuCollector(lambda: {1, 5, 7}).collect(Files())["vcpus"] == 3


class _FileSystem:
    def __init__(self, f_blocks: int) -> None:
        self.f_blocks = f_blocks
        self.f_frsize = 4096


@pytest.mark.parametrize(
    ("blocks", "total"),
    [(262_143, None), (262_144, 1), (600_000, 2), (2**62, MAX_INT)],
)
def test_disk_is_counted_in_whole_gib(
    monkeypatch: pytest.MonkeyPatch, blocks: int, total: int | None
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: _FileSystem(blocks))
    inventories = describe([DiskCollector()]).inventories
    if total is None:
        assert inventories == {}
    else:
        assert inventories == {"DISK_GB": Inventory(total=total, max_unit=total)}


def test_what_cannot_be_read_is_told_and_keeps_nothing_else_out(
    tmp_path: Path,
) -> None:
    part = describe([DiskCollector(tmp_path / "none"), CpuCollector(lambda: {1})])
    assert part.fields["vcpus"] == 1
    (problem,) = part.problems
    assert problem.path == str(tmp_path / "none")
    assert part.unread == {"local_gb"}


def test_default_collectors_describe_this_machine() -> None:
    part = describe(default_collectors())
    assert part.inventories["VCPU"].total == len(os.sched_getaffinity(0))
    assert part.inventories["MEMORY_MB"].total > 0
    assert part.traits <= set(os_traits.get_traits())


def test_collectors_find_only_what_they_provide() -> None:
    for collector in all_collectors():
        found = collector.collect(Files())
        assert found.keys() <= collector.provides


def test_later_parts_take_precedence_and_lists_are_joined() -> None:
    first = Part({"vcpus": 1, "traits": ("A", "C"), "stats": {"a": 1}, "metrics": [1]})
    second = Part({"vcpus": 2, "traits": ("B", "A"), "stats": {"b": 2}, "metrics": [2]})
    assert merge([first, second]).fields == {
        "vcpus": 2,
        "traits": ("A", "B", "C"),
        "stats": {"a": 1, "b": 2},
        "metrics": [1, 2],
    }


def test_what_one_did_not_read_another_may_have() -> None:
    first = Part({}, unread=frozenset({"vcpus", "metrics"}))
    assert merge([first, Part({"vcpus": 2})]).unread == {"metrics"}


def test_machine_uuid_is_stable_and_unique(tmp_path: Path) -> None:
    id_file = tmp_path / "machine-id"
    nameless = machine_uuid("a", id_file)
    id_file.write_text("0123456789abcdef0123456789abcdef\n")
    assert machine_uuid("a", id_file) == machine_uuid("a", id_file)
    assert len({nameless, machine_uuid("a", id_file), machine_uuid("b", id_file)}) == 3
