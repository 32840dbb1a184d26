"""Reads what a host reports: from JSON text to values, and to amounts for columns.

It stands apart because of memory: of thousands of hosts most report the same CPU and
the same list of guests, so that equal parts are kept once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from gantt.errors import Invalid
from gantt.model.forms.shared_topology import shared_cells, shared_pools
from gantt.model.topology import HostCell, HostTopology, Pool

# The fields that are lists or objects.
_PARTS: Final = tuple(
    (
        "cpu_info supported_instances metrics pci_stats extra_resources stats "
        "numa_topology traits holds"
    ).split()
)
OWNED: Final = "_owned"
"""Among what a host reports: what of its provider is by these reports."""
LISTED: Final = "_listed"
"""Beside it: the instances that its agent listed last, sorted."""
MOVING: Final = "_moving"
"""Beside it: the migrations from or to the host that have not ended, by its cell, and
their instances; sorted."""
RATIOS: Final = "_ratios"
"""Beside it: the host's allocation ratios of VCPUs, memory and disk, as settled when it
was reported."""
_RATIOS_OF: Final = (
    ("VCPU", "cpu_allocation_ratio"),
    ("MEMORY_MB", "ram_allocation_ratio"),
    ("DISK_GB", "disk_allocation_ratio"),
)
_MOST_PARTS: Final = 1024
_MOST: Final = 2**53

T = TypeVar("T")
CellReader: TypeAlias = Callable[[str, Any], tuple[HostCell, ...]]
PoolReader: TypeAlias = Callable[[str, Any], tuple[Pool, ...] | None]

AMOUNTS: Final = (
    "has_state",
    "vcpus_total",
    "total_ram_mb",
    "total_disk_gb",
    "reported_vcpus_used",
    "reported_free_ram_mb",
    "reported_free_disk_mb",
    "reported_instances",
    "reported_io_ops",
    "failed_builds",
    "hypervisor_version",
    "cpu_ratio",
    "ram_ratio",
    "disk_ratio",
)
"""The columns of ``Hosts`` that ``amounts`` fills, in its order."""


class ReportDecoder:
    """Decodes reports; equal parts of several are one object, not to be changed."""

    def __init__(self) -> None:
        self._decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
        self._parts: dict[bytes, Any] = {}
        self._before: dict[bytes, Any] = {}

    def read(self, text: str) -> dict[str, Any]:
        """The report by field."""
        raws = self._decoder.decode(text)
        parts = []
        for field in _PARTS:
            if field in raws:
                parts.append((field, raws.pop(field)))
        # What is no part goes through the decoder together: one call costs as many.
        plain = msgspec.json.decode(b"[" + b",".join(raws.values()) + b"]")
        found = dict(zip(raws, plain, strict=True))
        for field, raw in parts:
            found[field] = self._part(bytes(raw))
        return found

    def _part(self, raw: bytes) -> Any:
        if raw in self._parts:
            return self._parts[raw]
        # What was not asked for twice in a while is forgotten here.
        if len(self._parts) >= _MOST_PARTS:
            self._before, self._parts = self._parts, {}
        known = self._before.get(raw, self._before)
        value = msgspec.json.decode(raw) if known is self._before else known
        self._parts[raw] = value
        return value


TOPOLOGY: Final = ("numa_topology", "pci_stats", "obeys_claims")
"""The fields that ``topology_of`` reads."""


def topology_of(
    stats: dict[str, Any],
    cells: CellReader = shared_cells,
    pools: PoolReader = shared_pools,
) -> HostTopology:
    """What of a report can be fitted. A part that cannot be, as an older release may
    have stored it, is not known. ``cells``, ``pools``: how parts are read."""
    return HostTopology(
        _readable(cells, "numa_topology", stats) or (),
        _readable(pools, "pci_stats", stats),
        stats.get("obeys_claims") is True,
    )


def _readable(
    read: Callable[[str, Any], T], field: str, stats: dict[str, Any]
) -> T | None:
    part = stats.get(field)
    try:
        return None if part is None else read(field, part)
    except Invalid:
        return None


_SIZES = frozenset({"vcpus", "memory_mb"})


def amounts(stats: dict[str, Any]) -> tuple[float, ...]:
    """What the fields of compute_nodes amount to, in the order of ``AMOUNTS``."""
    get = stats.get
    counts = get("stats")
    counts = counts if isinstance(counts, dict) else {}
    free_gb, least = get("free_disk_gb"), get("disk_available_least")
    if free_gb is not None and least is not None:
        free_gb = min(free_gb, least)
    # Nova's computes say null until they know; one that never reports disks has none.
    is_silent = "free_disk_gb" not in stats
    has_state = free_gb is not None or (is_silent and bool(stats.keys() & _SIZES))
    memory, free_ram = get("memory_mb") or 0, get("free_ram_mb")
    if free_ram is None:
        free_ram = memory - (get("memory_mb_used") or 0)
    return (
        has_state,
        get("vcpus") or 0,
        memory,
        get("local_gb") or 0,
        get("vcpus_used") or 0,
        free_ram,
        1024 * (free_gb or 0),
        number(counts.get("num_instances")),
        number(counts.get("io_workload")),
        number(counts.get("failed_builds")),
        get("hypervisor_version") or 0,
        *(get(RATIOS) or said_ratios(stats)),
    )


def said_ratios(stats: dict[str, Any]) -> list[float]:
    """The host's allocation ratios of VCPUs, memory and disk where a report has no
    ``RATIOS``, as an older release stored it: as that wrote them into the books, else
    as reported, else 1.0."""
    wrote = stats.get(OWNED, {}).get("inventories", {})
    return [
        wrote[name][2] if wrote.get(name) else stats.get(field) or 1.0
        for name, field in _RATIOS_OF
    ]


def number(value: Any) -> int:
    """A count as hosts report it: a number, or its digits; 0 for anything else, and
    what no column could hold is the most of what one can."""
    try:
        return max(-_MOST, min(int(value), _MOST))
    except (TypeError, ValueError, OverflowError):
        return 0
