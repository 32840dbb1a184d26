"""Attributes of hosts that requests may name: those of Nova's host state.

Extra specs (``capabilities:…``) and queries (``$free_ram_mb``) use these names, so they
are part of the contract with users; columns and reported fields are Gantt's.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from msgspec import Struct

from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools, Floats, Int32s, Int64s

COLUMNS = {
    "vcpus_total": "vcpus_total",
    "vcpus_used": "vcpus_used",
    "total_usable_ram_mb": "total_ram_mb",
    "free_ram_mb": "free_ram_mb",
    "total_usable_disk_gb": "total_disk_gb",
    "free_disk_mb": "free_disk_mb",
    "num_instances": "num_instances",
    "num_io_ops": "num_io_ops",
    "failed_builds": "failed_builds",
}
"""Whole numbers: attribute -> column."""

RATIOS = {
    "cpu_allocation_ratio": "cpu_ratio",
    "ram_allocation_ratio": "ram_ratio",
    "disk_allocation_ratio": "disk_ratio",
}
REPORTED = frozenset(
    "host_ip hypervisor_type hypervisor_version hypervisor_hostname cpu_info metrics"
    " supported_instances numa_topology pci_stats stats".split()
)
NAMES = frozenset({"uuid", "host", "nodename", "cell_uuid"})
SERVICE = {"disabled": "is_disabled", "forced_down": "is_forced_down"}
ATTRIBUTES = (
    COLUMNS.keys() | RATIOS.keys() | REPORTED | NAMES | {"disk_mb_used", "service"}
)
"""All names that mean an attribute; any other one may be a key of ``stats``."""


ALWAYS = COLUMNS.keys() | RATIOS.keys() | {"disk_mb_used", "service", "stats", "host"}
"""Attributes that every host has."""


class HostAttribute(Struct, frozen=True):
    """An attribute of each host: ``values[codes]``. ``codes``: int32[n]; a value of
    None: the host has no such attribute."""

    codes: Int32s
    values: list[Any]

    def is_none(self) -> Bools:
        """bool[n]: which have no value."""
        none = np.array([value is None for value in self.values], np.bool_)
        found: Bools = none[self.codes]
        return found


def numbers(hosts: Hosts, name: str) -> Bools | Int32s | Int64s | Floats | None:
    """int64[n] or float64[n], not to be changed: the attribute ``name`` of each host if
    it is a number that all have."""
    if name in RATIOS:
        return hosts.column(RATIOS[name])
    column = COLUMNS.get(name)
    return None if column is None else hosts.column(column)


def attribute(hosts: Hosts, path: tuple[str, ...]) -> HostAttribute:
    """The value at ``path``: an attribute, then keys within it."""
    name, within = path[0], path[1:]
    if name in REPORTED:
        return _reported(hosts, path)
    if name == "service" and len(within) == 1 and within[0] in SERVICE:
        return of_array(hosts.column(SERVICE[within[0]]))
    if within:
        return _nothing(hosts)
    column = numbers(hosts, name)
    if column is not None:
        return of_array(column)
    if name in NAMES:
        return _of_names(hosts, name)
    if name == "disk_mb_used":
        codes, values = hosts.reported("local_gb_used")
        return HostAttribute(codes, [1024 * (value or 0) for value in values])
    return _nothing(hosts)


def _reported(hosts: Hosts, path: tuple[str, ...]) -> HostAttribute:
    if path[0] == "metrics" and len(path) > 1:
        # A list to users; that its items have names is for filters and weighers.
        return _nothing(hosts)
    codes, values = hosts.reported(*path)
    if path == ("cpu_info",):
        # Nova keeps it as text and compares it as such.
        values = [None if one is None else _text(one) for one in values]
    elif path == ("stats",):
        # Nova keeps its values as text, and every host has it.
        values = [_texts(one) for one in values]
    return HostAttribute(codes, values)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _texts(stats: Any) -> dict[str, str | None]:
    known = stats.items() if isinstance(stats, dict) else ()
    return {key: None if one is None else str(one) for key, one in known}


def of_array(column: Any) -> HostAttribute:
    """An array of one value per host, as codes and distinct values."""
    values, codes = np.unique(column, return_inverse=True)
    return HostAttribute(codes.astype(np.int32), values.tolist())


def _of_names(hosts: Hosts, name: str) -> HostAttribute:
    table = hosts.fleet.hosts
    columns: dict[str, Any] = {
        "uuid": table.uuids,
        "host": table.hosts,
        "nodename": table.nodes,
        "cell_uuid": table.cells,
    }
    return HostAttribute(hosts.rows.astype(np.int32), columns[name])


def _nothing(hosts: Hosts) -> HostAttribute:
    return HostAttribute(np.zeros(len(hosts), np.int32), [None])
