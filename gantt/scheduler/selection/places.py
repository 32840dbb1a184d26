"""Where exactly on a host an instance goes: its candidate in the books.

A sheet of what this request has taken so far stands over the State, so that the second
instance is not promised what the first one got.
"""

from __future__ import annotations

from collections.abc import Iterator

from gantt.model.answers import Candidate
from gantt.placement.candidates.combine import Budget
from gantt.placement.candidates.survey import FlatSurvey
from gantt.scheduler.feasibility.feasible_hosts import Field
from gantt.state.state import State

NOTHING = Candidate({}, {})


class Places:
    """Candidates of the hosts of ``field``, less what was taken through ``take``."""

    def __init__(self, state: State, field: Field, budget: Budget) -> None:
        self._state = state
        self._surveys = field.surveys
        self._listing = field.listing
        self._budget = budget
        self._taken: dict[tuple[str, str], int] = {}
        # Where one question was asked of hosts that give all themselves, each
        # that passed it has one candidate.
        one = field.surveys[0] if len(field.surveys) == 1 else None
        self._only = one if isinstance(one, FlatSurvey) else None

    def find(self, host_row: int) -> Candidate | None:
        """The first candidate of a host's tree that still fits; None: there is none.
        Where no books are asked, it is empty. Raises BudgetSpent."""
        if not self._surveys and self._listing is None:
            return NOTHING
        if self._only is not None and not self._taken:
            provider = int(self._state.fleet.hosts.provider[host_row])
            return self._only.candidate_at(provider)
        for candidate in self._all(host_row):
            if not self._taken or self._fits(candidate):
                return candidate
        return None

    def take(self, candidate: Candidate) -> None:
        """An instance of this request uses ``candidate``."""
        for uuid, resources in candidate.allocations.items():
            for name, amount in resources.items():
                place = (uuid, name)
                self._taken[place] = self._taken.get(place, 0) + amount

    def _all(self, host_row: int) -> Iterator[Candidate]:
        hosts = self._state.fleet.hosts
        if self._listing is not None:
            for candidate in self._listing.of(hosts.uuids[host_row]):
                self._budget.spend()
                yield candidate
        for survey in self._surveys:
            provider = int(hosts.provider[host_row])
            yield from survey.candidates(provider, self._budget)

    def lacking(self, host_row: int) -> frozenset[str]:
        """The classes of which too little is left, beside what was taken: those that
        each candidate of the host lacks, else those that any does; empty: it has none
        at all. Raises Spent."""
        each = [frozenset(self._lacks(one)) for one in self._all(host_row)]
        if not each:
            return frozenset()
        return frozenset.intersection(*each) or frozenset().union(*each)

    def _fits(self, candidate: Candidate) -> bool:
        return not any(self._lacks(candidate))

    def _lacks(self, candidate: Candidate) -> Iterator[str]:
        """Units were judged by the search; sums are judged here."""
        for uuid, resources in candidate.allocations.items():
            for name, amount in resources.items():
                taken = self._taken.get((uuid, name))
                if taken and not self._has_room(uuid, name, taken + amount):
                    yield name

    def _has_room(self, uuid: str, name: str, amount: int) -> bool:
        if self._listing is not None:
            return self._listing.has_room(uuid, name, amount)
        row = self._state.providers.row_of(uuid)
        index = self._state.classes.index_of(name)
        assert row is not None and index is not None, "the search named them"
        found = self._state.inventories.slot(row, index)
        assert found is not None, "the search saw room"
        table, slot = found
        return bool(table.used[slot] + amount <= table.capacity[slot])
