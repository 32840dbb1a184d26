"""Hosts as columns: what they report, less the claims that no report knows yet.

Filters and weighers read whole columns; what only some read (a key of ``stats``, say)
is factorised on first use: a code per host and a list of distinct values, so that a
rule is judged once per value instead of once per host.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from gantt.model.rows import BookingRow, HostRow, ServiceRow
from gantt.model.topology import HostTopology
from gantt.state.bits import BitMatrix
from gantt.state.column import (
    NO_ROW,
    NO_TIME,
    Bools,
    DatedColumns,
    Floats,
    Int32s,
    Int64s,
    time_in,
)
from gantt.state.factors import Factor, Factors
from gantt.state.holdings import Holdings
from gantt.state.listers import NamedBy
from gantt.state.promises import Pendings, Promises
from gantt.state.report_decoder import (
    AMOUNTS,
    LISTED,
    MOVING,
    TOPOLOGY,
    ReportDecoder,
    amounts,
    topology_of,
)
from gantt.state.topology_columns import TopologyColumns

_Index = dict[Any, list[int]]


USE: Final = frozenset(
    (
        "claimed_vcpus claimed_memory_mb claimed_disk_mb claimed_instances starting "
        "num_instances num_io_ops vcpus_used free_ram_mb free_disk_mb"
    ).split()
)
"""Columns that claims change; those on devices change ``pci_free``, too."""


class HostColumns(DatedColumns):
    """What is ``…free…``, ``vcpus_used``, ``num_…`` is net of claims; the
    ``reported_…`` columns are not. Ratios are settled: every rule asks these."""

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
        "starting": (np.int64, 0),
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
        **DatedColumns.specs,
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
    starting: Int64s
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
    touched: Int64s

    def __init__(self) -> None:
        super().__init__()
        self._row_of_gone: dict[int, int] = {}

    def take_for(self, key: int) -> int:
        """The row for the host with this id: a new one, or the one that it had before
        it was removed. So rows ascend with ids, whichever hosts there were before: the
        lower row of equals is taken, and all processes decide alike."""
        gone = self._row_of_gone.pop(key, None)
        if gone is not None:
            self._free.append(gone)
        return self.take()

    def give_back_of(self, key: int, row: int) -> None:
        """Gives back ``row``; no host gets it but that with the id ``key``."""
        self.give_back(row)
        self._row_of_gone[key] = self._free.pop()


class RowsByPlace(dict[tuple[str, str], int]):
    """(host, node) -> row; in order, too, once that was asked for."""

    def __init__(
        self, known: Mapping[tuple[str, str], int] = MappingProxyType({})
    ) -> None:
        super().__init__(known)
        self._ordered: list[tuple[str, str]] | None = None

    def __setitem__(self, place: tuple[str, str], row: int) -> None:
        if self._ordered is not None and place not in self:
            insort(self._ordered, place)
        super().__setitem__(place, row)

    def __delitem__(self, place: tuple[str, str]) -> None:
        super().__delitem__(place)
        if self._ordered is not None:
            del self._ordered[bisect_left(self._ordered, place)]

    def after(self, place: tuple[str, str], most: int) -> list[tuple[str, str]]:
        """The first beyond ``place``."""
        if self._ordered is None:
            self._ordered = sorted(self)
        start = bisect_right(self._ordered, place)
        return self._ordered[start : start + most]


class HostNames(NamedTuple):
    """Names by row, as they were at one time: they are not changed later."""

    hosts: list[str]
    nodes: list[str]


class _ByHost(NamedTuple):
    """Rows by host: of those with one node (``only``), and of nodes that are named as
    their host; ``names``: by row. As of ``structure``."""

    structure: int
    only: dict[str, int]
    namesakes: dict[str, int]
    names: HostNames


class HostTable(HostColumns):
    """One row per compute node, with what of it fits no column. ``stats``: what it
    reports, by field; parts of it are shared and not to be changed. ``reported``: its
    cells and devices; ``promises``: pending claims on these; ``left``: what they leave
    to be promised; ``topology``: the same as arrays. The names and the id of a host
    never change."""

    def __init__(self) -> None:
        super().__init__()
        self.hosts: list[str] = []
        self.nodes: list[str] = []
        self.uuids: list[str | None] = []
        self.stats: list[dict[str, Any]] = []
        self.cells: list[str | None] = []
        self.reported: list[HostTopology] = []
        self.left: list[HostTopology] = []
        self.promises: list[Promises] = []
        self.topology = TopologyColumns()
        self.aggregates = BitMatrix()
        self._raw: list[str] = []
        self.row_by_id: dict[int, int] = {}
        self.by_place = RowsByPlace()
        self._by_host: _Index = {}
        self._index = _ByHost(-1, {}, {}, HostNames([], []))
        self._by_uuid: _Index = {}
        self.rows_by_provider: _Index = {}
        self.listers, self.movers = NamedBy(LISTED), NamedBy(MOVING)
        self.structure = 0  # moves when another provider, or none, stands for a host
        self._reports, self._pendings = ReportDecoder(), Pendings()
        self._factors, self.held = Factors(), Holdings()

    # -- looking up ---------------------------------------------------------------

    def row_of(self, host: str, node: str) -> int | None:
        return self.by_place.get((host, node))

    def rows_at(self, hosts: Sequence[str], nodes: Sequence[str | None]) -> Int64s:
        """int64[n]: the rows of (host, node), NO_ROW for unknown ones. A node of None:
        the only one of the host. Made for thousands of them."""
        index = self._indexed()
        if nodes == hosts:  # as in most clouds
            found = map(index.namesakes.get, hosts, repeat(NO_ROW))
            return np.fromiter(found, np.int64, len(hosts))
        names, only, both = index.names.nodes, index.only.get, self.by_place.get
        rows = [
            row
            if (row := only(host, NO_ROW)) != NO_ROW
            and (node is None or names[row] == node)
            else both((host, node or ""), NO_ROW)
            for host, node in zip(hosts, nodes, strict=True)
        ]
        return np.array(rows, np.int64)

    def names(self) -> HostNames:
        """The names of all hosts; free rows have any."""
        return self._indexed().names

    def _indexed(self) -> _ByHost:
        if self._index.structure != self.structure:
            self._index = _index_of(self)
        return self._index

    def row_of_uuid(self, uuid: str) -> int | None:
        """The row of the host whose provider has this uuid; the newest of several, as
        when a node moves from one service to another."""
        return max(self._by_uuid.get(uuid, ()), key=self.id.__getitem__, default=None)

    def rows_of(self, host: str) -> list[int]:
        """The rows of all nodes of a service host."""
        return self._by_host.get(host, [])

    def get(self, key: int) -> HostRow | None:
        row = self.row_by_id.get(key)
        return None if row is None else self.at(row)

    def at(self, row: int) -> HostRow:
        """The values of a live row."""
        return HostRow(
            int(self.id[row]),
            self.hosts[row],
            self.nodes[row],
            self.uuids[row],
            self._raw[row],
            *self.dates(row),
        )

    def rows(self) -> Iterator[HostRow]:
        """Every host, by ascending id."""
        return map(self.at, self.live_rows().tolist())

    def obeys(self, row: int) -> bool:
        """Whether the host uses the CPUs, pages and devices that claims name."""
        return self.reported[row].obeys

    def factor(self, *path: str) -> Factor:
        """What hosts report at ``path`` (a field of compute_nodes, then keys within),
        as codes and distinct values; code 0 stands for nothing there."""
        found = self._factors.find(path)
        if found is None:
            reports = ((row, self.stats[row]) for row in self.row_by_id.values())
            found = self._factors.make(path, len(self.id), reports)
        return found

    def factors(self) -> Iterable[Factor]:
        return self._factors.all()

    # -- taking in ----------------------------------------------------------------

    def put(self, values: HostRow, provider: int) -> int:
        """Add the host or take in what it reports; the row. ``provider``: the row of
        its provider, or NO_ROW."""
        row = self.row_by_id.get(values.id)
        if row is None:
            row = self._enter(values)
        self._identify(row, values.uuid)
        self._belong(row, provider)
        if self._raw[row] != values.stats:
            self._report(row, values.stats)
        self.date(row, values.created_at, values.updated_at)
        self._settle(row)
        return row

    def remove(self, key: int) -> int:
        """Forget a host; the row that it had."""
        row = self.row_by_id.pop(key)
        del self.by_place[(self.hosts[row], self.nodes[row])]
        _leave(self._by_host, self.hosts[row], row)
        self._identify(row, None)
        self._belong(row, NO_ROW)
        for label in self.aggregates.labels_of(row):
            self.aggregates.set(row, label, False)
        self._factors.forget(row)
        for index in (self.listers, self.movers, self.held):
            index.change(row, self.stats[row], {})
        self.hosts[row] = self.nodes[row] = self._raw[row] = ""
        self.cells[row] = None
        self.stats[row] = {}
        self.reported[row] = self.left[row] = HostTopology()
        self.promises[row] = Promises()
        self.topology.remove(row)
        self.give_back_of(key, row)
        self.structure += 1
        return row

    def provider_moved(self, uuid: str, provider: int) -> list[int]:
        """The provider with ``uuid`` is at the row ``provider``, or gone (NO_ROW); the
        hosts that had another before."""
        rows = self._by_uuid.get(uuid, [])
        moved = [row for row in rows if self.provider[row] != provider]
        for row in moved:
            self._belong(row, provider)
        return moved

    def serve(self, row: int, service: ServiceRow | None, *, is_gone: bool) -> None:
        """The state of its nova-compute, None: none; ``is_gone``: its agent is."""
        self.has_service[row] = service is not None
        self.is_disabled[row] = service is not None and service.disabled
        self.is_forced_down[row] = is_gone or bool(service and service.forced_down)
        self.last_seen_up[row] = time_in(service.last_seen_up if service else None)
        self.cells[row] = service.cell_uuid if service else None

    def claim(self, row: int, claim: BookingRow, times: int) -> bool:
        """Take ``claim`` off (1) or back (-1); whether only ``USE`` changed."""
        self.claimed_vcpus[row] += times * claim.vcpus
        self.claimed_memory_mb[row] += times * claim.memory_mb
        self.claimed_disk_mb[row] += times * claim.disk_mb
        self.starting[row] += times * claim.is_starting
        self.claimed_instances[row] += times * (not claim.is_reported)
        self._settle(row)
        if claim.topology is None:
            return True
        before, promises = int(self.pci_free[row]), self.promises[row]
        if times > 0:
            promises.put(claim.id, self._pendings.read(claim.topology))
        else:
            promises.remove(claim.id)
        self.settle_topology(row)
        return bool(self.pci_free[row] == before)

    def _identify(self, row: int, uuid: str | None) -> None:
        known = self.uuids[row]
        if known == uuid:
            return
        if known is not None:
            _leave(self._by_uuid, known, row)
        if uuid is not None:
            _join(self._by_uuid, uuid, row)
        self.uuids[row] = uuid
        self.structure += 1

    def _belong(self, row: int, provider: int) -> None:
        known = int(self.provider[row])
        if known == provider:
            return
        if known != NO_ROW:
            _leave(self.rows_by_provider, known, row)
        if provider != NO_ROW:
            _join(self.rows_by_provider, provider, row)
        self.provider[row] = provider
        self.structure += 1

    def _enter(self, values: HostRow) -> int:
        row = self.take_for(values.id)
        if row == len(self.hosts):
            for texts in (self.hosts, self.nodes, self._raw):
                texts.append("")
            self.uuids.append(None)
            self.cells.append(None)
            self.stats.append({})
            self.reported.append(HostTopology())
            self.left.append(HostTopology())
            self.promises.append(Promises())
        host, node = values.host, values.node
        self.id[row], self.hosts[row], self.nodes[row] = values.id, host, node
        self.row_by_id[values.id] = self.by_place[host, node] = row
        _join(self._by_host, values.host, row)
        self.structure += 1
        return row

    def _report(self, row: int, text: str) -> None:
        """Columns and factors from the fields of compute_nodes."""
        old, new = self.stats[row], self._reports.read(text)
        self._raw[row], self.stats[row] = text, new
        for column, amount in zip(AMOUNTS, amounts(new), strict=True):
            getattr(self, column)[row] = amount
        self._factors.change(row, old, new, len(self.id))
        for index in (self.listers, self.movers, self.held):
            if index.key in old or index.key in new:
                index.change(row, old, new)
        for name in TOPOLOGY:
            if new.get(name) is not old.get(name):
                self.reported[row] = topology_of(new)
                self.promises[row].take_report(self.reported[row])
                self.settle_topology(row)
                return

    def settle_topology(self, row: int) -> None:
        """What pending claims leave of cells and devices."""
        left = self.left[row] = self.promises[row].left.host
        self.pci_free[row] = left.free_devices
        self.topology.put(row, left)

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


def _index_of(table: HostTable) -> _ByHost:
    """Names and numbers are copied, so that they are neighbours in memory: ten thousand
    lookups take a quarter of the time."""
    only, namesakes = {}, {}
    hosts = [_copy(host) for host in table.hosts]
    nodes = [_copy(node) for node in table.nodes]
    for row in np.flatnonzero(table.is_live[: table.height]).tolist():
        host = hosts[row]
        if len(table.rows_of(host)) == 1:
            only[host] = row
        if host == nodes[row]:
            namesakes[host] = row
    return _ByHost(table.structure, only, namesakes, HostNames(hosts, nodes))


def _copy(name: str) -> str:
    return name.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")


def _join(index: _Index, key: Any, row: int) -> None:
    index.setdefault(key, []).append(row)


def _leave(index: _Index, key: Any, row: int) -> None:
    kin = index[key]
    kin.remove(row)
    if not kin:
        del index[key]
