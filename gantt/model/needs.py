"""What hosts are to report: what the enabled filters and weighers read, and no more.

A value of its own because the scheduler publishes it, agents choose by it, and both
name it by the same digest in every report.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from gantt.model.hosts import HostStats

COLUMNS: Final = frozenset(HostStats.__struct_fields__)
ALWAYS: Final = tuple(
    (
        "uuid hypervisor_hostname hypervisor_type traits instances vcpus "
        "memory_mb local_gb vcpus_used memory_mb_used local_gb_used free_ram_mb "
        "free_disk_gb numa_topology pci_stats obeys_claims lists_instances holds"
    ).split()
)
"""Identity, inventory and its use, topology: sent whatever reads them."""
METRICS: Final = "metrics"
REPORT_ALSO: Final = "[gantt] report_also"
"""Among ``readers``: what the operator adds."""
_DIGEST_BYTES: Final = 8


class Needs(Struct, frozen=True):
    """``columns``: fields of HostStats, or parts of them (``metrics.NAME``,
    ``cpu_info.KEY``, ``stats.KEY``), sorted. ``everything``: a plug-in does not say
    what it reads, so that all that is known is to be sent. ``readers``: the same by
    plug-in; None: it does not say. ``digest`` changes with ``columns`` and
    ``everything``.
    """

    columns: tuple[str, ...]
    everything: bool
    readers: dict[str, tuple[str, ...] | None]
    digest: str


def needs_of(readers: Mapping[str, Iterable[str] | None]) -> Needs:
    """The union of what ``readers`` need, and of ``ALWAYS``."""
    told = {
        name: None if needed is None else tuple(sorted(set(needed)))
        for name, needed in readers.items()
    }
    everything = None in told.values()
    every = {*ALWAYS, *(one for needed in told.values() for one in needed or ())}
    # A part of what is sent whole is no need of its own.
    columns = tuple(sorted(one for one in every if not _is_covered(one, every)))
    text = msgspec.json.encode([everything, columns])
    digest = hashlib.sha256(text).hexdigest()[: 2 * _DIGEST_BYTES]
    return Needs(columns, everything, told, digest)


def _is_covered(column: str, every: set[str]) -> bool:
    parts = column.split(".")
    return any(".".join(parts[:size]) in every for size in range(1, len(parts)))


def needed(found: Mapping[str, Any], needs: Needs) -> dict[str, Any]:
    """What of ``found``, fields of HostStats by name, is to be sent."""
    if needs.everything:
        return dict(found)
    chosen: dict[str, Any] = {}
    parts: dict[str, set[str]] = {}
    for column in needs.columns:
        name, _, part = column.partition(".")
        if name in found and not part:
            chosen[name] = found[name]
        elif name in found:
            parts.setdefault(name, set()).add(part)
    for name, wanted in parts.items():
        chosen[name] = _part_of(found[name], wanted)
    return chosen


def _part_of(value: Any, wanted: set[str]) -> Any:
    """What is wanted of a value: of a list (metrics) what has one of these names, of an
    object these keys; other values are kept as they are."""
    if isinstance(value, list | tuple):
        return [one for one in value if one.get("name") in wanted]
    if isinstance(value, dict):
        keys = {one.partition(".")[0] for one in wanted}
        return {key: one for key, one in value.items() if key in keys}
    return value
