"""Amounts by slot, with differences: the part of a View that judges what fits.

Single differences are kept by slot. Once a pass over all hosts asks for a class, all
that differs of it is kept as an array as well, and both stay in step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gantt.state.column import Int64s
from gantt.state.state import State

Slot = tuple[int, int]
"""A provider's row and a class's index: where amounts are counted."""
AnySlot = Slot | tuple[str, str]
"""By uuid and name where this State knows no such provider: another Placement may."""


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


class SlotAmounts:
    """What the slots of ``state`` have and use; a View makes its fields."""

    __slots__ = ("_arrays", "_changed", "_limits", "_more", "_slots", "state")

    state: State
    _more: dict[AnySlot, int]
    _slots: dict[tuple[str, str], AnySlot]
    # By class index: ``_more`` by provider row, and what was added to many at once.
    _arrays: dict[Any, Int64s]
    _limits: dict[Slot, SlotLimits]
    # For undo: which dict was changed, at which key, and the value before, if any; or
    # what to call, and with what.
    _changed: list[tuple[Any, Any, Any]]

    # -- differences --------------------------------------------------------------

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

    def add(self, slot: AnySlot, amount: int) -> None:
        """``amount`` more is used of the slot; a negative one is given back."""
        self.add_each(((slot, amount),))

    def add_each(self, amounts: Iterable[tuple[AnySlot, int]]) -> None:
        """Adds amounts one after the other."""
        for slot, amount in amounts:
            before = self._more.get(slot)
            self._changed.append((self._more, slot, before))
            self._more[slot] = amount + (before or 0)
            if slot[1] in self._arrays:
                row: Any = slot[0]
                self._arrays[slot[1]][row] += amount

    def add_flat(
        self, class_index: int, providers: NDArray[np.intp], amounts: Int64s
    ) -> None:
        """Adds amounts of one class to many providers at once."""
        array = self._array(class_index)
        np.add.at(array, providers, amounts)
        self._changed.append((np.subtract.at, (array, providers, amounts), None))

    def more(self, slot: AnySlot) -> int:
        """How much more is used of the slot than the State has."""
        array = self._arrays.get(slot[1])
        return self._more.get(slot, 0) if array is None else array.item(int(slot[0]))

    def added(self, class_index: int, providers: NDArray[np.intp]) -> Int64s | None:
        """int64[n]: how much more is used of the class at each of ``providers``; None:
        nothing is."""
        return self._array(class_index)[providers] if self._changed else None

    def _array(self, class_index: int) -> Int64s:
        found = self._arrays.get(class_index)
        if found is None:
            found = np.zeros(self.state.providers.height, np.int64)
            for slot, amount in self._more.items():
                if slot[1] == class_index:
                    found[slot[0]] = amount
            self._arrays[class_index] = found
        return found

    def limit(self, slot: Slot, limits: SlotLimits) -> None:
        """The slot is judged by ``limits`` instead of the State's inventory."""
        self._changed.append((self._limits, slot, self._limits.get(slot)))
        self._limits[slot] = limits

    def mark(self) -> int:
        """The place in the list of differences, for ``undo``."""
        return len(self._changed)

    def undo(self, mark: int) -> None:
        """Forget all differences since ``mark``."""
        while len(self._changed) > mark:
            values, key, before = self._changed.pop()
            if callable(values):
                values(*key)
                continue
            if values is self._more and key[1] in self._arrays:
                self._arrays[key[1]][key[0]] -= values[key] - (before or 0)
            if before is None:
                del values[key]
            else:
                values[key] = before

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
        is_flat = slot[1] in self._arrays
        used = known + (self.more(slot) if is_flat else self._more.get(slot, 0))
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
        return used + self.more(slot), capacity

    def refused(self, wanted: Sequence[tuple[Slot, int]]) -> Slot | None:
        """The first slot that does not take its amounts; None: all of it may be used
        more."""
        if len(dict(wanted)) < len(wanted):  # two spellings of one provider
            sums = Counter[Slot]()
            for slot, amount in wanted:
                sums[slot] += amount
            wanted = list(sums.items())
        for slot, amount in wanted:
            if self.refusal(slot, amount) is not None:
                return slot
        return None
