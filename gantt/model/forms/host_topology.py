"""What hosts report as ``numa_topology``: Nova's objects and our form as host cells.

Nova's objects come in every version since Rocky: without dedicated CPUs (``pcpuset``),
sockets or networks where a release had none. Our own form has the same names as plain
JSON, and sets of CPUs also as text (``0-3,8``). Separate from the other columns of a
report because a topology that cannot be is refused here, by the name of the field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from gantt.errors import Invalid
from gantt.model.bounds import MAX_CELLS, MAX_CPUS, MAX_PAGE_SIZES, MAX_PAGES
from gantt.model.cpu_sets import mask_of, numbers_of, text_of
from gantt.model.forms import scalars
from gantt.model.forms.document import Fields, Reading, lowered, opened
from gantt.model.topology import Cpus, HostCell, Pages

_RANGE: Final = re.compile(r"\s*(\^?)\s*(\d{1,5})(?:\s*-\s*(\d{1,5}))?\s*")
_KIB: Final = 1024


def read_cells(path: str, value: Any) -> tuple[HostCell, ...]:
    """The cells of a topology in any form, in its order; none where it is null.

    Raises Invalid, which names the field: one of a wrong type, above a limit of
    ``model.bounds``, or a topology that no machine can have; what Nova's computes wrote
    (objects) is read then as far as it goes.
    """
    found = unwrapped(path, value)
    if found is None:
        return ()
    part = opened(found, "NUMATopology", path, Reading(is_strict=True))
    parts = part.parts("cells", "NUMACell")
    part.done()
    if len(parts) > MAX_CELLS:
        raise Invalid(f"{part.at('cells')} has {len(parts)}; the limit is {MAX_CELLS}.")
    cells = [_cell(one) for one in parts]
    _check_ids(cells, parts)
    if all(one.is_object for one in parts):
        return tuple(_all_mended(cells))
    for cell, one in zip(cells, parts, strict=True):
        _check_cell(one, cell)
    _check_apart(cells, parts)
    return tuple(cells)


def unwrapped(path: str, value: Any) -> Any:
    """A column that may be JSON text, in which there may be JSON text again."""
    return scalars.decoded(path, scalars.decoded(path, lowered(value)))


def _cell(part: Fields) -> HostCell:
    shared = part.get("cpuset", _cpus)
    if shared is None:
        # Before Liberty, and shorter to write by hand.
        shared = part.need("cpus", _cpus)
    pinnable = part.get("pcpuset", _cpus)
    memory, memory_usage = _memory(part)
    network = part.part("network_metadata", "NetworkMetadata")
    cell = HostCell(
        part.need("id", scalars.amount),
        shared,
        shared if pinnable is None else pinnable,
        memory,
        part.get("pinned_cpus", _cpus) or 0,
        part.get("siblings", _siblings) or (),
        _usage(part, "cpu_usage"),
        memory_usage,
        _pages(part),
        frozenset(() if network is None else network.names("physnets")),
        network is not None and network.flag("tunneled"),
        part.number("socket"),
    )
    part.done()
    if network is not None:
        network.done()
    return cell


def _memory(part: Fields) -> tuple[int, int]:
    """MB of the cell, and of its instances; ``mem`` has both before Liberty."""
    before = part.part("mem", "NUMACell")
    if before is not None:
        return before.need("total", scalars.amount), before.amount("used")
    return part.need("memory", scalars.amount), _usage(part, "memory_usage")


def _usage(part: Fields, name: str) -> int:
    """Computes of Nova may count below 0, when an instance ends twice."""
    return max(0, part.number(name) or 0) if part.is_object else part.amount(name)


def _pages(part: Fields) -> tuple[Pages, ...]:
    parts = part.parts("mempages", "NUMAPagesTopology")
    if len(parts) > MAX_PAGE_SIZES:
        raise Invalid(
            f"{part.at('mempages')} has {len(parts)} sizes; "
            f"the limit is {MAX_PAGE_SIZES}."
        )
    by_size: dict[int, Pages] = {}
    for one in parts:
        pages = Pages(
            one.need("size_kb", lambda at, size: scalars.whole(at, size, 1)),
            one.need("total", _page_count),
            one.get("used", _page_count) or 0,
            one.get("reserved", _page_count) or 0,
        )
        one.done()
        if pages.size_kib in by_size:
            raise Invalid(
                f"{one.at('size_kb')} is {pages.size_kib}, as of other pages of the "
                "cell: each size is listed once."
            )
        by_size[pages.size_kib] = pages
    return tuple(by_size[size] for size in sorted(by_size))


# -- sets of CPUs -----------------------------------------------------------------


def _cpus(path: str, value: Any) -> Cpus:
    if isinstance(value, str):
        return _spelled(path, value)
    numbers = value if isinstance(value, list | tuple) else scalars.items(path, value)
    for number in numbers:
        if type(number) is not int or not 0 <= number < MAX_CPUS:
            scalars.whole(path, number, 0, MAX_CPUS - 1)
    return mask_of(numbers)


def _spelled(path: str, value: str) -> Cpus:
    """``0-3,8``; what follows ``^`` is left out."""
    found = without = 0
    for one in scalars.text(path, value).split(",") if value.strip() else ():
        match = _RANGE.fullmatch(one)
        first = int(match[2]) if match else 0
        last = int(match[3] or first) if match else -1
        if match is None or not first <= last < MAX_CPUS:
            raise scalars.refusal(
                path, f"CPUs such as '0-3,8', below {MAX_CPUS}", value
            )
        cpus = (2 << last) - (1 << first)
        found, without = (
            (found, without | cpus) if match[1] else (found | cpus, without)
        )
    return found & ~without


def _siblings(path: str, value: Any) -> tuple[Cpus, ...]:
    found = value if isinstance(value, list) else scalars.items(path, value)
    if len(found) > MAX_CPUS:
        raise Invalid(f"{path} has {len(found)} sets; the limit is {MAX_CPUS}.")
    sets = (_cpus(path, one) for one in found)
    return tuple(one for one in sets if one)


def _page_count(path: str, value: Any) -> int:
    return scalars.whole(path, value, 0, MAX_PAGES)


# -- what no machine can have -----------------------------------------------------


def _check_cell(part: Fields, cell: HostCell) -> None:
    every = cell.cpus | cell.pcpus
    strange = cell.pinned & ~cell.pcpus
    if strange:
        raise Invalid(
            f"{part.at('pinned_cpus')} has CPUs {text_of(strange)}; only the cell's "
            f"pcpuset can be pinned: {text_of(cell.pcpus)}."
        )
    seen = 0
    for threads in cell.siblings:
        if threads & ~every:
            raise Invalid(
                f"{part.at('siblings')} has CPUs {text_of(threads & ~every)}; the cell "
                f"has only {text_of(every)}."
            )
        if threads & seen:
            raise Invalid(
                f"{part.at('siblings')} has CPUs {text_of(threads & seen)} in two "
                "sets: a CPU is a thread of one core."
            )
        seen |= threads
    lacking = cell.pcpus & ~seen if cell.siblings else 0
    if lacking:
        raise Invalid(
            f"{part.at('siblings')} lacks CPUs {text_of(lacking)}: list each CPU that "
            "can be pinned, or no siblings at all."
        )
    _check_pages(part, cell)


def _check_pages(part: Fields, cell: HostCell) -> None:
    # Of the smallest size more may be used than there are: memory is overcommitted.
    for pages in cell.pages[1:]:
        if pages.used > pages.total:
            raise Invalid(
                f"{part.at('mempages')} has {pages.used} used pages of "
                f"{pages.size_kib} KiB, of {pages.total} in all: send at most that."
            )
    there = sum(pages.size_kib * pages.total for pages in cell.pages)
    # Memory is in whole MB, what is left over was cut off.
    if there >= (cell.memory + 1) * _KIB:
        raise Invalid(
            f"{part.at('mempages')} has pages of {there} KiB, but the memory of the "
            f"cell is {cell.memory} MB: send at most that."
        )


def _check_ids(cells: list[HostCell], parts: tuple[Fields, ...]) -> None:
    seen: set[int] = set()
    for cell, part in zip(cells, parts, strict=True):
        if cell.id in seen:
            raise Invalid(f"{part.at('id')} is {cell.id}, as of another cell.")
        seen.add(cell.id)


def _check_apart(cells: list[HostCell], parts: tuple[Fields, ...]) -> None:
    by_id: dict[int, HostCell] = {}
    seen = 0
    for cell, part in zip(cells, parts, strict=True):
        shared_twice = (cell.cpus | cell.pcpus) & seen
        if shared_twice:
            other = next(
                one.id
                for one in by_id.values()
                if (one.cpus | one.pcpus) & shared_twice
            )
            field = "cpuset" if cell.cpus & shared_twice else "pcpuset"
            raise Invalid(
                f"{part.at(field)} has CPUs {text_of(shared_twice)}, which are in cell "
                f"{other} too: a CPU is in one cell."
            )
        by_id[cell.id] = cell
        seen |= cell.cpus | cell.pcpus


# -- what Nova wrote, though no machine can have it ------------------------------------


def _all_mended(cells: Iterable[HostCell]) -> list[HostCell]:
    """Read as far as it goes, since Nova's scheduler takes such a row as it is: each
    CPU in the first cell that has it, and in one core there. More pages than memory
    stay: what is used of either is counted by itself. Where more is used than
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
