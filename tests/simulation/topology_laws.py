"""Laws of cells and devices: none is promised twice, and none is given up early.

Separate from the other laws because of what they recompute: a host's report and its
pending claims are counted here in the naive way, without the functions that fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import msgspec

from gantt.model import commands as c
from gantt.model import rows as t
from tests.simulation.history import Finding, Tables

_ONCE = "no CPU and no device is promised twice"
_RISE = "a claim is counted by use that rose, and each rise once"
_EARLY = "a claim on cells lasts until a later report counts it"
_MOVED = "what an instance that moves uses is promised until a report counts it"
_NAMING = ("UpdateInstances", "SyncInstances")


def once(command: c.Claim, after: Tables) -> Iterator[Finding]:
    """Hosts of the claim have what all claims on them were promised that their reports
    do not contain: of what the claim wants, cells or devices. A report may have less
    of the other than was promised before."""
    wanted = command.wanted
    if wanted is None:
        return
    mine = {one.instance_uuid for one in command.instances}
    claims = [
        row for row in after[t.BOOKINGS].values() if isinstance(row, t.BookingRow)
    ]
    claimed = [row for row in claims if row.is_claim and row.instance_uuid in mine]
    for key in {row.host_id for row in claimed}:
        host = after[t.HOSTS].get(key)
        assert isinstance(host, t.HostRow), "a claim has a host"
        pendings = [
            msgspec.json.decode(row.topology)
            for row in claims
            if row.host_id == key and row.topology is not None and not row.is_counted
        ]
        stats = msgspec.json.decode(host.stats)
        wrong = _wrong_devices(stats, pendings) if wanted.devices else None
        if wanted.cells and wrong is None:
            wrong = _wrong_cpus(stats, pendings)
        if wrong:
            yield Finding(_ONCE, f"{host.host}: {wrong}, of {pendings}")


def _wrong_devices(stats: dict[str, Any], pendings: list[dict[str, Any]]) -> str | None:
    pools, nics = stats.get("pci_stats") or [], _nics(stats)
    asked = sum(
        request["count"] for one in pendings for request in one["wanted"]["devices"]
    )
    if asked > nics:
        return f"{asked} devices of {nics}"
    if not stats.get("obeys_claims"):
        return None
    there = {each["address"] for pool in pools for each in pool.get("devices", ())}
    return _named_twice(
        there,
        (
            device["address"]
            for one in pendings
            for taken in one["fit"]["devices"]
            for device in taken["devices"]
        ),
    )


def _wrong_cpus(stats: dict[str, Any], pendings: list[dict[str, Any]]) -> str | None:
    cells = (stats.get("numa_topology") or {}).get("cells", [])
    free = [set(cell["pcpuset"]) - set(cell["pinned_cpus"]) for cell in cells]
    if stats.get("obeys_claims"):
        fitted = (cell for one in pendings for cell in one["fit"]["cells"])
        return _named_twice(
            set().union(*free), (cpu for cell in fitted for _, cpu in cell["pinning"])
        )
    sizes = [
        _count(cell["pcpus"]) for one in pendings for cell in one["wanted"]["cells"]
    ]
    if not _is_packable([len(one) for one in free], sizes):
        return f"pinned {sizes} in {free}"
    return None


def _named_twice(there: set[Any], names: Iterable[Any]) -> str | None:
    wrong = [name for name, n in Counter(names).items() if n > 1 or name not in there]
    return f"{wrong} are promised twice, or are not free" if wrong else None


def _count(cpus: str) -> int:
    count = 0
    for part in cpus.split(",") if cpus else ():
        first, _, last = part.partition("-")
        count += int(last or first) - int(first) + 1
    return count


def _is_packable(free: list[int], sizes: list[int]) -> bool:
    """Whether each size finds a cell of its own part, by trying all ways."""
    for way in product(range(len(free)), repeat=len(sizes)):
        used: Counter[int] = Counter()
        for cell, size in zip(way, sizes, strict=True):
            used[cell] += size
        if all(used[cell] <= room for cell, room in enumerate(free)):
            return True
    return False


def early(
    before: Tables, after: Tables, command: c.Command[object]
) -> Iterator[Finding]:
    """What a host names alone ends no claim on cells or devices; a report does that
    lists the instance, or was saved in a later second."""
    if type(command).__name__ not in (*_NAMING, "UpdateHost"):
        return
    for key, row in before[t.BOOKINGS].items():
        assert isinstance(row, t.BookingRow)
        if row.topology is None or key in after[t.BOOKINGS]:
            continue
        if isinstance(command, c.UpdateHost):
            named = command.stats.instances
            listed = named is not msgspec.UNSET and row.instance_uuid in named
            if listed or row.counted_at is not None:
                continue
        else:
            host = after[t.HOSTS].get(row.host_id)
            assert isinstance(host, t.HostRow), "naming an instance deletes no host"
            if msgspec.json.decode(host.stats).get("_saved_at") is not None:
                continue
        yield Finding(_EARLY, f"{row} ended by {command}")


def risen(
    before: Tables, after: Tables, command: c.Command[object]
) -> Iterator[Finding]:
    """Claims that a report is said to contain are no more than its use rose by."""
    new: dict[int, list[dict[str, Any]]] = {}
    for key, row in after[t.BOOKINGS].items():
        was = before[t.BOOKINGS].get(key)
        assert isinstance(row, t.BookingRow)
        if row.is_counted and not (isinstance(was, t.BookingRow) and was.is_counted):
            decoded = msgspec.json.decode(row.topology or "")
            new.setdefault(row.host_id, []).append(decoded["wanted"])
    for key, wants in new.items():
        nics, cpus = _rise(before[t.HOSTS].get(key), after[t.HOSTS].get(key))
        asked = sum(one["count"] for wanted in wants for one in wanted["devices"])
        pinned = sum(_count(cell["pcpus"]) for one in wants for cell in one["cells"])
        if asked > nics or pinned > cpus:
            text = f"{asked} devices of {nics}, {pinned} CPUs of {cpus} by {command}"
            yield Finding(_RISE, text)


def _rise(before: object, after: object) -> tuple[int, int]:
    """How many more devices and CPUs of a host are used."""
    if not (isinstance(before, t.HostRow) and isinstance(after, t.HostRow)):
        return 0, 0
    old, new = msgspec.json.decode(before.stats), msgspec.json.decode(after.stats)
    return max(0, _nics(old) - _nics(new)), len(_pinned(new) - _pinned(old))


def _nics(stats: dict[str, Any]) -> int:
    return sum(pool["count"] for pool in stats.get("pci_stats") or ())


def _pinned(stats: dict[str, Any]) -> set[int]:
    cells = (stats.get("numa_topology") or {}).get("cells", [])
    return {cpu for cell in cells for cpu in cell["pinned_cpus"]}


def moved(
    before: Tables, after: Tables, command: c.SetAllocations
) -> Iterator[Finding]:
    """A claim on cells or devices does not end with allocations that went to another
    consumer on the same host."""
    mine = {one.consumer_uuid: one for one in command.consumers}
    for key, row in before[t.BOOKINGS].items():
        assert isinstance(row, t.BookingRow)
        if row.topology is None or key in after[t.BOOKINGS]:
            continue
        host = before[t.HOSTS].get(row.host_id)
        if row.instance_uuid not in mine or not isinstance(host, t.HostRow):
            continue
        others = {
            uuid
            for one in command.consumers
            if one.consumer_uuid != row.instance_uuid
            for uuid in one.allocations
        }
        if _roots(before, [host.uuid]) & _roots(before, others):
            yield Finding(_MOVED, f"{row} ended by {command}")


def _roots(tables: Tables, uuids: Iterable[str | None]) -> set[int]:
    wanted = set(uuids)
    return {
        row.root_provider_id
        for row in tables[t.PROVIDERS].values()
        if isinstance(row, t.ProviderRow) and row.uuid in wanted
    }
