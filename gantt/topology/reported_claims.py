"""Which pending claims a host's report contains, by its own numbers.

Two reports that follow one another say by how much the use of each cell and pool rose.
That rise is a host of its own, on which nothing else is free: a claim that fits it is
counted, and takes its part, so that no rise is used twice. What rose and fell between
the two is not seen, and its claim is not counted: a promise may stand too long, never
too short. It stands apart from the rules because these say when that is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, TypeAlias

from msgspec.structs import replace

from gantt.model.cpu_sets import mask_of, numbers_of
from gantt.model.topology import (
    TYPE_PF,
    TYPE_VF,
    VDPA,
    Cpus,
    Device,
    HostCell,
    HostTopology,
    Pages,
    Pool,
    Wanted,
)
from gantt.topology.promised_topology import PromisedTopology, Remaining, less

Numbered: TypeAlias = tuple[int, PromisedTopology]
"""The id of a claim, and what it was promised."""

_VIRTUAL: Final = frozenset({TYPE_VF, VDPA})


def counted(
    before: HostTopology, after: HostTopology, pendings: Sequence[Numbered]
) -> list[int]:
    """The ids of the claims that are in ``after`` and were not in ``before``. Of alike
    ones the first are: give what is known to be there first, then the oldest."""
    found: list[int] = []
    if not pendings:
        return found
    wants = [pending.wanted for _, pending in pendings]
    left = Remaining(_certain(risen(before, after), wants))
    for key, pending in pendings:
        rest = less(left, _exact(pending))
        if not rest.is_closed and _is_within(rest.host):
            left = rest
            found.append(key)
    return found


def given_back(
    ended: PromisedTopology, credited: Mapping[int, PromisedTopology], *, obeys: bool
) -> list[int]:
    """The claims that were counted (``credited``) and may not be, once one has ended
    that was not: it was in a report too, and its rise was used for another. The oldest
    one alike; where they differ in what they want, all. A host that ``obeys`` showed
    each by the CPUs and devices that it names: those that name others stay counted."""
    mine = _named(ended) if obeys else frozenset()
    doubtful = [
        key
        for key, one in credited.items()
        if not mine or not _named(one) or mine & _named(one)
    ]
    alike = [key for key in doubtful if credited[key].wanted == ended.wanted]
    return alike[:1] if len(alike) == len(doubtful) else doubtful


def _named(pending: PromisedTopology) -> frozenset[int | Device]:
    """The CPUs and devices that a claim names."""
    if pending.fit is None:
        return frozenset()
    cpus = (cpu for cell in pending.fit.cells for _, cpu in cell.pinning)
    devices = (one for taken in pending.fit.devices for one in taken.devices)
    return frozenset((*cpus, *devices))


def risen(before: HostTopology, after: HostTopology) -> HostTopology:
    """``after``, of which only that is free by which its use rose."""
    known = {cell.id: cell for cell in before.cells}
    cells = (
        _risen_cell(known.get(cell.id, cell), cell, names_cpus=after.obeys)
        for cell in after.cells
    )
    pools = _risen_pools(before.pools or (), after.pools or ())
    return replace(after, cells=tuple(cells), pools=pools)


def _exact(pending: PromisedTopology) -> PromisedTopology:
    """What a pending claim asks of a rise: that is not overcommitted."""
    wanted = replace(pending.wanted, cpu_ratio=1.0, ram_ratio=1.0)
    return replace(pending, wanted=wanted, is_counted=False, is_running=False)


def _is_within(host: HostTopology) -> bool:
    """Whether no more was taken of each cell than there is; what a host was told to
    use is taken without asking."""
    return all(
        cell.cpu_usage <= cell.cpus.bit_count()
        and cell.memory_usage <= cell.memory
        and all(pages.free >= 0 for pages in cell.pages)
        for cell in host.cells
    )


# -- cells ----------------------------------------------------------------------------


def _risen_cell(before: HostCell, after: HostCell, *, names_cpus: bool) -> HostCell:
    """Memory and pages of which the report says nothing new are not asked for: there
    are reporters that count CPUs alone."""
    cpus = _risen_cpus(before, after, names_cpus=names_cpus)
    shares = max(0, after.cpu_usage - before.cpu_usage)
    memory = after.memory_usage - before.memory_usage
    return replace(
        after,
        pinned=after.pcpus & ~cpus,
        cpu_usage=after.cpus.bit_count() - shares,
        memory_usage=after.memory - max(0, memory) if memory else 0,
        pages=_risen_pages(before.pages, after.pages),
    )


def _risen_cpus(before: HostCell, after: HostCell, *, names_cpus: bool) -> Cpus:
    """CPUs that are pinned now; as many as there are more of them, unless they are
    named: then it does not matter which others are free now."""
    new = after.pinned & before.pcpus & ~before.pinned
    if names_cpus:
        return new
    freed = before.pinned & after.pcpus & ~after.pinned
    count = max(0, new.bit_count() - freed.bit_count())
    return mask_of(islice(numbers_of(new), count))


def _risen_pages(before: Sequence[Pages], after: Sequence[Pages]) -> tuple[Pages, ...]:
    was = {pages.size_kib: pages.used for pages in before}
    rises = [pages.used - was.get(pages.size_kib, pages.used) for pages in after]
    if not any(rises):
        return tuple(replace(pages, used=0, reserved=0) for pages in after)
    return tuple(
        replace(pages, used=pages.total - max(0, rise), reserved=0)
        for pages, rise in zip(after, rises, strict=True)
    )


# -- devices --------------------------------------------------------------------------


def _risen_pools(before: Sequence[Pool], after: Sequence[Pool]) -> tuple[Pool, ...]:
    """Devices that are not free any more. A pool that is gone is used up, unless one
    that was not there before may be the same under another name."""
    left = Counter[tuple[object, ...]]()
    for pool in after:
        left[pool.kind] += pool.count
    has_new = bool(left.keys() - {pool.kind for pool in before})
    kept = {device for pool in after for device in pool.devices}
    found = []
    for pool in before:
        devices = tuple(one for one in pool.devices if one not in kept)
        still = min(pool.count, left[pool.kind])
        left[pool.kind] -= still
        if pool.devices:
            count = len(devices)
        elif has_new and not still:
            continue
        else:
            count = pool.count - still
        if count:
            found.append(replace(pool, count=count, devices=devices))
    return tuple(found)


def _certain(rise: HostTopology, wants: Iterable[Wanted]) -> HostTopology:
    """``rise`` without devices of which counts do not tell which were asked for: a VF
    takes its PF out of the free ones, a PF its VFs. One claim alone has all of them."""
    pools = rise.pools or ()
    if any(pool.devices for pool in pools):
        return rise
    kinds = {pool.tags.get("dev_type") for pool in pools}
    if TYPE_PF not in kinds or kinds.isdisjoint(_VIRTUAL):
        return rise
    asked = [mine for wanted in wants if (mine := _linked_kinds(wanted))]
    if len(asked) < 2 or len(set().union(*asked)) < 2:
        return rise
    doubtful = {TYPE_PF, *_VIRTUAL}
    certain = (pool for pool in pools if pool.tags.get("dev_type") not in doubtful)
    return replace(rise, pools=tuple(certain))


def _linked_kinds(wanted: Wanted) -> set[bool]:
    """Whether PFs (True), or VFs and the like, are asked for; a request of a port that
    names no kind wants one of these."""
    asked = (
        one.get("dev_type") for request in wanted.devices for one in request.wanted
    )
    linked = {TYPE_PF, *_VIRTUAL, None}
    return {kind == TYPE_PF for kind in asked if kind in linked}
