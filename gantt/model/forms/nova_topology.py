"""Cells of a topology that Nova's compute wrote, though no machine can have it.

Nova's scheduler takes such a row as it is, so it is read here as far as it goes: what
contradicts itself is left out, and nothing is there twice. Callers that write our own
form are refused instead, because they can mend it (``host_topology``).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from gantt.model.cpu_sets import numbers_of
from gantt.model.topology import Cpus, HostCell


def mended(cells: Iterable[HostCell]) -> list[HostCell]:
    """Each CPU in the first cell that has it, and in one core there. More pages than
    memory stay: what is used of either is counted by itself. Where more is used than
    there is, nothing is free."""
    found = []
    seen = 0
    for cell in cells:
        found.append(_mended(cell, ~seen))
        seen |= cell.cpus | cell.pcpus
    return found


def _mended(cell: HostCell, free: Cpus) -> HostCell:
    cpus, pcpus = cell.cpus & free, cell.pcpus & free
    return replace(
        cell,
        cpus=cpus,
        pcpus=pcpus,
        pinned=cell.pinned & pcpus,
        siblings=_cores(cell.siblings, cpus | pcpus, pcpus),
    )


def _cores(siblings: tuple[Cpus, ...], every: Cpus, pcpus: Cpus) -> tuple[Cpus, ...]:
    """Those of ``every`` CPU; one that can be pinned and is in none is a core by
    itself."""
    left, found = every, []
    for core in siblings:
        if core & left:
            found.append(core & left)
            left &= ~core
    if siblings:
        found += [1 << cpu for cpu in numbers_of(left & pcpus)]
    return tuple(found)
