"""The State, plus or minus what is being decided.

Only differences are kept. The columns are the State's own and are never written, so no
other reader sees what is tried here, and ``undo`` leaves no trace of it. A View is of
use while the lock of its State is held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from gantt.model.booking import Booking
from gantt.model.rows import AllocationRow, BookingRow, InstanceRow
from gantt.model.topology import Fit, FitLack, Wanted
from gantt.state.host_table import HostTable
from gantt.state.promises import Promises
from gantt.state.slot_amounts import AnySlot, SlotAmounts
from gantt.state.state import State
from gantt.topology.promised_topology import PromisedTopology, providers_of

HostAmounts = tuple[int, int, int]
"""VCPUs, MB of memory and MB of disk, as hosts report them."""
_LATER: Final = 2**62
"""Ids of claims are below it."""


def pending_on(
    hosts: HostTable,
    row: int,
    wanted: Wanted,
    mappings: Mapping[str, tuple[str, ...]],
    *,
    packs: bool,
) -> PromisedTopology:
    """``wanted`` as the host at ``row`` is asked for it, with its ratios."""
    if wanted.cells:
        wanted = replace(
            wanted,
            cpu_ratio=float(hosts.cpu_ratio[row]),
            ram_ratio=float(hosts.ram_ratio[row]),
        )
    return PromisedTopology(wanted, providers_of(mappings, wanted), packs)


class View(SlotAmounts):
    """``state``, with differences of one owner. ``on_hosts``: host row -> what is used
    more there than the host reports and its claims hold. By service host: ``placed``,
    what was put there; ``left``, the consumers that the State has there and that are
    there no longer."""

    __slots__ = ("_promises", "left", "on_hosts", "placed")

    def __init__(self, state: State) -> None:
        self.state = state
        self._more = {}
        self._slots = {}
        self._arrays = {}
        self._limits = {}
        self._changed = []
        self._promises: dict[int, Promises] = {}  # copies
        self.on_hosts: dict[int, HostAmounts] = {}
        self.placed: dict[str, tuple[Booking, ...]] = {}
        self.left: dict[str, tuple[str, ...]] = {}

    # -- consumers ----------------------------------------------------------------

    def put(
        self,
        booking: Booking,
        number: int | None = None,
        amounts: Iterable[tuple[AnySlot, int]] | None = None,
    ) -> None:
        """The consumer takes all of it. ``number``: the id of its claim, None: later
        than any there is; ``amounts``: as ``slots_of`` has its allocations, where they
        were looked up."""
        state, wanted = self.state, booking.wanted
        if amounts is None:
            amounts = self.slots_of(booking.allocations)
        self.add_each(amounts)
        hosts = state.fleet.hosts
        row = hosts.row_by_id.get(booking.host_id)
        if row is None:
            return
        if wanted is not None:
            pending = pending_on(
                hosts, row, wanted, booking.mappings, packs=booking.packs
            )
            self.promise(row, number, replace(pending, fit=booking.fit))
        self.add_to_host(row, (booking.vcpus, booking.memory_mb, booking.disk_mb))
        host = hosts.hosts[row]
        before = self.placed.get(host)
        self._changed.append((self.placed, host, before))
        self.placed[host] = (*(before or ()), booking)

    def take(
        self,
        consumer: str,
        rows: Iterable[AllocationRow | BookingRow | InstanceRow] | None = None,
    ) -> None:
        """``rows`` of the consumer count no longer, None: all that it has. What its
        host reports as used stays used."""
        state, gone, less = self.state, set[type](), list[tuple[AnySlot, int]]()
        for row in self._rows_of(consumer) if rows is None else rows:
            if isinstance(row, AllocationRow):
                provider = state.providers.row_by_id[row.resource_provider_id]
                index = state.classes.index_by_id[row.resource_class_id]
                less.append(((provider, index), -row.used))
                continue
            if isinstance(row, BookingRow):
                self._end(row)
            gone.add(type(row))
        self.add_each(less)
        if gone:
            fleet, stays = state.fleet, set[str | None]()
            named = fleet.instances.by_uuid.get(consumer)
            if InstanceRow not in gone and named is not None:
                stays.add(named.host)
            claim = fleet.claims.by_instance.get(consumer)
            if BookingRow not in gone and claim is not None:
                place = fleet.hosts.row_by_id.get(claim.host_id)
                stays.add(None if place is None else fleet.hosts.hosts[place])
            for host in fleet.hosts_of(consumer) - stays:
                self._leave(host, consumer)

    def _rows_of(
        self, consumer: str
    ) -> Iterator[AllocationRow | BookingRow | InstanceRow]:
        state = self.state
        row = state.consumers.row_by_uuid.get(consumer)
        if row is not None:
            places = state.allocations.by_consumer.rows_of(row)
            yield from map(state.allocation_at, places)
        for table in (state.fleet.claims.by_instance, state.fleet.instances.by_uuid):
            if consumer in table:
                yield table[consumer]

    def _end(self, claim: BookingRow) -> None:
        row = self.state.fleet.hosts.row_by_id.get(claim.host_id)
        if row is not None:
            taken = (-claim.vcpus, -claim.memory_mb, -claim.disk_mb)
            self.add_to_host(row, taken)
            if claim.topology is not None:
                self.withdraw(row, claim.id)

    def _leave(self, host: str, consumer: str) -> None:
        before = self.left.get(host)
        if before is None or consumer not in before:
            self._changed.append((self.left, host, before))
            self.left[host] = (*(before or ()), consumer)

    # -- differences --------------------------------------------------------------

    def add_to_host(self, row: int, amounts: HostAmounts) -> None:
        """So much more is used of the host at ``row``; less where it is negative."""
        before = self.on_hosts.get(row)
        self._changed.append((self.on_hosts, row, before))
        if before is not None:
            (one, two, three), (vcpus, memory_mb, disk_mb) = before, amounts
            amounts = one + vcpus, two + memory_mb, three + disk_mb
        self.on_hosts[row] = amounts

    def promise(
        self, row: int, claim_id: int | None, pending: PromisedTopology
    ) -> None:
        """A claim takes cells and devices of the host at ``row``. ``claim_id`` None:
        one later than any there is."""
        if claim_id is None:
            claim_id = _LATER + len(self._changed)
        promises = self._own(row)
        promises.put(claim_id, pending)
        self._changed.append((promises.remove, (claim_id,), None))

    def withdraw(self, row: int, claim_id: int) -> None:
        """A claim on the host at ``row`` takes its cells and devices no longer."""
        promises = self._own(row)
        pending = promises.remove(claim_id)
        self._changed.append((promises.put, (claim_id, pending), None))

    def _own(self, row: int) -> Promises:
        if row not in self._promises:
            self._promises[row] = self.state.fleet.hosts.promises[row].copy()
        return self._promises[row]

    # -- what fits ----------------------------------------------------------------

    def fits(
        self, row: int, pending: PromisedTopology, claim_id: int | None = None
    ) -> Fit | FitLack:
        """What the instance takes of the host's cells and devices, as
        ``Promises.fit``."""
        found = self._promises.get(row) or self.state.fleet.hosts.promises[row]
        return found.fit(pending, claim_id)
