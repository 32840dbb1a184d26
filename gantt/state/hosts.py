"""Hosts as columns: what they report, less the claims that no report knows yet.

Filters and weighers read whole columns; what only some read (a key of ``stats``, say)
is factorised on first use: a code per host and a list of distinct values, so that a
rule is judged once per value instead of once per host.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
import numpy as np

from gantt.model.rows import ClaimRow, HostRow, ServiceRow
from gantt.state.bits import BitMatrix
from gantt.state.column import (
    NO_ROW,
    NO_TIME,
    Bools,
    Columns,
    Floats,
    Int32s,
    Int64s,
    time_in,
    time_out,
)

_MOST_FACTORS = 64
_SPARE_VALUES = 1024
_MISSING = object()


class Factor:
    """``codes``: int32 per host row; ``values[code]``: what it stands for."""

    def __init__(self, path: tuple[str, ...], capacity: int) -> None:
        self.path = path
        self.codes: Int32s = np.zeros(capacity, np.int32)
        self.values: list[Any] = [None]
        self._code_of: dict[bytes, int] = {b"": 0}

    def set(self, row: int, stats: dict[str, Any]) -> None:
        """Take in what the host at ``row`` reports."""
        if row >= len(self.codes):
            grown = np.zeros(max(2 * len(self.codes), row + 1), np.int32)
            grown[: len(self.codes)] = self.codes
            self.codes = grown
        value = walk(stats, self.path)
        key = b"" if value is _MISSING else msgspec.json.encode(value, order="sorted")
        code = self._code_of.get(key)
        if code is None:
            code = self._code_of[key] = len(self.values)
            self.values.append(value)
        self.codes[row] = code


def walk(stats: Any, path: tuple[str, ...]) -> Any:
    """What stands at ``path`` of nested objects; an object of its own when nothing.

    Objects kept as JSON text are read on the way; metrics are found by their names.
    """
    for depth, name in enumerate(path):
        if isinstance(stats, str):
            stats = _decoded(stats)
        elif isinstance(stats, list) and depth == 1 and path[0] == "metrics":
            stats = {one.get("name"): one for one in stats if isinstance(one, dict)}
        if not isinstance(stats, dict) or name not in stats:
            return _MISSING
        stats = stats[name]
    return stats


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None


class Hosts(Columns):
    """One row per compute node. What is ``free_…``, ``vcpus_used``, ``num_…`` is net
    of claims; the ``reported_…`` columns are not. Ratios of 0.0: none was reported."""

    specs: ClassVar = {
        "id": (np.int64, 0),
        "provider": (np.int32, NO_ROW),
        "has_state": (np.bool_, False),
        "vcpus_total": (np.int64, 0),
        "total_ram_mb": (np.int64, 0),
        "total_disk_gb": (np.int64, 0),
        "reported_vcpus_used": (np.int64, 0),
        "reported_free_ram_mb": (np.int64, 0),
        "reported_free_disk_mb": (np.int64, 0),
        "reported_instances": (np.int64, 0),
        "reported_io_ops": (np.int64, 0),
        "claimed_vcpus": (np.int64, 0),
        "claimed_memory_mb": (np.int64, 0),
        "claimed_disk_mb": (np.int64, 0),
        "claimed_instances": (np.int64, 0),
        "vcpus_used": (np.int64, 0),
        "free_ram_mb": (np.int64, 0),
        "free_disk_mb": (np.int64, 0),
        "num_instances": (np.int64, 0),
        "num_io_ops": (np.int64, 0),
        "failed_builds": (np.int64, 0),
        "hypervisor_version": (np.int64, 0),
        "cpu_ratio": (np.float64, 0.0),
        "ram_ratio": (np.float64, 0.0),
        "disk_ratio": (np.float64, 0.0),
        "pci_free": (np.int64, 0),
        "has_service": (np.bool_, False),
        "is_disabled": (np.bool_, False),
        "is_forced_down": (np.bool_, False),
        "last_seen_up": (np.int64, NO_TIME),
        "created_at": (np.int64, NO_TIME),
        "updated_at": (np.int64, NO_TIME),
        "touched": (np.int64, 0),
    }
    id: Int64s
    provider: Int32s
    has_state: Bools
    vcpus_total: Int64s
    total_ram_mb: Int64s
    total_disk_gb: Int64s
    reported_vcpus_used: Int64s
    reported_free_ram_mb: Int64s
    reported_free_disk_mb: Int64s
    reported_instances: Int64s
    reported_io_ops: Int64s
    claimed_vcpus: Int64s
    claimed_memory_mb: Int64s
    claimed_disk_mb: Int64s
    claimed_instances: Int64s
    vcpus_used: Int64s
    free_ram_mb: Int64s
    free_disk_mb: Int64s
    num_instances: Int64s
    num_io_ops: Int64s
    failed_builds: Int64s
    hypervisor_version: Int64s
    cpu_ratio: Floats
    ram_ratio: Floats
    disk_ratio: Floats
    pci_free: Int64s
    has_service: Bools
    is_disabled: Bools
    is_forced_down: Bools
    last_seen_up: Int64s
    created_at: Int64s
    updated_at: Int64s
    touched: Int64s

    def __init__(self) -> None:
        super().__init__()
        self.hosts: list[str] = []
        self.nodes: list[str] = []
        self.uuids: list[str | None] = []
        self.stats: list[dict[str, Any]] = []
        self.cells: list[str | None] = []
        self.aggregates = BitMatrix()
        self._raw: list[str] = []
        self._by_id: dict[int, int] = {}
        self._by_place: dict[tuple[str, str], int] = {}
        self._by_host: dict[str, list[int]] = {}
        self._by_uuid: dict[str, int] = {}
        self._by_provider: dict[int, int] = {}
        self._factors: dict[tuple[str, ...], Factor] = {}

    # -- looking up ---------------------------------------------------------------

    def row_of(self, host: str, node: str) -> int | None:
        """The row of a compute node."""
        return self._by_place.get((host, node))

    def row_of_id(self, key: int) -> int | None:
        """The row of an id."""
        return self._by_id.get(key)

    def row_of_uuid(self, uuid: str) -> int | None:
        """The row of the host whose provider has this uuid."""
        return self._by_uuid.get(uuid)

    def row_of_provider(self, provider: int) -> int | None:
        """The row of the host that a provider's row stands for."""
        return self._by_provider.get(provider)

    def rows_of(self, host: str) -> list[int]:
        """The rows of all nodes of a service host."""
        return self._by_host.get(host, [])

    def get(self, key: int) -> HostRow | None:
        """The row with this id."""
        row = self._by_id.get(key)
        return None if row is None else self.at(row)

    def at(self, row: int) -> HostRow:
        """The values of a live row."""
        return HostRow(
            int(self.id[row]),
            self.hosts[row],
            self.nodes[row],
            self.uuids[row],
            self._raw[row],
            time_out(self.created_at[row]),
            time_out(self.updated_at[row]),
        )

    def rows(self) -> Iterator[HostRow]:
        """Every host, by ascending id."""
        return (self.at(self._by_id[key]) for key in sorted(self._by_id))

    def factor(self, *path: str) -> Factor:
        """What hosts report at ``path`` (a field of compute_nodes, then keys within),
        as codes and distinct values; code 0 stands for nothing there."""
        found = self._factors.get(path)
        if found is None:
            if len(self._factors) >= _MOST_FACTORS:
                del self._factors[next(iter(self._factors))]
            found = self._factors[path] = Factor(path, len(self.id))
            for row in self._by_id.values():
                found.set(row, self.stats[row])
        return found

    # -- taking in ----------------------------------------------------------------

    def put(self, values: HostRow, provider: int) -> int:
        """Add the host or take in what it reports; the row. ``provider``: the row of
        its provider, or NO_ROW."""
        row = self._by_id.get(values.id)
        if row is None:
            row = self._enter(values)
        elif self.uuids[row] != values.uuid:
            self._by_uuid.pop(self.uuids[row] or "", None)
        if values.uuid:
            self._by_uuid[values.uuid] = row
        self.uuids[row] = values.uuid
        self._belong(row, provider)
        if self._raw[row] != values.stats:
            self._raw[row] = values.stats
            self.stats[row] = msgspec.json.decode(values.stats)
            self._report(row, self.stats[row])
            self._refactor(row)
        self.created_at[row] = time_in(values.created_at)
        self.updated_at[row] = time_in(values.updated_at)
        self._settle(row)
        return row

    def remove(self, key: int) -> int:
        """Forget a host; the row that it had."""
        row = self._by_id.pop(key)
        del self._by_place[(self.hosts[row], self.nodes[row])]
        kin = self._by_host[self.hosts[row]]
        kin.remove(row)
        if not kin:
            del self._by_host[self.hosts[row]]
        self._by_uuid.pop(self.uuids[row] or "", None)
        self._belong(row, NO_ROW)
        for label in self.aggregates.labels_of(row):
            self.aggregates.set(row, label, False)
        for factor in self._factors.values():
            factor.set(row, {})
        self.hosts[row] = self.nodes[row] = self._raw[row] = ""
        self.uuids[row] = self.cells[row] = None
        self.stats[row] = {}
        self.give_back(row)
        return row

    def provider_moved(self, uuid: str, provider: int) -> int | None:
        """The provider with ``uuid`` came (its row) or went (NO_ROW); whose it is."""
        row = self._by_uuid.get(uuid)
        if row is not None:
            self._belong(row, provider)
        return row

    def serve(self, row: int, service: ServiceRow | None) -> None:
        """The state of the host's nova-compute service, None: there is none."""
        self.has_service[row] = service is not None
        self.is_disabled[row] = service is not None and service.disabled
        self.is_forced_down[row] = service is not None and service.forced_down
        self.last_seen_up[row] = time_in(service.last_seen_up if service else None)
        self.cells[row] = service.cell_uuid if service else None

    def claim(self, row: int, claim: ClaimRow, times: int) -> None:
        """Take what ``claim`` promises off the host (``times`` 1) or give it back
        (-1)."""
        self.claimed_vcpus[row] += times * claim.vcpus
        self.claimed_memory_mb[row] += times * claim.memory_mb
        self.claimed_disk_mb[row] += times * claim.disk_mb
        self.claimed_instances[row] += times
        self._settle(row)

    def _belong(self, row: int, provider: int) -> None:
        if self._by_provider.get(int(self.provider[row])) == row:
            del self._by_provider[int(self.provider[row])]
        self.provider[row] = provider
        if provider != NO_ROW:
            self._by_provider[provider] = row

    def _enter(self, values: HostRow) -> int:
        row = self.take()
        if row == len(self.hosts):
            self.hosts.append("")
            self.nodes.append("")
            self._raw.append("")
            self.uuids.append(None)
            self.cells.append(None)
            self.stats.append({})
        self.id[row] = values.id
        self.hosts[row], self.nodes[row] = values.host, values.node
        self._by_id[values.id] = row
        self._by_place[(values.host, values.node)] = row
        self._by_host.setdefault(values.host, []).append(row)
        return row

    def _refactor(self, row: int) -> None:
        for path, factor in tuple(self._factors.items()):
            factor.set(row, self.stats[row])
            # What is different in every report is made anew rather than kept forever.
            if len(factor.values) > 2 * len(self.id) + _SPARE_VALUES:
                del self._factors[path]

    def _report(self, row: int, stats: dict[str, Any]) -> None:
        """Columns from the fields of compute_nodes."""
        counts = stats.get("stats")
        counts = counts if isinstance(counts, dict) else {}
        free_gb, least = stats.get("free_disk_gb"), stats.get("disk_available_least")
        self.has_state[row] = free_gb is not None
        if free_gb is not None and least is not None:
            free_gb = min(free_gb, least)
        memory, vcpus = stats.get("memory_mb") or 0, stats.get("vcpus") or 0
        free_ram = stats.get("free_ram_mb")
        if free_ram is None:
            free_ram = memory - (stats.get("memory_mb_used") or 0)
        self.vcpus_total[row] = vcpus
        self.total_ram_mb[row] = memory
        self.total_disk_gb[row] = stats.get("local_gb") or 0
        self.reported_vcpus_used[row] = stats.get("vcpus_used") or 0
        self.reported_free_ram_mb[row] = free_ram
        self.reported_free_disk_mb[row] = 1024 * (free_gb or 0)
        self.reported_instances[row] = number(counts.get("num_instances"))
        self.reported_io_ops[row] = number(counts.get("io_workload"))
        self.failed_builds[row] = number(counts.get("failed_builds"))
        self.hypervisor_version[row] = stats.get("hypervisor_version") or 0
        self.cpu_ratio[row] = stats.get("cpu_allocation_ratio") or 0.0
        self.ram_ratio[row] = stats.get("ram_allocation_ratio") or 0.0
        self.disk_ratio[row] = stats.get("disk_allocation_ratio") or 0.0
        pools = stats.get("pci_stats")
        self.pci_free[row] = sum(
            number(pool.get("count"))
            for pool in (pools if isinstance(pools, list) else ())
            if isinstance(pool, dict)
        )

    def _settle(self, row: int) -> None:
        """What is left after claims."""
        instances = self.claimed_instances[row]
        self.vcpus_used[row] = self.reported_vcpus_used[row] + self.claimed_vcpus[row]
        self.free_ram_mb[row] = (
            self.reported_free_ram_mb[row] - self.claimed_memory_mb[row]
        )
        self.free_disk_mb[row] = (
            self.reported_free_disk_mb[row] - self.claimed_disk_mb[row]
        )
        self.num_instances[row] = self.reported_instances[row] + instances
        # A claim is an instance that builds, until its host says otherwise.
        self.num_io_ops[row] = self.reported_io_ops[row] + instances


def number(value: Any) -> int:
    """A count as hosts report it: a number, or its digits; 0 for anything else."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return 0
