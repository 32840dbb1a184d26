"""Which architecture a machine has, and how large its small pages are.

Separate because a recorded tree may be of another machine than the one that reads it:
then its own files tell, and what they do not tell is left out.
"""

from __future__ import annotations

import os
import platform
import re
from typing import Final

from gantt.agent.files import Files

CPUINFO: Final = "/proc/cpuinfo"
SMALL_KIB: Final = 4
_ARCH: Final = "/proc/sys/kernel/arch"
_VERSION: Final = "/proc/version"
_MAPS: Final = "/proc/self/smaps"
_HUGE: Final = "/sys/kernel/mm/hugepages"
_NAMES: Final = tuple(
    "x86_64 aarch64 ppc64le ppc64 s390x riscv64 armv7l loongarch64 i686".split()
)
_NAMED: Final = re.compile(rf"(?<![a-z0-9])({'|'.join(_NAMES)})(?![a-z0-9])")
_KERNEL_PAGE: Final = re.compile(r"^KernelPageSize:\s+(\d+) kB", re.MULTILINE)
_LARGE: Final = 64
# Huge pages, in KiB, that there are only where a small one is of that size.
_SIGNS: Final = {
    "aarch64": (("hugepages-524288kB", _LARGE), ("hugepages-32768kB", 16)),
}
_USUAL: Final = {"ppc64": _LARGE, "ppc64le": _LARGE}


def machine_of(files: Files) -> str | None:
    """What ``uname -m`` says there; None: a recorded tree does not tell."""
    if files.is_live:
        return platform.machine()
    told = (files.text_if_there(_ARCH) or "").strip()
    if told in _NAMES:
        return told
    # Distributions name the architecture with the kernel's release, or the compiler.
    named = _NAMED.search(files.text_if_there(_VERSION) or "")
    return named[1] if named else _by_processor(fields_of(files))


def fields_of(files: Files) -> dict[str, str]:
    """The fields of the first processor; nothing where they cannot be read."""
    return first_processor(files.text_if_there(CPUINFO) or "")


def first_processor(cpuinfo: str) -> dict[str, str]:
    """The fields of the first processor; hosts with unlike ones are not described."""
    fields: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() not in fields:
            fields[key.strip()] = value.strip()
    return fields


def small_page_kib(files: Files) -> int:
    """The size of a small page in KiB. Of a recorded tree it is known where it has a
    process's map; else it follows from its huge pages, or is the usual one."""
    if files.is_live:
        return os.sysconf("SC_PAGE_SIZE") // 1024
    mapped = _KERNEL_PAGE.search(files.text_if_there(_MAPS) or "")
    if mapped:
        return int(mapped[1])
    machine = machine_of(files) or ""
    huge = files.names(_HUGE, "hugepages-")
    for name, kib in _SIGNS.get(machine, ()):
        # Of 4 KiB pages 16 make one of 64, and a directory of them 2 MiB.
        if name in huge and "hugepages-64kB" not in huge:
            return kib
    return _USUAL.get(machine, SMALL_KIB)


def _by_processor(fields: dict[str, str]) -> str | None:
    flags = fields.get("flags", "").split()
    if flags:
        return "x86_64" if "lm" in flags or "sse2" in flags else "i686"
    if fields.get("vendor_id") == "IBM/S390":
        return "s390x"
    if "isa" in fields:
        return "riscv64" if fields["isa"].startswith("rv64") else None
    if "Features" in fields:
        is_v7 = fields.get("CPU architecture", "8").startswith("7")
        return "armv7l" if is_v7 else "aarch64"
    if "POWER" in fields.get("cpu", "").upper():
        # In which order a word's bytes are, nothing else tells; PowerNV boots either.
        return "ppc64le" if _is_little_endian(fields) else None
    return None


def _is_little_endian(fields: dict[str, str]) -> bool:
    """Since POWER9 no distribution has another kernel."""
    generation = re.search(r"POWER(\d+)", fields.get("cpu", "").upper())
    return generation is not None and int(generation[1]) >= 9
