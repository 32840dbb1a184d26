"""The State, plus or minus what is being decided.

Only differences are kept. The columns are the State's own and are never written, so no
other reader sees what is tried here, and ``undo`` leaves no trace of it. A View is of
use while the lock of its State is held.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from gantt.model.topology import Fit, Lack
from gantt.state.promises import Promises
from gantt.state.state import State
from gantt.topology.pending import Pending

Slot = tuple[int, int]
"""A provider's row and a class's index: where amounts are counted."""
HostAmounts = tuple[int, int, int]
"""VCPUs, MB of memory and MB of disk, as hosts report them."""


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


class View:
    """``state``, with differences of one owner. ``on_hosts``: host row -> what is used
    more there than the host reports and its claims hold."""

    __slots__ = ("_changed", "_limits", "_more", "_promises", "on_hosts", "state")

    def __init__(self, state: State) -> None:
        self.state = state
        self._more: dict[Slot, int] = {}
        self._limits: dict[Slot, SlotLimits] = {}
        self._promises: dict[int, Promises] = {}  # copies
        self.on_hosts: dict[int, HostAmounts] = {}
        # For undo: which dict was changed, at which key, and the value before, if any.
        self._changed: list[tuple[dict[Any, Any], Any, Any]] = []

    # -- differences --------------------------------------------------------------

    def add(self, slot: Slot, amount: int) -> None:
        """``amount`` more is used of the slot; a negative one is given back."""
        before = self._more.get(slot)
        self._changed.append((self._more, slot, before))
        self._more[slot] = amount + (before or 0)

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

    def promise(self, row: int, claim_id: int, pending: Pending) -> None:
        """A claim takes cells and devices of the host at ``row``."""
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
        used = known + self._more.get(slot, 0)
        is_unit = limits.min_unit <= amount <= limits.max_unit
        if not is_unit or amount % limits.step_size:
            return Refusal(limits, used)
        total = used + amount
        if total > limits.capacity and total > known:
            return Refusal(limits, used, is_full=True)
        return None

    def enter(self, wanted: Iterable[tuple[Slot, int]]) -> bool:
        """Add all of it, each judged after the ones before; or nothing, where one of
        them is refused."""
        mark = self.mark()
        for slot, amount in wanted:
            if self.refusal(slot, amount) is not None:
                self.undo(mark)
                return False
            self.add(slot, amount)
        return True

    def fits(
        self, row: int, pending: Pending, claim_id: int | None = None
    ) -> Fit | Lack:
        """What the instance takes of the host's cells and devices, as
        ``Promises.fit``."""
        found = self._promises.get(row) or self.state.fleet.hosts.promises[row]
        return found.fit(pending, claim_id)
