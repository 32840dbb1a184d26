"""Inventories: one table of columns per resource class.

"Which providers have room for 4 VCPU?" is then a pass over the rows of VCPU alone,
however many classes a fleet has. ``used`` and ``capacity`` are kept beside the
inventory that they judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gantt.model.names import MAX_INT
from gantt.model.rows import InventoryRow
from gantt.state.column import (
    NO_ROW,
    Bools,
    DatedColumns,
    Floats,
    Int32s,
    Int64s,
)


def capacity_of(total: int, reserved: int, ratio: float) -> float:
    """What may be used at most. A float: a ratio of 3.4e38 overflows int64."""
    return (total - reserved) * float(ratio)


class ClassTable(DatedColumns):
    """The inventories of one class; a row of it is called a slot."""

    specs: ClassVar = {
        "id": (np.int64, 0),
        "provider": (np.int32, NO_ROW),
        "total": (np.int64, 0),
        "reserved": (np.int64, 0),
        "min_unit": (np.int64, 1),
        "max_unit": (np.int64, 0),
        "step_size": (np.int64, 1),
        "allocation_ratio": (np.float64, 0.0),
        "capacity": (np.float64, -1.0),
        "used": (np.int64, 0),
        **DatedColumns.specs,
    }
    id: Int64s
    provider: Int32s
    total: Int64s
    reserved: Int64s
    min_unit: Int64s
    max_unit: Int64s
    step_size: Int64s
    allocation_ratio: Floats
    capacity: Floats
    used: Int64s

    def __init__(self) -> None:
        super().__init__()
        # Moves when an inventory comes or goes.
        self.moves = 0
        self.slot_of: dict[int, int] = {}
        # The same as an array, for many providers at once.
        self._slots: Int32s = np.empty(0, np.int32)

    def slots_of(self, providers: NDArray[np.intp]) -> Int32s:
        """int32[providers]: the slot of each; NO_ROW: it has none of the class."""
        found = np.full(len(providers), NO_ROW, np.int32)
        is_known = providers < len(self._slots)
        found[is_known] = self._slots[providers[is_known]]
        return found

    def assign(self, provider: int, slot: int | None) -> None:
        """``slot`` belongs to ``provider``; None: it has none any more."""
        self.moves += 1
        if slot is None:
            del self.slot_of[provider]
        else:
            self.slot_of[provider] = slot
        known = len(self._slots)
        if provider >= known:
            more = np.full(max(provider + 1 - known, known), NO_ROW, np.int32)
            self._slots = np.append(self._slots, more)
        self._slots[provider] = NO_ROW if slot is None else slot

    def has_room(
        self, amount: int, slots: Int64s | Int32s | slice | None = None
    ) -> Bools:
        """bool[slots]: whose units and free capacity allow ``amount``; all slots below
        ``height`` when None is given."""
        if slots is None:
            slots = slice(self.height)
        # No max_unit is above MAX_INT, and a sum beyond 64 bits would not be one.
        if amount > MAX_INT:
            return np.zeros(len(self.used[slots]), np.bool_)
        fits = self.used[slots] + amount <= self.capacity[slots]
        fits &= self.min_unit[slots] <= amount
        fits &= self.max_unit[slots] >= amount
        steps = self.step_size[slots]
        if amount > 1 and (steps != 1).any():
            fits &= amount % steps == 0
        elif amount == 1:
            fits &= steps == 1
        fits &= self.is_live[slots]
        return fits

    def can_take(
        self, total: int, slots: Int64s | Int32s | slice | None = None
    ) -> Bools:
        """bool[slots]: that can take allocations of ``total`` in sum, each of which
        has room for itself."""
        if slots is None:
            slots = slice(self.height)
        if total > MAX_INT:
            return np.zeros(len(self.used[slots]), np.bool_)
        fits = self.used[slots] + total <= self.capacity[slots]
        fits &= self.max_unit[slots] >= total
        return fits

    def amounts(
        self, slots: NDArray[np.intp] | Int64s | Int32s
    ) -> tuple[Floats, Int64s]:
        """(float64[n], int64[n]): what the inventories at ``slots`` allow in sum, and
        what is used of them."""
        return self.capacity[slots], self.used[slots]

    def supposing(self, **columns: Int64s | Floats) -> ClassTable:
        """The table with other columns, for a question: what is put into either later
        shows in both or none."""
        found = copy(self)
        for name, values in columns.items():
            setattr(found, name, values)
        return found

    def largest(
        self, most: int, slots: Int64s | Int32s | slice | None = None
    ) -> Int64s:
        """int64[slots]: the largest amount up to ``most`` that each has room for; 0:
        for none."""
        if slots is None:
            slots = slice(self.height)
        free = np.floor(np.clip(self.capacity[slots], 0, 2.0**62)).astype(np.int64)
        free -= self.used[slots]
        found = np.minimum(np.minimum(free, self.max_unit[slots]), min(most, MAX_INT))
        found -= found % self.step_size[slots]
        found[(found < self.min_unit[slots]) | ~self.is_live[slots]] = 0
        return np.maximum(found, 0)


class Inventories:
    """All class tables, by the dense index of the class."""

    def __init__(self) -> None:
        self._tables: dict[int, ClassTable] = {}
        self.place_by_id: dict[int, tuple[int, int]] = {}
        self._classes_of: dict[int, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self.place_by_id)

    def table(self, class_index: int) -> ClassTable | None:
        """The table of a class, or None when no provider ever had any."""
        return self._tables.get(class_index)

    def supposing(self, class_index: int, table: ClassTable) -> Inventories:
        """The inventories with another table, for a question."""
        found = copy(self)
        found._tables = {**self._tables, class_index: table}
        return found

    def slot(self, provider: int, class_index: int) -> tuple[ClassTable, int] | None:
        """Where a provider's inventory of a class stands."""
        table = self._tables.get(class_index)
        slot = None if table is None else table.slot_of.get(provider)
        return None if table is None or slot is None else (table, slot)

    def amounts_at(self, provider: int, class_index: int) -> tuple[float, int] | None:
        """The ``ClassTable.amounts`` of one provider; None: it has no inventory."""
        table = self._tables.get(class_index)
        slot = None if table is None else table.slot_of.get(provider)
        if table is None or slot is None:
            return None
        return table.capacity.item(slot), table.used.item(slot)

    def has_room_at(self, provider: int, wanted: Mapping[int, Sequence[int]]) -> bool:
        """Whether one provider has room and can take it, by its ``ClassTable``.
        ``wanted``: class index -> the amounts of its allocations."""
        for class_index, amounts in wanted.items():
            table = self._tables.get(class_index)
            slot = None if table is None else table.slot_of.get(provider)
            if table is None or slot is None:
                return False
            least, step = table.min_unit[slot], table.step_size[slot]
            total = 0
            for amount in amounts:
                if amount < least or amount % step != 0:
                    return False
                total += amount
            # What holds of the sum holds of each part.
            free = table.used[slot] + total <= table.capacity[slot]
            if not free or total > table.max_unit[slot]:
                return False
        return True

    def classes_of(self, provider: int) -> tuple[int, ...]:
        """The classes that a provider has, ascending by index."""
        return self._classes_of.get(provider, ())

    def is_any_of_each(self, providers: NDArray[np.intp]) -> bool:
        """Whether each of intp[n] providers has an inventory of some class."""
        for table in self._tables.values():
            # The first class of most fleets leaves no provider.
            if not len(providers):
                break
            providers = providers[table.slots_of(providers) == NO_ROW]
        return not len(providers)

    def put(
        self, values: InventoryRow, provider: int, class_index: int, used: int
    ) -> None:
        """Add the inventory, or take in new values; ``used`` counts for a new one."""
        table = self._tables.get(class_index)
        if table is None:
            table = self._tables[class_index] = ClassTable()
        place = self.place_by_id.get(values.id)
        if place is None:
            slot = self._enter(table, values.id, provider, class_index)
            table.used[slot] = used
        else:
            slot = place[1]
        table.total[slot] = values.total
        table.reserved[slot] = values.reserved
        table.min_unit[slot] = values.min_unit
        table.max_unit[slot] = values.max_unit
        table.step_size[slot] = values.step_size
        table.allocation_ratio[slot] = values.allocation_ratio
        table.capacity[slot] = capacity_of(
            values.total, values.reserved, values.allocation_ratio
        )
        table.date(slot, values.created_at, values.updated_at)

    def remove(self, key: int) -> int:
        """Forget an inventory; the row of its provider."""
        class_index, slot = self.place_by_id.pop(key)
        table = self._tables[class_index]
        provider = int(table.provider[slot])
        table.assign(provider, None)
        left = tuple(c for c in self._classes_of[provider] if c != class_index)
        if left:
            self._classes_of[provider] = left
        else:
            del self._classes_of[provider]
        table.give_back(slot)
        return provider

    def add_used(self, provider: int, class_index: int, amount: int) -> None:
        """Count ``amount`` more (or less) as used, where there is an inventory."""
        table = self._tables.get(class_index)
        slot = None if table is None else table.slot_of.get(provider)
        if table is not None and slot is not None:
            table.used[slot] += amount

    def ids(self) -> Iterator[int]:
        """Every inventory id, ascending."""
        return iter(sorted(self.place_by_id))

    def find(
        self, provider: int, class_index: int, provider_id: int, class_id: int
    ) -> InventoryRow | None:
        """The inventory of a class of the provider at row ``provider``. The ids are
        those of the two."""
        table = self._tables.get(class_index)
        slot = None if table is None else table.slot_of.get(provider)
        if table is None or slot is None:
            return None
        return InventoryRow(
            int(table.id[slot]),
            provider_id,
            class_id,
            int(table.total[slot]),
            int(table.reserved[slot]),
            int(table.min_unit[slot]),
            int(table.max_unit[slot]),
            int(table.step_size[slot]),
            float(table.allocation_ratio[slot]),
            *table.dates(slot),
        )

    def _enter(
        self, table: ClassTable, key: int, provider: int, class_index: int
    ) -> int:
        slot = table.take()
        table.id[slot] = key
        table.provider[slot] = provider
        table.assign(provider, slot)
        self.place_by_id[key] = (class_index, slot)
        classes = self._classes_of.get(provider, ())
        self._classes_of[provider] = tuple(sorted((*classes, class_index)))
        return slot
