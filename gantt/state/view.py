"""The State, plus or minus what is being decided.

Only differences are kept. The columns are the State's own and are never written, so no
other reader sees what is tried here, and ``undo`` leaves no trace of it. A View is of
use while the lock of its State is held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from gantt.model.booking import Booking
from gantt.model.rows import AllocationRow, ClaimRow, InstanceRow
from gantt.model.topology import Fit, Lack, Wanted
from gantt.state.host_table import Hosts
from gantt.state.promises import Promises
from gantt.state.state import State
from gantt.topology.pending import Pending, providers_of

Slot = tuple[int, int]
"""A provider's row and a class's index: where amounts are counted."""
AnySlot = Slot | tuple[str, str]
"""By uuid and name where this State knows no such provider: another Placement may."""
HostAmounts = tuple[int, int, int]
"""VCPUs, MB of memory and MB of disk, as hosts report them."""
_LATER: Final = 2**62
"""Ids of claims are below it."""


class SlotLimits(Struct, frozen=True):
    """What an inventory allows; ``capacity`` is a float, compared as such."""

    min_unit: int
    max_unit: int
    step_size: int
    capacity: float


class Refusal(Struct, frozen=True):
    """Why a slot does not take an amount. ``limits`` None: it has no inventory;
    ``is_full``: ``used`` and the amount exceed the capacity; else its units do not
    allow the amount."""

    limits: SlotLimits | None = None
    used: int = 0
    is_full: bool = False


def pending_on(
    hosts: Hosts,
    row: int,
    wanted: Wanted,
    mappings: Mapping[str, tuple[str, ...]],
    *,
    packs: bool,
) -> Pending:
    """``wanted`` as the host at ``row`` is asked for it, with its ratios."""
    if wanted.cells:
        wanted = replace(
            wanted,
            cpu_ratio=float(hosts.cpu_ratio[row]),
            ram_ratio=float(hosts.ram_ratio[row]),
        )
    return Pending(wanted, providers_of(mappings, wanted), packs)


class View:
    """``state``, with differences of one owner. ``more``: slot -> what is used more of
    it than the State has; ``on_hosts``: host row -> what is used more there than the
    host reports and its claims hold. By service host: ``placed``, what was put there;
    ``left``, the consumers that the State has there and that are there no longer."""

    __slots__ = (
        "_changed",
        "_limits",
        "_promises",
        "_slots",
        "left",
        "more",
        "on_hosts",
        "placed",
        "state",
    )

    def __init__(self, state: State) -> None:
        self.state = state
        self.more: dict[AnySlot, int] = {}
        self._slots: dict[tuple[str, str], AnySlot] = {}
        self._limits: dict[Slot, SlotLimits] = {}
        self._promises: dict[int, Promises] = {}  # copies
        self.on_hosts: dict[int, HostAmounts] = {}
        self.placed: dict[str, tuple[Booking, ...]] = {}
        self.left: dict[str, tuple[str, ...]] = {}
        # For undo: which dict was changed, at which key, and the value before, if any.
        self._changed: list[tuple[dict[Any, Any], Any, Any]] = []

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
        for slot, amount in amounts:
            self.add(slot, amount)
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

    def slots_of(
        self, allocations: Mapping[str, Mapping[str, int]]
    ) -> list[tuple[AnySlot, int]]:
        """Where these are counted."""
        return [
            (self.slot(uuid, name), amount)
            for uuid, resources in allocations.items()
            for name, amount in resources.items()
        ]

    def slot(self, uuid: str, resource_class: str) -> AnySlot:
        """Where amounts of a provider are counted; looked up once."""
        found = self._slots.get((uuid, resource_class))
        if found is None:
            row = self.state.providers.row_of(uuid)
            index = self.state.classes.index_of(resource_class)
            found = uuid, resource_class
            if row is not None and index is not None:
                found = row, index
            self._slots[uuid, resource_class] = found
        return found

    def take(
        self,
        consumer: str,
        rows: Iterable[AllocationRow | ClaimRow | InstanceRow] | None = None,
    ) -> None:
        """``rows`` of the consumer count no longer, None: all that it has. What its
        host reports as used stays used."""
        state, gone = self.state, set[type]()
        for row in self._rows_of(consumer) if rows is None else rows:
            if isinstance(row, AllocationRow):
                provider = state.providers.row_by_id[row.resource_provider_id]
                index = state.classes.index_by_id[row.resource_class_id]
                self.add((provider, index), -row.used)
                continue
            if isinstance(row, ClaimRow):
                self._end(row)
            gone.add(type(row))
        if gone:
            fleet, stays = state.fleet, set[str | None]()
            named = fleet.instances.by_uuid.get(consumer)
            if InstanceRow not in gone and named is not None:
                stays.add(named.host)
            claim = fleet.claims.by_instance.get(consumer)
            if ClaimRow not in gone and claim is not None:
                place = fleet.hosts.row_by_id.get(claim.host_id)
                stays.add(None if place is None else fleet.hosts.hosts[place])
            for host in fleet.hosts_of(consumer) - stays:
                self._leave(host, consumer)

    def _rows_of(
        self, consumer: str
    ) -> Iterator[AllocationRow | ClaimRow | InstanceRow]:
        state = self.state
        row = state.consumers.row_by_uuid.get(consumer)
        if row is not None:
            places = state.allocations.by_consumer.rows_of(row)
            yield from map(state.allocation_at, places)
        for table in (state.fleet.claims.by_instance, state.fleet.instances.by_uuid):
            if consumer in table:
                yield table[consumer]

    def _end(self, claim: ClaimRow) -> None:
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

    def add(self, slot: AnySlot, amount: int) -> None:
        """``amount`` more is used of the slot; a negative one is given back."""
        before = self.more.get(slot)
        self._changed.append((self.more, slot, before))
        self.more[slot] = amount + (before or 0)

    def add_to_host(self, row: int, amounts: HostAmounts) -> None:
        """So much more is used of the host at ``row``; less where it is negative."""
        before = self.on_hosts.get(row)
        self._changed.append((self.on_hosts, row, before))
        if before is not None:
            (one, two, three), (vcpus, memory_mb, disk_mb) = before, amounts
            amounts = one + vcpus, two + memory_mb, three + disk_mb
        self.on_hosts[row] = amounts

    def limit(self, slot: Slot, limits: SlotLimits) -> None:
        """The slot is judged by ``limits`` instead of the State's inventory."""
        self._changed.append((self._limits, slot, self._limits.get(slot)))
        self._limits[slot] = limits

    def promise(self, row: int, claim_id: int | None, pending: Pending) -> None:
        """A claim takes cells and devices of the host at ``row``. ``claim_id`` None:
        one later than any there is."""
        if claim_id is None:
            claim_id = _LATER + len(self._changed)
        self._own(row).put(claim_id, pending)
        self._changed.append((self._promises, (row, claim_id), None))

    def withdraw(self, row: int, claim_id: int) -> None:
        """A claim on the host at ``row`` takes its cells and devices no longer."""
        pending = self._own(row).remove(claim_id)
        self._changed.append((self._promises, (row, claim_id), pending))

    def _own(self, row: int) -> Promises:
        if row not in self._promises:
            self._promises[row] = self.state.fleet.hosts.promises[row].copy()
        return self._promises[row]

    def mark(self) -> int:
        """The place in the list of differences, for ``undo``."""
        return len(self._changed)

    def undo(self, mark: int) -> None:
        """Forget all differences since ``mark``."""
        while len(self._changed) > mark:
            values, key, before = self._changed.pop()
            if values is self._promises:
                self._undo_promise(key, before)
            elif before is None:
                del values[key]
            else:
                values[key] = before

    def _undo_promise(self, key: tuple[int, int], before: Pending | None) -> None:
        row, claim_id = key
        if before is None:
            self._promises[row].remove(claim_id)
        else:
            self._promises[row].put(claim_id, before)

    # -- what fits ----------------------------------------------------------------

    def refusal(self, slot: Slot, amount: int) -> Refusal | None:
        """Why ``amount`` more may not be used of the slot, None: it may.

        More than the capacity passes as long as the sum is no more than what the State
        has: an overfull provider may be emptied step by step.
        """
        found = self.state.inventories.slot(*slot)
        limits = self._limits.get(slot)
        if found is not None:
            table, row = found
            known = int(table.used[row])
            limits = limits or SlotLimits(
                int(table.min_unit[row]),
                int(table.max_unit[row]),
                int(table.step_size[row]),
                float(table.capacity[row]),
            )
        elif limits is None:
            return Refusal()
        else:
            known = self.state.allocations.used_on(*slot)
        used = known + self.more.get(slot, 0)
        is_unit = limits.min_unit <= amount <= limits.max_unit
        if not is_unit or amount % limits.step_size:
            return Refusal(limits, used)
        total = used + amount
        if total > limits.capacity and total > known:
            return Refusal(limits, used, is_full=True)
        return None

    def sums(self, slot: AnySlot) -> tuple[int, float]:
        """What is used of a slot that has an inventory here, and its capacity."""
        found = self.state.inventories.amounts_at(*cast(Slot, slot))
        assert found is not None, "a search saw room in it"
        capacity, used = found
        return used + self.more.get(slot, 0), capacity

    def refused(self, wanted: Iterable[tuple[Slot, int]]) -> Slot | None:
        """The first slot that does not take its amount, which is asked of each once;
        None: all of it may be used more."""
        for slot, amount in wanted:
            if self.refusal(slot, amount) is not None:
                return slot
        return None

    def fits(
        self, row: int, pending: Pending, claim_id: int | None = None
    ) -> Fit | Lack:
        """What the instance takes of the host's cells and devices, as
        ``Promises.fit``."""
        found = self._promises.get(row) or self.state.fleet.hosts.promises[row]
        return found.fit(pending, claim_id)
