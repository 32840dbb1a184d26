"""Hosts for all items of a demand at once: depth first, the scarcest item and the best
hosts first, back where the rest has no place, within a number of steps.

What it finds holds by the functions that the commit judges by: amounts in a View,
relations in ``domain_rules``, hosts that took something by filters that read its use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np
from msgspec import Struct

from gantt.model.answers import Candidate
from gantt.placement.candidates.combination import Budget
from gantt.placement.domain_rules import DomainCounts
from gantt.scheduler.evaluation.evaluation import Landed
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts, filters_of
from gantt.scheduler.hosts import Taken
from gantt.scheduler.joint.allowed_domains import may_be_open
from gantt.scheduler.pauses import Pause
from gantt.scheduler.relations.domain_picks import DomainPicks
from gantt.scheduler.relations.requirements import room_for
from gantt.scheduler.selection.host_choice import Pick
from gantt.scheduler.selection.picks import InstancePicks
from gantt.scheduler.selection.remaining_candidates import RemainingCandidates
from gantt.scheduler.selection.remaining_hosts import RemainingHosts
from gantt.scheduler.selection.start_picks import start_picks
from gantt.state.column import Bools, Int64s
from gantt.state.state import State
from gantt.state.view import View

_ROWS_PER_STEP: Final = 1024
CUT: Final = (
    "The search for places for all items at once ended at its limit (joint_steps): "
    "there may be some."
)
_COMPARED: Final = 16
"""Candidates of one host."""


class JointItem(Struct, frozen=True, eq=False):
    """``uuids``: of its things; ``domains``: its relations; ``not_with``: consumers
    that must be on other hosts; ``depth``: how many items must have places before."""

    uuids: Sequence[str]
    feasible: FeasibleHosts
    domains: DomainPicks | None = None
    not_with: frozenset[str] = frozenset()
    depth: int = 0


class _Placed(Struct, frozen=True):
    """A step: of which item, the place in its order, and what undoes it."""

    item: int
    at: int
    pick: Pick
    uuid: str
    mark: int
    before: tuple[Taken, int] | None


class _Relation:
    """One of an item. ``left``: how many that it counts have no place yet."""

    def __init__(self, counts: DomainCounts, left: int) -> None:
        self.counts, self.left = counts, left

    def put(self, row: int, times: int) -> None:
        """One that it counts has its place, or (-1) none again."""
        self.left -= times
        self.counts.counts[self.counts.domains.codes[row]] += times


class _Hosts:
    """The hosts of one item, the best first; ``placed``: how many things have one."""

    def __init__(self, item: JointItem) -> None:
        feasible, count = item.feasible, len(item.uuids)
        self.places: Int64s = feasible.best(len(feasible.hosts))
        self.rows: Int64s = feasible.hosts.rows[self.places]
        self.room: Int64s = room_for(feasible.hosts, feasible.job, count)[self.places]
        self.asked = [
            one
            for one in filters_of(feasible.job, feasible.policy)
            if one.is_elementwise and not one.is_costly
        ]
        self.starts = start_picks(feasible, {})
        hard = () if item.domains is None else item.domains.hard
        self.hard = [_Relation(one, len(one.term.others) or count) for one in hard]
        self.placed = 0


class JointSearch:
    """Under the state lock, but for ``pause``: between two steps others may write."""

    def __init__(
        self, state: State, items: Sequence[JointItem], steps: int, pause: Pause
    ) -> None:
        self._state, self._pause = state, pause
        self._items = items
        self._view = View(state)
        self._budget, self._work = Budget(steps), Budget()
        self._hosts = [_Hosts(one) for one in items]
        related = [
            hosts
            for item, hosts in zip(items, self._hosts, strict=True)
            if hosts.hard or item.not_with
        ]
        self._cost = 1 + sum(len(one.rows) for one in related) // _ROWS_PER_STEP
        order = sorted(
            range(len(items)),
            key=lambda at: (items[at].depth, int((self._hosts[at].room > 0).sum())),
        )
        self._turns = [at for at in order for _ in items[at].uuids]
        self._path: list[_Placed] = []
        self._rows: dict[str, int] = {}
        self._on: dict[int, tuple[Taken, int]] = {}
        self._counted: dict[str, list[_Relation]] = {}
        for item, hosts in zip(items, self._hosts, strict=True):
            for one in hosts.hard:
                for uuid in one.counts.term.others or item.uuids:
                    self._counted.setdefault(uuid, []).append(one)

    def picks(self) -> list[InstancePicks]:
        """For each item; empty: there is no place for all. Raises Spent, and what
        ``pause`` does."""
        stack = [self._choices()]
        while stack:
            choice = next(stack[-1], None)
            if choice is None:
                stack.pop()
                if self._path:
                    self._back()
                continue
            self._budget.spend(self._cost)
            self._pause()
            self._go(*choice)
            if len(self._path) < len(self._turns):
                stack.append(self._choices() if self._may_hold() else iter(()))
            elif self._holds():
                return self._found()
            else:
                self._back()
        return []

    def _found(self) -> list[InstancePicks]:
        found: list[list[list[Pick]]] = [[] for _ in self._items]
        for one in self._path:
            found[one.item].append([one.pick])
        return [
            InstancePicks(
                item.feasible,
                picks,
                RemainingHosts(item.feasible),
                RemainingCandidates(self._view, item.feasible.candidates, self._work),
                domains=item.domains,
            )
            for item, picks in zip(self._items, found, strict=True)
        ]

    # -- steps ----------------------------------------------------------------------

    def _choices(self) -> Iterator[tuple[int, Candidate]]:
        """Where the next thing may go. Things of an item are alike: each goes where
        that before it went, or to a host that is no better."""
        number = self._turns[len(self._path)]
        first = 0
        if self._path and self._path[-1].item == number:
            first = self._path[-1].at
        is_open = self._open(number)
        for at in (np.flatnonzero(is_open[first:]) + first).tolist():
            for candidate in self._candidates(number, at):
                yield at, candidate

    def _go(self, at: int, candidate: Candidate) -> None:
        number = self._turns[len(self._path)]
        item, hosts = self._items[number], self._hosts[number]
        row = int(hosts.rows[at])
        before = self._on.get(row)
        pick = Pick(row, int(self._state.fleet.hosts.id[row]), candidate)
        uuid, mark = item.uuids[hosts.placed], self._view.mark()
        self._path.append(_Placed(number, at, pick, uuid, mark, before))
        hosts.placed += 1
        self._view.add_each(self._view.slots_of(candidate.allocations))
        taken, count = before or (Taken(0, 0, 0), 0)
        both = zip(taken, item.feasible.taken, strict=True)
        self._on[row] = Taken(*map(sum, both)), count + 1
        self._count(uuid, row, 1)

    def _back(self) -> None:
        one = self._path.pop()
        self._hosts[one.item].placed -= 1
        self._view.undo(one.mark)
        if one.before is None:
            del self._on[one.pick.row]
        else:
            self._on[one.pick.row] = one.before
        self._count(one.uuid, one.pick.row, -1)

    def _count(self, uuid: str, row: int, times: int) -> None:
        if times > 0:
            self._rows[uuid] = row
        else:
            del self._rows[uuid]
        for one in self._counted.get(uuid, ()):
            one.put(row, times)

    # -- what may be ------------------------------------------------------------------

    def _open(self, number: int) -> Bools:
        """bool[hosts of the item]: which relations leave open for one more of it."""
        item, hosts = self._items[number], self._hosts[number]
        found = np.ones(len(hosts.rows), np.bool_)
        for one in hosts.hard:
            is_open = may_be_open(one.counts, one.left)
            found &= is_open[one.counts.domains.codes[hosts.rows]]
        if item.not_with:
            names = self._state.fleet.hosts.hosts
            apart = {names[self._rows[one]] for one in item.not_with & {*self._rows}}
            for at in np.flatnonzero(np.isin(hosts.rows, [*self._rows.values()])):
                found[at] &= names[int(hosts.rows[at])] not in apart
        return found

    def _candidates(self, number: int, at: int) -> Iterator[Candidate]:
        """What the host at a place has for one more of the item."""
        row = int(self._hosts[number].rows[at])
        candidates = self._items[number].feasible.candidates
        if not self._takes(number, at):
            return
        view, known = self._view, candidates.certain([row])
        found = iter(known) if known else candidates.of(row, self._work, view)
        for one in [*islice(found, _COMPARED)]:
            if all(
                candidates.has_room(view, uuid, name, amount)
                for uuid, resources in one.allocations.items()
                for name, amount in resources.items()
            ):
                yield one

    def _takes(self, number: int, at: int) -> bool:
        """Whether a host may start one more and, where it took something, passes what
        reads its use."""
        feasible, hosts = self._items[number].feasible, self._hosts[number]
        row = int(hosts.rows[at])
        _, count = self._on.get(row, (None, 0))
        if hosts.starts is not None and hosts.starts.left[row] <= count:
            return False
        if not count:
            return True
        one = feasible.hosts.at(hosts.places[at : at + 1]).copy()
        taken, count = self._on[row]
        one.land(taken, count)
        landed = Landed(one, one, np.array([0]), feasible.request)
        fits = feasible.candidates.still_fits(one)
        return bool(landed.passing(hosts.asked).all()) and (
            fits is None or bool(fits.all())
        )

    def _may_hold(self) -> bool:
        """Whether each item that is not placed yet has hosts enough, as far as
        relations and what was free before tell."""
        for number, item in enumerate(self._items):
            hosts = self._hosts[number]
            left = len(item.uuids) - hosts.placed
            asks = left and (item.not_with or hosts.hard)
            if asks and int(hosts.room[self._open(number)].sum()) < left:
                return False
        return True

    def _holds(self) -> bool:
        """Whether all relations hold of all together."""
        return not any(
            one.counts.broken_at([self._rows[uuid] for uuid in item.uuids]) is not None
            for item, hosts in zip(self._items, self._hosts, strict=True)
            for one in hosts.hard
        )
