"""MEMORY_MB: the memory that the kernel manages."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from gantt.agent.collectors.contract import Part, amounts

KB_PER_MB = 1024


class MemoryCollector(Struct, frozen=True):
    """Reads ``MemTotal`` of a meminfo file."""

    meminfo: Path = Path("/proc/meminfo")

    @property
    def provides(self) -> frozenset[str]:
        """The class this collector owns."""
        return frozenset({"MEMORY_MB"})

    def collect(self) -> Part:
        """Whole MiB; a part of one is not offered."""
        for line in self.meminfo.read_text().splitlines():
            key, _, value = line.partition(":")
            if key == "MemTotal":
                return amounts("MEMORY_MB", int(value.split()[0]) // KB_PER_MB)
        return Part()
