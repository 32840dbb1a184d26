"""Differences from Nova in fitting that docs/deviations.md knows, each proved before it
is allowed."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from nova import exception
from nova.virt import hardware

from gantt.model.topology import Fit, FitLack, HostTopology
from gantt.topology.cells import in_order
from tests.nova import upstream_topology as upstream
from tests.nova.fits import Case
from tests.nova.upstream_topology import Sides, placed

AFRESH = "what was tried before changes the request"
EMULATOR = "an emulator thread on a core in use, beside isolated vCPUs"
NO_POOL = "a provider of the allocation that no pool is of"
NO_PAGES = "a host cell that reports no pages"
ANYWHERE = "devices that a compute does not find without regard to cells"


def cause(one: Case, ours: Fit | FitLack) -> str | None:
    """Why Nova answers otherwise; None: that would be a bug."""
    if _takes_a_core_in_use(one):
        return EMULATOR
    if _takes_too_few(one):
        return NO_POOL
    if one.wanted.cells and afresh(one) == placed(ours):
        return AFRESH
    return None


def of_filters(one: Case, ours: Fit | FitLack, has_devices: bool) -> str | None:
    """As ``cause``, where ``has_devices`` says whether PciPassthroughFilter passes: a
    host that NUMATopologyFilter alone passes, and its compute refuses."""
    if isinstance(ours, FitLack) and len(one.wanted.devices) > 1 and not has_devices:
        return ANYWHERE
    return cause(one, ours)


def has_no_pages(host: HostTopology, ours: Fit) -> bool:
    used = {cell.host_cell for cell in ours.cells}
    return any(cell.id in used and not cell.pages for cell in host.cells)


def _takes_a_core_in_use(one: Case) -> bool:
    """It fits, and then Nova itself cannot pin what it chose."""
    sides = Sides(one.host, one.wanted, one.providers)
    if not one.wanted.isolates_emulator or not sides.fits():
        return False
    first = sides.fitted.cells[0]
    if first.cpu_thread_policy != "isolate":
        return False
    host = next(cell for cell in sides.topology.cells if cell.id == first.id)
    try:
        host.pin_cpus_with_siblings(
            {*first.cpu_pinning.values(), *first.cpuset_reserved}
        )
    except exception.CPUPinningInvalid:
        return True
    return False


def _takes_too_few(one: Case) -> bool:
    """It fits, and then fewer devices are consumed than were asked for."""
    sides = Sides(one.host, one.wanted, one.providers)
    if not one.providers or not sides.fits():
        return False
    before = sum(pool["count"] for pool in sides.pools())
    sides.consume_devices()
    taken = before - sum(pool["count"] for pool in sides.pools())
    return bool(taken < sum(request.count for request in one.wanted.devices))


def afresh(one: Case) -> list[upstream.Place]:
    """The first placement by Nova's own function for one pair, which is asked about
    each pair with an instance cell that nothing was written into."""
    sides = Sides(one.host, one.wanted, one.providers)
    cells = {cell.id: cell for cell in sides.topology.cells}
    order = in_order(
        one.host.cells,
        one.wanted.cells,
        one.host.pools,
        wants_devices=bool(one.wanted.devices),
        packs=one.packs,
    )
    for chosen in permutations(order, len(one.wanted.cells)):
        hosts = [cells[cell.id] for cell in chosen]
        fitted = _pairs(one, hosts)
        if fitted is None or not sides.supports(fitted, hosts):
            continue
        return [upstream.place_of(cell) for cell in fitted]
    return []


def _pairs(one: Case, hosts: list[Any]) -> list[Any] | None:
    fitted = []
    fresh = upstream.instance_topology(one.wanted).cells
    for number, (host, cell) in enumerate(zip(hosts, fresh, strict=True)):
        reserved = int(one.wanted.isolates_emulator and number == 0)
        try:
            found = hardware._numa_fit_instance_cell(
                host, cell, upstream.limits(one.wanted), reserved
            )
        except exception.MemoryPageSizeNotSupported:
            return None
        if found is None:
            return None
        fitted.append(found)
    return fitted
