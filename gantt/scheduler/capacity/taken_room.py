"""What several flavors took so far, of the same hosts and providers.

Beside the State: each flavor subtracts it from what it finds there. Amounts of
providers, cells and devices are in a view; here is what stands for numbers of instances
that have no names: what they take of hosts, and how many of a group are where.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from gantt.placement.candidates.search_answer import Rows
from gantt.scheduler.capacity.tries import Tries
from gantt.scheduler.hosts import Hosts, Taken
from gantt.scheduler.pauses import Pause, never
from gantt.state.column import Floats, Int64s
from gantt.state.state import State
from gantt.state.view import View


class Together:
    """``view``: amounts, cells and devices; ``members``: uuid of a server group ->
    service host -> instances. ``shares``: float64[hosts], by row, about how much of
    each is taken. ``pause``: between hosts that are tried one by one, where others may
    write and decide. ``tries``: of one call."""

    def __init__(
        self, state: State, pause: Pause = never, tries: Tries | None = None
    ) -> None:
        self._state, self.pause = state, pause
        self.tries = Tries() if tries is None else tries
        height = state.fleet.hosts.height
        # By row of hosts: of each field of Taken how much, and how many instances.
        self._taken: Int64s = np.zeros((len(Taken._fields), height), np.int64)
        self._landed: Int64s = np.zeros(height, np.int64)
        self.view = View(state)
        self.members: dict[str, Counter[str]] = {}
        self.shares: Floats = np.zeros(height)

    def of_class(self, name: str, providers: Rows) -> Int64s | None:
        """int64[n]: what was taken of each of these provider rows; None: nothing."""
        index = self._state.classes.index_of(name)
        return None if index is None else self.view.added(index, providers)

    def take_flat(
        self, amounts: Iterable[tuple[str, int]], providers: Rows, counts: Int64s
    ) -> None:
        """So many instances (int64[n]) use the amounts of each of these providers."""
        at = np.flatnonzero(counts)
        for name, amount in amounts:
            index = self._state.classes.index_of(name)
            assert index is not None, "an instance uses it"
            self.view.add_flat(index, providers[at], amount * counts[at])

    def land(self, taken: Taken, rows: Int64s, counts: Int64s) -> None:
        """So many instances (int64[n]) are on the hosts at these rows."""
        self._taken[:, rows] += np.outer(taken, counts)
        self._landed[rows] += counts

    def share(self, rows: Int64s, shares: Floats) -> None:
        """So much (float64[n]) of the room of these hosts is taken."""
        np.add.at(self.shares, rows, shares)

    def hosts(self, hosts: Hosts) -> Hosts:
        """The hosts, with all that landed on them."""
        found = hosts.copy()
        found.land(self._taken[:, hosts.rows], self._landed[hosts.rows])
        return found
