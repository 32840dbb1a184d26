"""What several flavors took so far, of the same hosts and providers.

Beside the State, which does not change meanwhile: each flavor subtracts it from what it
finds there. Amounts of providers are kept twice: as arrays for passes over all hosts,
and in a view for the search, which looks at one candidate at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from gantt.model.answers import Candidate
from gantt.placement.candidates.summarize import Rows
from gantt.scheduler.capacity.tries import Tries
from gantt.scheduler.hosts import Hosts, Taken
from gantt.scheduler.pauses import Pause, never
from gantt.state.column import Floats, Int64s
from gantt.state.state import State
from gantt.state.view import View


class Together:
    """``view``: amounts, cells and devices; ``members``: uuid of a server group ->
    service host -> instances. ``shares``: float64[hosts], by row, about how much of
    each is taken. ``is_searched``: whether any flavor needs the view. ``pause``:
    between hosts that are tried one by one, where others may write and decide.
    ``tries``: of one call."""

    def __init__(
        self, state: State, pause: Pause = never, tries: Tries | None = None
    ) -> None:
        self._state, self.pause = state, pause
        self.tries = Tries() if tries is None else tries
        self._amounts: dict[str, Int64s] = {}
        self._on_hosts: dict[Taken, Int64s] = {}
        self.view = View(state)
        self.members: dict[str, Counter[str]] = {}
        self.is_searched = False
        self.shares: Floats = np.zeros(state.fleet.hosts.height)

    def of_class(self, name: str, providers: Rows) -> Int64s | None:
        """int64[n]: what was taken of each of these provider rows; None: nothing."""
        found = self._amounts.get(name)
        return None if found is None else found[providers]

    def take_flat(
        self, amounts: Iterable[tuple[str, int]], providers: Rows, counts: Int64s
    ) -> None:
        """So many instances (int64[n]) use the amounts of each of these providers."""
        at = np.flatnonzero(counts)
        rows, times = providers[at], counts[at]
        for name, amount in amounts:
            np.add.at(self._array(name), rows, amount * times)
            if not self.is_searched:
                continue
            index = self._state.classes.index_of(name)
            assert index is not None, "an instance uses it"
            for row, count in zip(rows.tolist(), times.tolist(), strict=True):
                self.view.add((row, index), amount * count)

    def take(self, candidate: Candidate) -> None:
        """An instance uses the candidate, which ``view`` has already."""
        for uuid, resources in candidate.allocations.items():
            row = self._state.providers.row_of(uuid)
            assert row is not None, "the search named it"
            for name, amount in resources.items():
                self._array(name)[row] += amount

    def land(self, taken: Taken, rows: Int64s, counts: Int64s) -> None:
        """So many instances (int64[n]) are on the hosts at these rows."""
        if taken not in self._on_hosts:
            self._on_hosts[taken] = np.zeros(self._state.fleet.hosts.height, np.int64)
        np.add.at(self._on_hosts[taken], rows, counts)

    def share(self, rows: Int64s, shares: Floats) -> None:
        """So much (float64[n]) of the room of these hosts is taken."""
        np.add.at(self.shares, rows, shares)

    def hosts(self, hosts: Hosts) -> Hosts:
        """The hosts, with all that landed on them."""
        found = hosts.copy()
        for taken, counts in self._on_hosts.items():
            here = counts[hosts.rows]
            if here.any():
                found.land(np.outer(taken, here), here)
        return found

    def _array(self, name: str) -> Int64s:
        if name not in self._amounts:
            self._amounts[name] = np.zeros(self._state.providers.height, np.int64)
        return self._amounts[name]
