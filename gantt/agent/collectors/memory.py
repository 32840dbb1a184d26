"""memory_mb: the memory that the kernel manages."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from gantt.agent.collectors.contract import bounded
from gantt.agent.collectors.meminfo import KB_PER_MB, PATH, meminfo
from gantt.agent.collectors.nodes import gpu_nodes
from gantt.agent.files import Files


class MemoryCollector(Struct, frozen=True):
    """Reads ``MemTotal``, and takes off what is the memory of GPUs."""

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
        total = max(0, total - sum(gpu_nodes(files).values()))
        return {"memory_mb": bounded(total // KB_PER_MB)}
