"""NUMA cells and devices of hosts as arrays: what is left of each after its claims.

Apart from the columns of hosts because a host has several cells, and pages, networks
and devices of many kinds: these arrays have two or three dimensions. They hold what
must be true of a host if an instance fits, so that a few passes over them leave few
hosts to fit one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from numpy.typing import NDArray

from gantt.model.topology import Cpus, HostCell, HostTopology, Pool
from gantt.state.column import Bools, Int32s, Int64s
from gantt.topology.pinning import free_cpus, threads_per_core

MOST_KINDS: Final = 256
"""Kinds of pools with an array of their own; those beyond share one, and may match."""
MOST_NETWORKS: Final = 64
"""Physical networks with an array of their own; those beyond exclude no host."""
MOST_PAGE_SIZES: Final = 64
"""Page sizes with an array of their own; a size beyond excludes no host."""
ANY_KIND: Final = 0
"""The kind that stands for all that have no array of their own."""

Tags = dict[str, str | tuple[str, ...]]
# They tell pools of one kind apart, and hardly any request asks for them.
OF_ONE_POOL: Final = frozenset({"address", "parent_ifname"})
_KIB: Final = 1024
_FIRST_CAPACITY: Final = 16


class CellFacts(Struct, frozen=True):
    """What ``TopologyColumns.facts`` has of one cell.

    ``shared``, ``shared_used``: CPUs of shared instances, and vCPUs there. ``free``:
    CPUs to which more can be pinned; ``in_cores``: the most of them with siblings
    together (``require``), ``whole_cores``: with their siblings idle (``isolate``).
    ``memory``, ``memory_used``: MB. ``grain_kib``: the smallest page size, 0 without
    pages; ``total_kib``, ``free_kib``: of such pages, or of memory. ``is_tunnelled``:
    0 or 1.
    """

    shared: int
    shared_used: int
    free: int
    in_cores: int
    whole_cores: int
    memory: int
    memory_used: int
    grain_kib: int
    total_kib: int
    free_kib: int
    is_tunnelled: int


_AT: Final = {name: at for at, name in enumerate(CellFacts.__struct_fields__)}


class TopologyColumns:
    """``cells``: int32[rows], how many a host has. By code first, empty where there is
    no cell; rows come last, so that passes over the cells of all hosts are quick:

    - ``facts``: int64[facts, cells, rows], read by name with ``fact``.
    - ``free_pages``: int64[sizes, cells, rows] by ``page_sizes``, -1: no such pages.
    - ``near``: bool[networks, cells, rows] by ``networks``.
    - ``devices``: int64[kinds, cells + 1, rows] by ``kinds``, free ones; the last place
      has those that are at no cell of the host.
    """

    def __init__(self) -> None:
        self.page_sizes: list[int] = []
        self.networks: list[str] = []
        self.kinds: list[Tags] = [{}]
        self._kind_of: dict[tuple[object, ...], int] = {}
        rows = _FIRST_CAPACITY
        self.cells: Int32s = np.zeros(rows, np.int32)
        self.facts: Int64s = np.zeros((len(_AT), 0, rows), np.int64)
        self.free_pages: Int64s = np.full((1, 0, rows), -1, np.int64)
        self.near: Bools = np.zeros((1, 0, rows), np.bool_)
        self.devices: Int64s = np.zeros((1, 1, rows), np.int64)

    def fact(self, name: str) -> Int64s:
        """int64[cells, rows]: a field of ``CellFacts``."""
        found: Int64s = self.facts[_AT[name]]
        return found

    def put(self, row: int, host: HostTopology) -> None:
        """Take in what is left of the host at ``row``; one to which nothing may be
        promised is ``HostTopology()``."""
        self._reserve(row + 1, len(host.cells))
        self.remove(row)
        if host.cells:
            self._put_cells(row, host.cells)
        if host.pools:
            self._put_devices(row, host.cells, host.pools)

    def remove(self, row: int) -> None:
        """There is nothing at ``row`` any more."""
        if row < len(self.cells):
            self.cells[row] = 0
            self.facts[..., row] = 0
            self.free_pages[..., row] = -1
            self.near[..., row] = False
            self.devices[..., row] = 0

    def of_row(self, row: int) -> dict[str, Any]:
        """What the arrays hold of ``row``, by names instead of codes."""
        self._reserve(row + 1, 0)
        count = int(self.cells[row])
        found: dict[str, Any] = {
            "facts": self.facts[:, :count, row].T.tolist(),
            "beyond": bool(self.facts[:, count:, row].any()),
            "pages": _named(self.page_sizes, self.free_pages[..., row], -1, count),
            "networks": _named(self.networks, self.near[..., row], 0, count),
            "devices": _named(self.kinds, self.devices[..., row], 0, count, also=1),
        }
        return found

    @property
    def is_full(self) -> bool:
        """Whether some codes stand for more than one name, or have been left out."""
        return (
            len(self.kinds) == MOST_KINDS
            or len(self.networks) == MOST_NETWORKS
            or len(self.page_sizes) == MOST_PAGE_SIZES
        )

    # -- taking in ----------------------------------------------------------------

    def _put_cells(self, row: int, cells: Sequence[HostCell]) -> None:
        count = self.cells[row] = len(cells)
        facts = [astuple(_facts(cell)) for cell in cells]
        self.facts[:, :count, row] = np.array(facts, np.int64).T
        for place, cell in enumerate(cells):
            for pages in cell.pages:
                code = self._code(self.page_sizes, pages.size_kib, "free_pages")
                if code is not None:
                    self.free_pages[code, place, row] = max(0, pages.free)
            for network in cell.physical_networks:
                code = self._code(self.networks, network, "near")
                if code is not None:
                    self.near[code, place, row] = True

    def _put_devices(
        self, row: int, cells: Sequence[HostCell], pools: Sequence[Pool]
    ) -> None:
        places = {cell.id: place for place, cell in enumerate(cells)}
        for pool in pools:
            if pool.count:
                code = self._kind(pool.tags)
                node = -1 if pool.numa_node is None else pool.numa_node
                self.devices[code, places.get(node, -1), row] += pool.count

    def _code(self, names: list[Any], name: object, array: str) -> int | None:
        """The code of a page size or network; None: there are too many."""
        if name in names:
            return names.index(name)
        most = MOST_NETWORKS if array == "near" else MOST_PAGE_SIZES
        if len(names) == most:
            return None
        self._make_room(array, len(names))
        names.append(name)
        return len(names) - 1

    def _kind(self, tags: Tags) -> int:
        kept = {name: tags[name] for name in sorted(tags.keys() - OF_ONE_POOL)}
        key = tuple(kept.items())
        code = self._kind_of.get(key)
        if code is None:
            code = self._new_kind(kept)
            if code != ANY_KIND:
                self._kind_of[key] = code
        return code

    def _new_kind(self, tags: Tags) -> int:
        if len(self.kinds) < MOST_KINDS:
            self._make_room("devices", len(self.kinds))
            self.kinds.append(tags)
            return len(self.kinds) - 1
        for key, code in self._kind_of.items():
            if not self.devices[code].any():
                del self._kind_of[key]
                self.kinds[code] = tags
                return code
        return ANY_KIND

    # -- growing ------------------------------------------------------------------

    def _make_room(self, array: str, code: int) -> None:
        """For ``code`` in the first dimension of an array."""
        known = getattr(self, array)
        if code == len(known):
            empty = -1 if array == "free_pages" else 0
            grown = np.full((2 * code, *known.shape[1:]), empty, known.dtype)
            grown[:code] = known
            setattr(self, array, grown)

    def _reserve(self, rows: int, cells: int) -> None:
        """Room for so many rows, and so many cells in each."""
        has_cells, has_rows = self.facts.shape[1:]
        if rows <= has_rows and cells <= has_cells:
            return
        rows = has_rows if rows <= has_rows else max(2 * has_rows, rows)
        cells = max(has_cells, cells)
        self.cells = _grown(self.cells, (rows,))
        for name, empty in (("facts", 0), ("free_pages", -1), ("near", 0)):
            known = getattr(self, name)
            setattr(self, name, _grown(known, (len(known), cells, rows), empty))
        known = self.devices
        self.devices = np.zeros((len(known), cells + 1, rows), np.int64)
        self.devices[:, :has_cells, :has_rows] = known[:, :-1]
        self.devices[:, -1, :has_rows] = known[:, -1]


def _named(
    names: Sequence[object],
    held: NDArray[Any],
    empty: int,
    count: int,
    *,
    also: int = 0,
) -> dict[str, list[Any]]:
    """What of ``held``, [codes, cells], is not empty, by name: of the first ``count``
    cells and the last ``also``."""
    return {
        str(name): [*one[:count].tolist(), *one[len(one) - also :].tolist()]
        for name, one in zip(names, held[: len(names)], strict=True)
        if (one != empty).any()
    }


def _grown(array: NDArray[Any], shape: tuple[int, ...], empty: int = 0) -> NDArray[Any]:
    grown = np.full(shape, empty, array.dtype)
    grown[tuple(slice(size) for size in array.shape)] = array
    return grown


def _facts(cell: HostCell) -> CellFacts:
    free = free_cpus(cell)
    in_cores, whole_cores = _cores(cell, free)
    pages = cell.pages[0] if cell.pages else None
    return CellFacts(
        shared=cell.cpus.bit_count(),
        shared_used=cell.cpu_usage,
        free=free.bit_count(),
        in_cores=in_cores,
        whole_cores=whole_cores,
        memory=cell.memory,
        memory_used=cell.memory_usage,
        grain_kib=pages.size_kib if pages else 0,
        total_kib=pages.size_kib * pages.total if pages else _KIB * cell.memory,
        free_kib=pages.size_kib * max(0, pages.free)
        if pages
        else _KIB * max(0, cell.memory - cell.memory_usage),
        is_tunnelled=int(cell.is_tunnelled),
    )


def _cores(cell: HostCell, free: Cpus) -> tuple[int, int]:
    """The most CPUs with siblings together, and the most with their siblings idle."""
    if not cell.siblings:
        return 0, free.bit_count()
    threads = threads_per_core(cell)
    counts = [0] * (threads + 1)
    for core in cell.siblings:
        counts[(core & free).bit_count()] += 1
    in_cores = at_least = 0
    for together in range(threads, 1, -1):
        at_least += counts[together]
        in_cores = max(in_cores, together * at_least)
    # Threads stay idle only where CPUs for pinning and for sharing are the same.
    may_idle = threads == 1 or cell.pcpus == cell.cpus
    return in_cores, counts[threads] if may_idle else 0
