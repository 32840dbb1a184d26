"""memory_mb: the memory that the kernel manages."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from gantt.agent.collectors.contract import bounded
from gantt.agent.files import Files

PATH: Final = "/proc/meminfo"
KB_PER_MB: Final = 1024


class MemoryCollector(Struct, frozen=True):
    """Reads ``MemTotal``."""

    @property
    def provides(self) -> frozenset[str]:
        return frozenset({"memory_mb"})

    def collect(self, files: Files) -> dict[str, Any]:
        """Whole MiB; a part of one is not offered."""
        text = files.text(PATH)
        if text is None:
            return {}
        total = meminfo(text).get("MemTotal")
        if total is None:
            files.problem(PATH, "it has no MemTotal")
            return {}
        return {"memory_mb": bounded(total // KB_PER_MB)}


def meminfo(text: str) -> dict[str, int]:
    """Amounts in kB (counts, of some) by name, of the whole machine or of a node."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            # A node's file has "Node 0 MemTotal:".
            found[name.split()[-1]] = int(words[0])
    return found
