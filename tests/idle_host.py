"""What a host reports on which nothing runs."""

from __future__ import annotations

from typing import Any

from gantt.model.hosts import HostStats


def idle(vcpus: int, memory_mb: int, local_gb: int = 100, **more: Any) -> HostStats:
    """All of it is free. ``more``: what else it reports, or something else instead."""
    facts = {
        "vcpus": vcpus,
        "memory_mb": memory_mb,
        "local_gb": local_gb,
        "vcpus_used": 0,
        "memory_mb_used": 0,
        "local_gb_used": 0,
        "free_ram_mb": memory_mb,
        "free_disk_gb": local_gb,
    }
    return HostStats(**{**facts, **more})
