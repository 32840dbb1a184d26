"""Hosts that cannot fit an instance's NUMA cells and devices, by passes over arrays.

Necessary conditions only: what passes is fitted one by one (``topology.fit``), what
does not pass never fits. Apart from the filters because two of them ask. Of refused
hosts, passes also tell which come near (``missing_of``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from msgspec.structs import replace

from gantt.model.topology import (
    ANY_PAGES,
    LARGE_PAGES,
    SMALL_PAGES,
    DeviceRequest,
    FitLack,
    InstanceCell,
    Pool,
    Wanted,
)
from gantt.scheduler.hosts import Hosts
from gantt.state.column import ANY, Bools, Floats, Int64s
from gantt.state.topology_columns import (
    ANY_KIND,
    MOST_PAGE_SIZES,
    OF_ONE_POOL,
    Tags,
    TopologyColumns,
)
from gantt.topology.cells import is_pinned
from gantt.topology.devices import select

_KIB: Final = 1024
# So many times fewer hosts than there are rows are looked up by themselves.
_FEW: Final = 8
_Rows = slice | Int64s
# A request for devices, and int64[cells + 1, rows]: those that it may get.
_Free = tuple[DeviceRequest, Int64s]
# Along the first axis, which is that of cells.
ADD: Final = np.add.reduce


def mask_of(hosts: Hosts, wanted: Wanted) -> Bools:
    """bool[n]: False where ``wanted`` cannot fit what is left of the host."""
    table = hosts.fleet.hosts
    columns, height = table.topology, table.height
    asks_nothing = not (wanted.cells or wanted.devices)
    if _FEW * len(hosts) < height:
        # Those that changed since a shape was cached, say.
        is_known = hosts.rows < len(columns.cells)
        found = np.full(len(hosts), asks_nothing)
        found[is_known] = _judged(columns, hosts.rows[is_known], wanted)
        return found
    # A slice copies nothing.
    known = min(height, len(columns.cells))
    found = np.full(height, asks_nothing)  # hosts beyond the arrays report neither
    found[:known] = _judged(columns, slice(known), wanted)
    return found[hosts.rows]


def _judged(columns: TopologyColumns, rows: _Rows, wanted: Wanted) -> Bools:
    devices = [(one, _free(columns, rows, one)) for one in _joined(wanted.devices)]
    view = _View(columns, rows)
    found: Bools = np.ones(view.count, np.bool_)
    if wanted.cells:
        found = _with_cells(view, wanted, devices)
    for request, free in devices:
        if wanted.cells and request.affinity in ("required", "socket"):
            free = free[:-1]  # those at no cell are not near
        found &= ADD(free) >= request.count
    return found


class _View:
    """Some rows of the columns."""

    def __init__(self, columns: TopologyColumns, rows: _Rows) -> None:
        self.columns, self.rows = columns, rows
        cells = columns.cells[rows]
        self.count = len(cells)
        places = np.arange(columns.facts.shape[1])[:, None]
        self.exists: Bools = places < cells

    def fact(self, name: str) -> Int64s:
        found: Int64s = self.columns.fact(name)[:, self.rows]
        return found


def _with_cells(view: _View, wanted: Wanted, devices: Sequence[_Free]) -> Bools:
    """bool[rows]: as many host cells as instance cells could each carry one."""
    carries = {}
    for cell, reserved, count in _distinct(wanted):
        able = view.exists & _cell(view, cell, reserved, wanted)
        if len(wanted.cells) == 1:
            _keep_near(able, view, wanted, devices)
        carries[cell, reserved] = able, count
    found = np.ones(view.count, np.bool_)
    any_able = np.zeros_like(view.exists)
    for able, count in carries.values():
        found &= ADD(able) >= count if count > 1 else ANY(able)
        any_able |= able
    if len(carries) > 1:
        found &= ADD(any_able) >= len(wanted.cells)
    if len(wanted.cells) > 1:
        for near in _networks(view, wanted):
            found &= ANY(near & any_able) | ~ANY(near)
    return found


def _distinct(wanted: Wanted) -> Iterable[tuple[InstanceCell, int, int]]:
    """Instance cells that ask for the same as one, with what is reserved for the
    emulator there, and how many there are."""
    counts: Counter[tuple[InstanceCell, int]] = Counter()
    for number, cell in enumerate(wanted.cells):
        alike = replace(
            cell,
            id=0,
            cpus=(1 << cell.cpus.bit_count()) - 1,
            pcpus=(1 << cell.pcpus.bit_count()) - 1,
        )
        reserved = int(wanted.isolates_emulator and number == 0)
        counts[alike, reserved] += 1
    return [(cell, reserved, count) for (cell, reserved), count in counts.items()]


# -- one instance cell ------------------------------------------------------------


def _cell(view: _View, cell: InstanceCell, reserved: int, wanted: Wanted) -> Bools:
    """bool[cells, rows]: which host cells may carry ``cell``."""
    able = _memory(view, cell)
    if is_pinned(cell):
        pinned = cell.pcpus.bit_count()
        able &= view.fact("free") >= pinned + reserved
        if cell.threads == "isolate":
            able &= view.fact("whole_cores") >= pinned
        elif cell.threads == "require":
            able &= view.fact("in_cores") >= pinned
    if cell.policy != "dedicated":
        able &= _shares(view, cell, wanted)
    return able


def _shares(view: _View, cell: InstanceCell, wanted: Wanted) -> Bools:
    cpus, shared = cell.cpus.bit_count(), view.fact("shared")
    able: Bools = shared >= cpus
    if wanted.cpu_ratio is not None:
        able &= view.fact("shared_used") + cpus <= shared * wanted.cpu_ratio
    if wanted.ram_ratio is not None:
        limit = view.fact("memory") * wanted.ram_ratio
        able &= view.fact("memory_used") + cell.memory <= limit
    return able


def _memory(view: _View, cell: InstanceCell) -> Bools:
    kib = cell.memory * _KIB
    grain = view.fact("grain_kib")
    if cell.page_kib in (None, SMALL_PAGES):
        able: Bools = view.fact(_memory_of(cell)) >= kib
        able &= kib % np.maximum(grain, 1) == 0
        return able & (grain > 0) if cell.page_kib == SMALL_PAGES else able
    columns = view.columns
    able = np.zeros_like(view.exists)
    if len(columns.page_sizes) == MOST_PAGE_SIZES:
        return ~able
    for code, size in enumerate(columns.page_sizes):
        if cell.page_kib not in (size, LARGE_PAGES, ANY_PAGES) or kib % size:
            continue
        fits = columns.free_pages[code][:, view.rows] >= kib // size
        able |= fits & (grain != size) if cell.page_kib == LARGE_PAGES else fits
    return able


def _memory_of(cell: InstanceCell) -> str:
    """The fact that counts: of shared instances without a page size, memory may be
    overcommitted."""
    is_free = cell.page_kib is not None or is_pinned(cell)
    return "free_kib" if is_free else "total_kib"


def _keep_near(
    able: Bools, view: _View, wanted: Wanted, devices: Sequence[_Free]
) -> None:
    """Keeps, for the only instance cell, host cells near its networks and devices."""
    for near in _networks(view, wanted):
        able &= near | ~ANY(near)
    for request, free in devices:
        if request.affinity not in ("required", "legacy"):
            continue
        there = free[:-1]
        if request.affinity == "legacy":
            there = there + free[-1]
        able &= there >= request.count


def _networks(view: _View, wanted: Wanted) -> Iterable[Bools]:
    """bool[cells, rows] for each network: which host cells are near it. One that is
    near none, or has no array, is as near to all."""
    columns = view.columns
    for name in wanted.physical_networks:
        if name in columns.networks:
            yield columns.near[columns.networks.index(name)][:, view.rows]
    if wanted.is_tunnelled:
        yield view.fact("is_tunnelled") != 0


# -- what is missing --------------------------------------------------------------


def missing_of(hosts: Hosts, wanted: Wanted) -> Floats:
    """float64[n]: how much of ``wanted`` the host lacks, as a sum of missing shares:
    of each instance cell, its CPUs and memory on the host cells that lack least; and of
    devices, wherever they are. It orders hosts, of which the first are then fitted."""
    columns = hosts.fleet.hosts.topology
    found = np.full(len(hosts), 2.0 * len(wanted.cells) + len(wanted.devices))
    is_known = hosts.rows < len(columns.cells)
    view = _View(columns, hosts.rows[is_known])
    missing: Floats = np.zeros(view.count)
    for cell, reserved, count in _distinct(wanted):
        each = np.where(view.exists, _missing_of_cell(view, cell, reserved), 2.0)
        missing += ADD(np.sort(each, axis=0)[:count])
        missing += 2.0 * max(0, count - len(each))
    for request in _joined(wanted.devices):
        missing += _missing(request.count, ADD(_free(columns, view.rows, request)))
    found[is_known] = missing
    return found


def _missing_of_cell(view: _View, cell: InstanceCell, reserved: int) -> Floats:
    """float64[cells, rows]: of CPUs and memory together, 0 to 2."""
    cpus: Floats = np.zeros(view.exists.shape)
    if is_pinned(cell):
        free = {"isolate": "whole_cores", "require": "in_cores"}.get(
            cell.threads or "", "free"
        )
        cpus = _missing(cell.pcpus.bit_count() + reserved, view.fact(free))
    if cell.policy != "dedicated":
        shared = _missing(cell.cpus.bit_count(), view.fact("shared"))
        cpus = np.maximum(cpus, shared)
    kib = cell.memory * _KIB
    if cell.page_kib in (None, SMALL_PAGES):
        return cpus + _missing(kib, view.fact(_memory_of(cell)))
    memory: Floats = np.ones(view.exists.shape)
    for code, size in enumerate(view.columns.page_sizes):
        if cell.page_kib in (size, LARGE_PAGES, ANY_PAGES) and not kib % size:
            free_pages = view.columns.free_pages[code][:, view.rows]
            memory = np.minimum(memory, _missing(kib // size, free_pages))
    return cpus + memory


def _missing(asked: int, has: Int64s) -> Floats:
    found: Floats = np.clip(1.0 - has / max(asked, 1), 0.0, 1.0)
    return found if asked else np.zeros(has.shape)


# -- devices ----------------------------------------------------------------------


def _joined(requests: Iterable[DeviceRequest]) -> list[DeviceRequest]:
    """Requests for the same devices as one: each takes what the others leave."""
    joined: dict[str, DeviceRequest] = {}
    for request in requests:
        key = f"{request.affinity} {request.wanted}"
        known = joined.get(key)
        count = request.count + (known.count if known else 0)
        joined[key] = replace(request, count=count)
    return list(joined.values())


def _free(columns: TopologyColumns, rows: _Rows, request: DeviceRequest) -> Int64s:
    """int64[cells + 1, rows]: devices that ``request`` may get."""
    codes = [
        code
        for code, tags in enumerate(columns.kinds)
        if code == ANY_KIND or _may_give(tags, request)
    ]
    found: Int64s = columns.devices[codes[0]][:, rows]
    for code in codes[1:]:
        found = found + columns.devices[code][:, rows]
    return found


def _may_give(tags: Tags, request: DeviceRequest) -> bool:
    """Whether a pool of this kind may serve ``request``, as far as its kind tells."""
    one = replace(
        request,
        count=1,
        wanted=tuple(
            {key: value for key, value in wanted.items() if key not in OF_ONE_POOL}
            for wanted in request.wanted
        ),
    )
    pool = Pool(1, None, tags)
    answer = select((pool,), (one,), cells=None, sockets={}, providers={})
    return not isinstance(answer, FitLack)
