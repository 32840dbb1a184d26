"""Does it fit? The one place where an amount is judged against an inventory.

It works on a sheet of sums, so that all allocations of one command are judged together:
what the named consumers had is given back first, then each new amount is entered.
"""

from __future__ import annotations

from msgspec import Struct

from gantt.errors import DoesNotFit
from gantt.state.state import State

Place = tuple[int, int]
"""A provider's row and a class's index."""

_NO_INVENTORY = "name a class without inventory"
_UNITS = "violate inventory constraints"
_FULL = "exceed the capacity"


class Limits(Struct, frozen=True):
    """What an inventory allows; ``capacity`` is a float, compared as such."""

    min_unit: int
    max_unit: int
    step_size: int
    capacity: float


class _Sum(Struct):
    """What is used of one class of one provider, now and ``before`` the command.
    ``limits`` None: the provider has no such inventory."""

    limits: Limits | None
    used: int
    before: int

    def refusal(self, amount: int) -> str | None:
        """Why ``amount`` more may not be allocated, None: it may.

        More than the capacity passes as long as the sum is no more than what was used
        before the command: an overfull provider may be emptied step by step.
        """
        limits = self.limits
        if limits is None:
            return _NO_INVENTORY
        if (
            not limits.min_unit <= amount <= limits.max_unit
            or amount % limits.step_size
        ):
            return _UNITS
        total = self.used + amount
        return _FULL if total > limits.capacity and total > self.before else None


class Ledger:
    """Sums of use while a command is planned.

    ``interim`` inventories stand in for those of the State (a reshape judges against
    what will be, with what is going still there).
    """

    def __init__(self, state: State, interim: dict[Place, Limits] | None = None):
        self._state = state
        self._interim = interim or {}
        self._sums: dict[Place, _Sum] = {}

    def give_back(self, place: Place, amount: int) -> None:
        """A named consumer no longer uses ``amount``."""
        self._sum(place).used -= amount

    def enter(self, place: Place, amount: int) -> None:
        """A named consumer uses ``amount`` from now on. Raises DoesNotFit."""
        known = self._sum(place)
        refusal = known.refusal(amount)
        if refusal is None:
            known.used += amount
            return
        limits, words = known.limits, self._words(place)
        if limits is None:
            raise DoesNotFit(f"Inventory for {words} invalid.")
        numbers = f"used: {known.used}, capacity: {limits.capacity:.15g}"
        if refusal == _UNITS:
            numbers = (
                f"min_unit: {limits.min_unit}, max_unit: {limits.max_unit}, "
                f"step_size: {limits.step_size}"
            )
        raise DoesNotFit(
            f"Unable to create allocation for {words}. The requested amount would "
            f"{refusal}. Requested: {amount}, {numbers}."
        )

    def enter_all(self, wanted: list[tuple[Place, int]]) -> bool:
        """Enter all of ``wanted``, or nothing where ``enter`` would refuse any."""
        sums = []
        for place, amount in wanted:
            known = self._sum(place)
            if known.refusal(amount) is not None:
                return False
            sums.append((known, amount))
        for known, amount in sums:
            known.used += amount
        return True

    def _sum(self, place: Place) -> _Sum:
        known = self._sums.get(place)
        if known is not None:
            return known
        limits = None
        found = self._state.inventories.slot(*place)
        if found is None:
            used = self._state.allocations.used_on(*place)
        else:
            table, slot = found
            used = int(table.used[slot])
            limits = Limits(
                int(table.min_unit[slot]),
                int(table.max_unit[slot]),
                int(table.step_size[slot]),
                float(table.capacity[slot]),
            )
        limits = self._interim.get(place, limits)
        made = self._sums[place] = _Sum(limits, used, used)
        return made

    def _words(self, place: Place) -> str:
        name = self._state.classes.at(place[1]).name
        uuid = self._state.providers.uuids[place[0]]
        return f"'{name}' on resource provider '{uuid}'"
