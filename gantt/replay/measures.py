"""What a fleet looks like at one moment: use, stranded capacity, empty hosts.

Read from the columns of the inventories, summed over the providers of each tree.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from msgspec import Struct

from gantt.model.spec import Flavor
from gantt.state.column import Floats, Int64s
from gantt.state.state import State

_OF_FLAVOR: Final = ("VCPU", "MEMORY_MB", "DISK_GB")


class Use(Struct, frozen=True):
    """One resource class over all hosts. ``capacity`` and ``used`` in its unit.
    ``stranded``: free, and of no use to the mean instance, because another class of its
    host is used up first."""

    capacity: float
    used: int
    stranded: float

    @property
    def share(self) -> float:
        """Used, as a part of the capacity, from 0."""
        return self.used / self.capacity if self.capacity else 0.0

    @property
    def stranded_share(self) -> float:
        """Stranded, as a part of the capacity, from 0."""
        return self.stranded / self.capacity if self.capacity else 0.0


class Sample(Struct, frozen=True):
    """``at``: microseconds since the start of the trace. ``classes``: by name."""

    at: int
    instances: int
    empty_hosts: int
    hosts: int
    classes: dict[str, Use]


class Gauge:
    """Takes samples of one State, whose hosts and inventories stay."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._demand: dict[str, int] = dict.fromkeys(_OF_FLAVOR, 0)
        hosts = state.fleet.hosts
        rows = hosts.live_rows()
        self._roots = np.unique(state.providers.root[hosts.provider[rows]])

    def note_demand(self, flavor: Flavor, count: int) -> None:
        """``count`` instances of the flavor were placed: the mean instance is made of
        all that were."""
        demand = self._demand
        demand["VCPU"] += flavor.vcpus * count
        demand["MEMORY_MB"] += flavor.memory_mb * count
        demand["DISK_GB"] += (flavor.root_gb + flavor.ephemeral_gb) * count

    def sample(self, at: int, instances: int) -> Sample:
        """A sample of the columns as they are now; ``instances``: that are placed."""
        amounts = self._amounts()
        left = {
            name: np.maximum(cap - used, 0) for name, (cap, used) in amounts.items()
        }
        stranded = self._stranded(left)
        is_used = np.zeros(len(self._roots), np.bool_)
        for _, used in amounts.values():
            is_used |= used > 0
        return Sample(
            at,
            instances,
            int(np.count_nonzero(~is_used)),
            len(self._roots),
            {
                name: Use(float(cap.sum()), int(used.sum()), stranded.get(name, 0.0))
                for name, (cap, used) in amounts.items()
            },
        )

    def _amounts(self) -> dict[str, tuple[Floats, Int64s]]:
        """Class -> (float64[hosts] capacity, int64[hosts] used), by place in
        ``roots``."""
        state, found = self._state, {}
        for name in (row.name for row in state.classes.rows()):
            numbers = state.classes.numbers_of(name)
            table = None if numbers is None else state.inventories.table(numbers[1])
            if table is None:
                continue
            slots = np.flatnonzero(table.is_live[: table.height])
            roots = state.providers.root[table.provider[slots]]
            places = np.searchsorted(self._roots, roots)
            capacity = np.zeros(len(self._roots), np.float64)
            used = np.zeros(len(self._roots), np.int64)
            most, taken = table.amounts(slots)
            np.add.at(capacity, places, most)
            np.add.at(used, places, taken)
            found[name] = capacity, used
        return found

    def _stranded(self, left: dict[str, Floats]) -> dict[str, float]:
        """Class -> what is left when each host is filled with mean instances."""
        mean = {name: self._demand[name] for name in _OF_FLAVOR if self._demand[name]}
        asked = {name: amount for name, amount in mean.items() if name in left}
        if not asked:
            return {}
        fits = np.minimum.reduce(
            [left[name] / amount for name, amount in asked.items()]
        )
        return {
            name: max(0.0, float((left[name] - fits * amount).sum()))
            for name, amount in asked.items()
        }
