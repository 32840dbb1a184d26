"""Does it fit? The one place where an amount is judged against an inventory.

It works on a sheet of sums, so that all allocations of one command are judged together:
what the named consumers had is given back first, then each new amount is entered.
"""

from __future__ import annotations

from typing import NamedTuple

from gantt.errors import DoesNotFit
from gantt.state.state import State

Place = tuple[int, int]
"""A provider's row and a class's index."""


class Limits(NamedTuple):
    """What an inventory allows; ``capacity`` is a float, compared as such."""

    min_unit: int
    max_unit: int
    step_size: int
    capacity: float

    def refuse(self, amount: int) -> bool:
        """Whether no single allocation may be of ``amount``."""
        return (
            amount < self.min_unit
            or amount > self.max_unit
            or amount % self.step_size != 0
        )


class Ledger:
    """Sums of use while a command is planned.

    ``interim`` inventories stand in for those of the State (a reshape judges against
    what will be, with what is going still there).
    """

    def __init__(self, state: State, interim: dict[Place, Limits] | None = None):
        self._state = state
        self._interim = interim or {}
        self._used: dict[Place, int] = {}
        self._before: dict[Place, int] = {}

    def give_back(self, place: Place, amount: int) -> None:
        """A named consumer no longer uses ``amount``."""
        self._used[place] = self._now(place) - amount

    def enter(self, place: Place, amount: int) -> None:
        """A named consumer uses ``amount`` from now on. Raises DoesNotFit.

        More than the capacity passes as long as the sum is no more than what was used
        before the command: an overfull provider may be emptied step by step.
        """
        limits = self._limits(place)
        if limits is None:
            raise DoesNotFit(f"Inventory for {self._words(place)} invalid.")
        if limits.refuse(amount):
            raise DoesNotFit(
                f"Unable to create allocation for {self._words(place)}. The requested "
                "amount would violate inventory constraints. "
                f"Requested: {amount}, min_unit: {limits.min_unit}, "
                f"max_unit: {limits.max_unit}, step_size: {limits.step_size}."
            )
        used = self._now(place)
        if self._overfills(place, limits, amount):
            raise DoesNotFit(
                f"Unable to create allocation for {self._words(place)}. The requested "
                "amount would exceed the capacity. "
                f"Requested: {amount}, used: {used}, capacity: {limits.capacity:.15g}."
            )
        self._used[place] = used + amount

    def fits(self, place: Place, amount: int) -> bool:
        """Whether ``enter`` would take it; nothing is entered."""
        limits = self._limits(place)
        return (
            limits is not None
            and not limits.refuse(amount)
            and not self._overfills(place, limits, amount)
        )

    def add(self, place: Place, amount: int) -> None:
        """Enter what ``fits`` was asked about just before."""
        self._used[place] = self._now(place) + amount

    def _overfills(self, place: Place, limits: Limits, amount: int) -> bool:
        total = self._now(place) + amount
        return total > limits.capacity and total > self._before[place]

    def _now(self, place: Place) -> int:
        if place not in self._used:
            found = self._state.inventories.slot(*place)
            if found is None:
                used = self._state.allocations.used_on(*place)
            else:
                used = int(found[0].used[found[1]])
            self._used[place] = self._before[place] = used
        return self._used[place]

    def _limits(self, place: Place) -> Limits | None:
        if place in self._interim:
            return self._interim[place]
        found = self._state.inventories.slot(*place)
        if found is None:
            return None
        table, slot = found
        return Limits(
            int(table.min_unit[slot]),
            int(table.max_unit[slot]),
            int(table.step_size[slot]),
            float(table.capacity[slot]),
        )

    def _words(self, place: Place) -> str:
        name = self._state.classes.at(place[1]).name
        uuid = self._state.providers.uuids[place[0]]
        return f"'{name}' on resource provider '{uuid}'"
