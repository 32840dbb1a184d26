"""Whether an instance fits a host: which host cell carries which of its cells, and what
it takes there.

Host cells are tried in one order (``cells.in_order``), and the first placement that
satisfies CPUs, pages, devices and networks wins. A pair of a host cell and an instance
cell is fitted once; a placement that begins with a pair that does not fit is never
looked at, which changes no answer. Facts: nova-scheduler 11.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import perm
from typing import Final

from msgspec.structs import replace

from gantt.model.topology import (
    Fit,
    FittedCell,
    HostCell,
    HostTopology,
    Lack,
    TakenDevices,
    Wanted,
)
from gantt.topology.cells import fit_cell, in_order, nearest
from gantt.topology.devices import select

MOST_STEPS: Final = 10_000
"""How many host cells are tried for instance cells before a search is given up."""


def fit(
    host: HostTopology,
    wanted: Wanted,
    providers: Mapping[str, tuple[str, ...]],
    *,
    packs: bool = False,
    most: int = MOST_STEPS,
) -> Fit | Lack:
    """What ``wanted`` takes of ``host``, or what the nearest cell lacks.

    ``providers``: of the request groups of its devices, by suffix; empty: devices are
    not in the books. ``packs``: fill the fullest cells first. ``most``: steps of the
    search.
    """
    if not wanted.cells:
        devices = _devices(host, wanted, providers, None)
        return devices if isinstance(devices, Lack) else Fit(devices=devices)
    if len(host.cells) < len(wanted.cells):
        return Lack("cells", len(wanted.cells), len(host.cells), "cells")
    search = _Search(host, wanted, providers, packs, most)
    return search.first()


def _devices(
    host: HostTopology,
    wanted: Wanted,
    providers: Mapping[str, tuple[str, ...]],
    cells: tuple[int, ...] | None,
) -> tuple[TakenDevices, ...] | Lack:
    if not wanted.devices:
        return ()
    found = select(
        host.pools or (),
        wanted.devices,
        cells=cells,
        sockets={cell.id: cell.socket for cell in host.cells},
        providers=providers,
    )
    return found if isinstance(found, Lack) else found[1]


class _Search:
    """One request on one host; the pairs and sets of cells seen so far."""

    def __init__(
        self,
        host: HostTopology,
        wanted: Wanted,
        providers: Mapping[str, tuple[str, ...]],
        packs: bool,
        most: int,
    ) -> None:
        self.host = host
        self.wanted = wanted
        self.providers = providers
        self.order = in_order(
            host.cells,
            wanted.cells,
            host.pools,
            wants_devices=bool(wanted.devices),
            packs=packs,
        )
        self.steps_left = most
        self.most = most
        self.pairs: list[list[FittedCell | Lack | None]] = [
            [None] * len(self.order) for _ in wanted.cells
        ]
        self.refused: dict[int, Lack] = {}

    def first(self) -> Fit | Lack:
        carriers = self._carriers()
        if isinstance(carriers, Lack):
            return carriers
        found = self._descend([], 0)
        if found is not None:
            return found
        if self.steps_left < 0:
            asked = perm(len(self.order), len(self.wanted.cells))
            return Lack("cells", asked, self.most, "placements", None, "search limit")
        return nearest(self.refused.values())

    def _pair(self, number: int, place: int) -> FittedCell | Lack:
        known = self.pairs[number][place]
        if known is None:
            wanted = self.wanted
            known = self.pairs[number][place] = fit_cell(
                self.order[place],
                wanted.cells[number],
                reserved=int(wanted.isolates_emulator and number == 0),
                cpu_ratio=wanted.cpu_ratio,
                ram_ratio=wanted.ram_ratio,
            )
        return known

    def _carriers(self) -> dict[int, int] | Lack:
        """Some host cell of its own for each instance cell: place -> number; or what
        lacks, if there is none whatever the order."""
        carriers: dict[int, int] = {}
        for number in range(len(self.wanted.cells)):
            if self._seat(number, carriers, set()):
                continue
            lacks = [self._pair(number, place) for place in range(len(self.order))]
            missing = [one for one in lacks if isinstance(one, Lack)]
            if len(missing) < len(lacks):
                # Others need the host cells that could carry it.
                return replace(
                    Lack("cells", len(self.wanted.cells), len(carriers), "cells"),
                    more=(nearest(missing),) if missing else (),
                )
            return nearest(missing)
        return carriers

    def _seat(self, number: int, carriers: dict[int, int], seen: set[int]) -> bool:
        for place in range(len(self.order)):
            if place in seen or isinstance(self._pair(number, place), Lack):
                continue
            seen.add(place)
            if place not in carriers or self._seat(carriers[place], carriers, seen):
                carriers[place] = number
                return True
        return False

    def _descend(self, chosen: list[FittedCell], used: int) -> Fit | None:
        """The first placement in order that begins with ``chosen``, on the places
        ``used``; None: there is none, or the steps are used up."""
        number = len(chosen)
        if number == len(self.wanted.cells):
            return self._accepted(chosen, used)
        for place in range(len(self.order)):
            if used >> place & 1:
                continue
            self.steps_left -= 1
            if self.steps_left < 0:
                return None
            pair = self._pair(number, place)
            if isinstance(pair, Lack):
                continue
            found = self._descend([*chosen, pair], used | 1 << place)
            if found is not None:
                return found
        return None

    def _accepted(self, chosen: list[FittedCell], used: int) -> Fit | None:
        """Devices and networks look at which host cells are used, in any order."""
        if used in self.refused:
            return None
        cells = tuple(cell.host_cell for cell in chosen)
        devices = _devices(self.host, self.wanted, self.providers, cells)
        if isinstance(devices, Lack):
            self.refused[used] = devices
            return None
        far = _far_networks(self.host.cells, self.wanted, frozenset(cells))
        if far is not None:
            self.refused[used] = far
            return None
        return Fit(tuple(chosen), devices)


def _far_networks(
    hosts: tuple[HostCell, ...], wanted: Wanted, cells: frozenset[int]
) -> Lack | None:
    """Networks with NICs at some host cell, but at none of ``cells``; what is at no
    cell is as near to all."""
    if not wanted.physical_networks and not wanted.is_tunnelled:
        return None
    there: set[str] = set()
    near: set[str] = set()
    for cell in hosts:
        there |= cell.physical_networks
        if cell.id in cells:
            near |= cell.physical_networks
    far = sorted(wanted.physical_networks & there - near)
    if wanted.is_tunnelled:
        tunnels = {cell.id for cell in hosts if cell.is_tunnelled}
        if tunnels and not tunnels & cells:
            far.append("tunnels")
    if not far:
        return None
    asked = len(wanted.physical_networks) + wanted.is_tunnelled
    return Lack("networks", asked, asked - len(far), "networks", None, ", ".join(far))
