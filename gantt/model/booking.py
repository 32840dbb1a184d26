"""What a consumer takes, or is to take: the value that views are asked about."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from gantt.model.topology import Fit, Wanted


class Booking(Struct, frozen=True):
    """``allocations``: provider uuid -> class -> amount, what is new of them.
    ``host_id``: its host; ``vcpus``, ``memory_mb``, ``disk_mb``: what it takes of what
    that reports. ``group``: the uuid of the server group that it counts in, None: of
    none. ``wanted``: the cells and devices that it needs of the host; ``mappings``:
    request group -> providers of these devices; ``packs``: fuller cells come first;
    ``fit``: what it takes of a host that obeys, None: any fit will do."""

    consumer: str
    host_id: int
    allocations: Mapping[str, Mapping[str, int]] = {}
    vcpus: int = 0
    memory_mb: int = 0
    disk_mb: int = 0
    group: str | None = None
    wanted: Wanted | None = None
    mappings: Mapping[str, tuple[str, ...]] = {}
    packs: bool = False
    fit: Fit | None = None
