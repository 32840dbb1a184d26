"""Which pools give an instance its devices.

Requests are served one after the other from what the ones before left. Each is a chain
of sieves over the pools, which ends as soon as too few devices are left. Where a host
names its devices, a VF also takes its PF out of the free ones, and a PF its VFs; where
it reports counts, only the host knows. Facts: nova-scheduler 12.2, 12.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from msgspec.structs import replace

from gantt.model.topology import (
    TYPE_PF,
    VDPA,
    Device,
    DeviceRequest,
    FitLack,
    Pool,
    TakenDevices,
)

Taken: TypeAlias = tuple[TakenDevices, ...]
Selected: TypeAlias = tuple[tuple[Pool, ...], Taken]
Sockets: TypeAlias = Mapping[int, int | None]
"""The socket of each cell of the host, by the cell's id; None: unknown."""
Providers: TypeAlias = Mapping[str, tuple[str, ...]]
"""The providers of each request group, by its suffix."""

# What a request says to Placement, not to the pools.
NOT_OF_POOLS: Final = frozenset(("resource_class", "traits", "rp_uuids"))
TRUE: Final = frozenset(("1", "t", "true", "on", "y", "yes"))


def select(
    pools: tuple[Pool, ...],
    requests: Iterable[DeviceRequest],
    *,
    cells: tuple[int, ...] | None,
    sockets: Sockets,
    providers: Providers,
) -> Selected | FitLack:
    """What is left of ``pools`` after ``requests``, and what was taken; or what the
    first request lacks that cannot be served.

    ``cells``: host cells that carry the instance; None: it has no NUMA topology, and
    affinity does not count.
    """
    left = list(pools)
    taken: list[TakenDevices] = []
    for request in requests:
        mapped = Counter(_providers_of(request, providers))
        found = _sieved(left, request, cells, sockets, mapped)
        if isinstance(found, FitLack):
            return found
        given = list(_given(left, found, request, mapped))
        taken += given
        count = sum(each.count for each in given)
        left = [pool for pool in left if pool.count]
        if count < request.count:
            return _lack(request, count, "and not linked to one another")
    return tuple(left), tuple(taken)


def _providers_of(request: DeviceRequest, providers: Providers) -> list[str]:
    """One provider for each device that Placement chose; devices of ports are not in
    the books."""
    if not providers or not request.is_of_flavor:
        return []
    return [uuid for suffix in request.suffixes for uuid in providers.get(suffix, ())]


def _sieved(
    pools: list[Pool],
    request: DeviceRequest,
    cells: tuple[int, ...] | None,
    sockets: Sockets,
    mapped: Mapping[str, int],
) -> list[int] | FitLack:
    """Places of pools in the order in which they give."""
    places = [
        place
        for place, pool in enumerate(pools)
        if any(_matches(pool, wanted) for wanted in request.wanted)
    ]
    if _count(pools, places) < request.count:
        return _lack(request, _count(pools, places), "")
    if cells:
        there = _count(pools, places)
        places = _near(pools, places, request, cells, sockets)
        near = _count(pools, places)
        if near < request.count:
            return _lack(request, near, _not_near(request, cells, there - near))
    places = [place for place in places if _may_be_given(pools[place], request)]
    if _count(pools, places) < request.count:
        return _lack(request, _count(pools, places), "of the type asked for")
    if mapped:
        split = _split(pools)
        if split:
            return _lack(request, 0, f"while provider {split} has several pools")
        places = [
            place
            for place in places
            if 0 < mapped.get(pools[place].rp_uuid or "", 0) <= pools[place].count
        ]
        givers = {pools[place].rp_uuid or "" for place in places}
        has = sum(mapped[uuid] for uuid in givers)
        if has < request.count:
            return _lack(request, has, "of the providers allocated")
    places = _live_migratable(pools, places, request)
    if _count(pools, places) < request.count:
        return _lack(request, _count(pools, places), "by live_migratable")
    return places


def _split(pools: list[Pool]) -> str | None:
    """A provider of several pools: an allocation there does not say of which."""
    counts = Counter(pool.rp_uuid for pool in pools if pool.rp_uuid)
    return next((uuid for uuid, count in counts.items() if count > 1), None)


def _count(pools: list[Pool], places: list[int]) -> int:
    return sum(pools[place].count for place in places)


def _lack(request: DeviceRequest, has: int, why: str) -> FitLack:
    texts = (
        " ".join(f"{key}={_text(value)}" for key, value in sorted(wanted.items()))
        for wanted in request.wanted
    )
    detail = " or ".join(texts)
    if why:
        detail = f"{detail}, {why}"
    return FitLack("devices", request.count, has, "devices", None, detail)


def _not_near(request: DeviceRequest, cells: tuple[int, ...], elsewhere: int) -> str:
    noun = "cell" if len(cells) == 1 else "cells"
    named = ",".join(map(str, sorted(cells)))
    return f"near {noun} {named} ({elsewhere:,} elsewhere), affinity {request.affinity}"


def _text(value: str | tuple[str, ...] | None) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else "+".join(value)


def _matches(pool: Pool, wanted: Mapping[str, str | tuple[str, ...] | None]) -> bool:
    """Texts whatever their case; of lists, all that is wanted is there; None: the pool
    has no such tag."""
    for key, value in wanted.items():
        if key in NOT_OF_POOLS:
            continue
        has = pool.tags.get(key)
        if value is None:
            if has is not None:
                return False
        elif isinstance(value, str):
            if not isinstance(has, str) or has.lower() != value.lower():
                return False
        elif not isinstance(has, tuple) or not set(value) <= set(has):
            return False
    return True


def _near(
    pools: list[Pool],
    places: list[int],
    request: DeviceRequest,
    cells: tuple[int, ...],
    sockets: Sockets,
) -> list[int]:
    """Pools as near to ``cells`` as the affinity demands; nearer ones if they do."""
    nodes: set[int | None] = set(cells)
    near = [place for place in places if pools[place].numa_node in nodes]
    if request.affinity == "required" or _count(pools, near) >= request.count:
        return near
    if request.affinity == "socket":
        return _of_sockets(pools, places, cells, sockets)
    nodes.add(None)
    near = [place for place in places if pools[place].numa_node in nodes]
    if request.affinity == "legacy" or _count(pools, near) >= request.count:
        return near
    return sorted(places, key=lambda place: pools[place].numa_node not in nodes)


def _of_sockets(
    pools: list[Pool], places: list[int], cells: tuple[int, ...], sockets: Sockets
) -> list[int]:
    """None, if the host does not tell the socket of each cell."""
    if any(socket is None for socket in sockets.values()):
        return []
    wanted = {sockets[cell] for cell in cells}
    nodes = {node for node, socket in sockets.items() if socket in wanted}
    return [place for place in places if pools[place].numa_node in nodes]


def _is_true(value: str | tuple[str, ...] | None) -> bool:
    return isinstance(value, str) and value.strip().lower() in TRUE


def _may_be_given(pool: Pool, request: DeviceRequest) -> bool:
    """PFs, vdpa and remote-managed devices are given to requests that name them."""
    kind = pool.tags.get("dev_type")
    if kind in (TYPE_PF, VDPA) and not any(
        wanted.get("dev_type") == kind for wanted in request.wanted
    ):
        return False
    return not _is_true(pool.tags.get("remote_managed")) or any(
        _is_true(wanted.get("remote_managed")) for wanted in request.wanted
    )


def _live_migratable(
    pools: list[Pool], places: list[int], request: DeviceRequest
) -> list[int]:
    """If all descriptions say the same: Nova's texts, letter by letter."""
    asked = {wanted.get("live_migratable") for wanted in request.wanted}
    if asked not in ({"true"}, {"false"}):
        return places
    return [
        place for place in places if pools[place].tags.get("live_migratable") in asked
    ]


def _given(
    pools: list[Pool],
    places: list[int],
    request: DeviceRequest,
    mapped: Mapping[str, int],
) -> Iterator[TakenDevices]:
    """With providers, each gives what Placement allocated; else the first pools all
    that they have."""
    still = request.count
    of_provider = dict(mapped)
    for place in places:
        uuid = pools[place].rp_uuid or ""
        count = min(of_provider.get(uuid, 0) if mapped else still, pools[place].count)
        if count:
            yield _take_from(pools, place, count, request.request_id)
            still -= count
            of_provider[uuid] = of_provider.get(uuid, 0) - count
        if not still:
            return


def _take_from(
    pools: list[Pool], place: int, count: int, request_id: str | None
) -> TakenDevices:
    """Takes them out of ``pools``, with what is linked to them."""
    pool = pools[place]
    devices = pool.devices[:count]
    left = replace(pool, count=pool.count - count, devices=pool.devices[count:])
    pools[place] = left
    for other, kept in enumerate(without_linked(pools, devices)):
        pools[other] = kept
    return TakenDevices(
        request_id, count, pool.numa_node, pool.tags, pool.rp_uuid, devices
    )


def without_linked(
    pools: Iterable[Pool], devices: tuple[Device, ...]
) -> Iterable[Pool]:
    """``pools`` without the PFs of VFs among ``devices``, and the VFs of PFs."""
    if not devices:
        return pools
    addresses = {device.address for device in devices}
    parents = {device.parent for device in devices}
    return [_kept(pool, addresses, parents) for pool in pools]


def _kept(pool: Pool, gone: set[str], parents: set[str | None]) -> Pool:
    kept = tuple(
        device
        for device in pool.devices
        if device.parent not in gone and device.address not in parents
    )
    if len(kept) == len(pool.devices):
        return pool
    return replace(pool, count=len(kept), devices=kept)
