"""Whether an instance fits a host: which host cell carries which of its cells, and what
it takes there.

Host cells are tried in one order (``cells.in_order``): all permutations of them, and
the first that satisfies CPUs, pages, devices and networks wins. What changes no answer
is left out: a pair of a host cell and an instance cell is fitted once, a permutation
that begins with a pair that does not fit is not looked at, nor is one that begins with
host cells which, in another order, left no way to go on. Facts: nova-scheduler 11.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import perm

from msgspec.structs import replace

from gantt.model.topology import (
    Fit,
    FitLack,
    FittedCell,
    HostCell,
    HostTopology,
    TakenDevices,
    Wanted,
)
from gantt.topology.cells import fit_cell, in_order, nearest
from gantt.topology.devices import select


def fit(
    host: HostTopology,
    wanted: Wanted,
    providers: Mapping[str, tuple[str, ...]],
    *,
    packs: bool = False,
) -> Fit | FitLack:
    """What ``wanted`` takes of ``host``, or what the nearest cell lacks.

    ``providers``: of the request groups of its devices, by suffix; empty: devices are
    not in the books. ``packs``: fill the fullest cells first.
    """
    if not wanted.cells:
        devices = _devices(host, wanted, providers, None)
        return devices if isinstance(devices, FitLack) else Fit(devices=devices)
    if len(host.cells) < len(wanted.cells):
        return FitLack("cells", len(wanted.cells), len(host.cells), "cells")
    if not host.obeys and len(wanted.devices) > 1:
        # A compute of Nova asks this before it asks for devices near the cells; one
        # request alone that finds devices near them finds them anywhere.
        anywhere = _devices(host, wanted, providers, None)
        if isinstance(anywhere, FitLack):
            return anywhere
    search = _Search(host, wanted, providers, packs)
    return search.first()


def _devices(
    host: HostTopology,
    wanted: Wanted,
    providers: Mapping[str, tuple[str, ...]],
    cells: tuple[int, ...] | None,
) -> tuple[TakenDevices, ...] | FitLack:
    if not wanted.devices:
        return ()
    found = select(
        host.pools or (),
        wanted.devices,
        cells=cells,
        sockets={cell.id: cell.socket for cell in host.cells},
        providers=providers,
    )
    return found if isinstance(found, FitLack) else found[1]


class _Search:
    """One request on one host. A set of host cells is a mask of their places in
    ``order``. ``pairs``: fits by instance cell and place, None: not asked yet.
    ``dead_ends``: sets of which no further choice leads to a placement; ``lacks``: of
    devices and networks, by complete sets."""

    def __init__(
        self,
        host: HostTopology,
        wanted: Wanted,
        providers: Mapping[str, tuple[str, ...]],
        packs: bool,
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
        self.steps_left = wanted.most_steps
        self.pairs: list[list[FittedCell | FitLack | None]] = [
            [None] * len(self.order) for _ in wanted.cells
        ]
        self.dead_ends: set[int] = set()
        self.lacks: list[FitLack] = []

    def first(self) -> Fit | FitLack:
        carriers = self._carriers()
        if isinstance(carriers, FitLack):
            return carriers
        found = self._descend([], 0)
        if found is not None:
            return found
        if self.steps_left < 0:
            asked, has = perm(len(self.order), len(carriers)), self.wanted.most_steps
            return FitLack("search", asked, has, "placements")
        return self._nearest()

    def _nearest(self) -> FitLack:
        """What devices and networks lack at the host cells that carry it, and what the
        nearest of the others lacks to carry it."""
        found = nearest(self.lacks)
        pairs = [one for each in self.pairs for one in each if isinstance(one, FitLack)]
        return replace(found, more=(*found.more, nearest(pairs))) if pairs else found

    def _pair(self, number: int, place: int) -> FittedCell | FitLack:
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

    def _carriers(self) -> dict[int, int] | FitLack:
        """Some host cell of its own for each instance cell: place -> number; or what
        lacks, if there is none whatever the order."""
        carriers: dict[int, int] = {}
        for number in range(len(self.wanted.cells)):
            if self._seat(number, carriers, set()):
                continue
            lacks = [self._pair(number, place) for place in range(len(self.order))]
            missing = [one for one in lacks if isinstance(one, FitLack)]
            if len(missing) < len(lacks):
                # Others need the host cells that could carry it.
                return replace(
                    FitLack("cells", len(self.wanted.cells), len(carriers), "cells"),
                    more=(nearest(missing),) if missing else (),
                )
            return nearest(missing)
        return carriers

    def _seat(self, number: int, carriers: dict[int, int], seen: set[int]) -> bool:
        for place in range(len(self.order)):
            if place in seen or isinstance(self._pair(number, place), FitLack):
                continue
            seen.add(place)
            if place not in carriers or self._seat(carriers[place], carriers, seen):
                carriers[place] = number
                return True
        return False

    def _descend(self, chosen: list[FittedCell], used: int) -> Fit | None:
        """The first placement in order that begins with ``chosen``, on the set
        ``used``; None: there is none, or the steps are used up."""
        if used in self.dead_ends:
            return None
        if len(chosen) == len(self.wanted.cells):
            found = self._accepted(chosen)
        else:
            found = self._extended(chosen, used)
        if found is None:
            self.dead_ends.add(used)
        return found

    def _extended(self, chosen: list[FittedCell], used: int) -> Fit | None:
        for place in range(len(self.order)):
            if used >> place & 1:
                continue
            self.steps_left -= 1
            if self.steps_left < 0:
                return None
            pair = self._pair(len(chosen), place)
            if isinstance(pair, FitLack):
                continue
            found = self._descend([*chosen, pair], used | 1 << place)
            if found is not None:
                return found
        return None

    def _accepted(self, chosen: list[FittedCell]) -> Fit | None:
        """Devices and networks look at which host cells are used, in any order."""
        cells = tuple(cell.host_cell for cell in chosen)
        devices = _devices(self.host, self.wanted, self.providers, cells)
        if isinstance(devices, FitLack):
            self.lacks.append(devices)
            return None
        far = _far_networks(self.host.cells, self.wanted, frozenset(cells))
        if far is not None:
            self.lacks.append(far)
            return None
        return Fit(tuple(chosen), devices)


def _far_networks(
    hosts: tuple[HostCell, ...], wanted: Wanted, cells: frozenset[int]
) -> FitLack | None:
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
    return FitLack(
        "networks", asked, asked - len(far), "networks", None, ", ".join(far)
    )
