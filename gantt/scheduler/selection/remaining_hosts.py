"""The hosts of a request while its instances are picked one after the other.

After each pick elementwise plug-ins judge and score only the host that got the
instance; the others (server groups, for example) run over all hosts. Filters that run
once per request are not called again, and a removed host stays removed. A full host
still counts for the bounds of scores, as in Nova, where only the claim detects it: so
the source of amounts does not affect other hosts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from gantt.scheduler.contract import Filter, Request
from gantt.scheduler.evaluation.choosers import Chosen, GuardedChooser
from gantt.scheduler.evaluation.evaluation import Landed
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts, filters_of
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.hosts import Hosts, Taken
from gantt.scheduler.relations.domain_picks import DomainPicks
from gantt.scheduler.relations.requirements import room_for
from gantt.scheduler.scoring import host_weights
from gantt.scheduler.scoring.scale import Scale, total, total_at
from gantt.scheduler.selection.start_picks import StartPicks
from gantt.state.column import ANY, NO_ROW, Bools, Floats, Int64s


class RemainingHosts:
    """``hosts`` that are left and their ``weights`` (float64[len(hosts)]); ``full``:
    rows of those that have no more room by what they report; ``shut``: bool, those that
    relations or starts keep from the next instance, None: none. ``chosen``: what a
    driver of another package chose, in whose order they are tried."""

    def __init__(
        self,
        start: FeasibleHosts,
        domains: DomainPicks | None = None,
        count: int = 1,
        starts: StartPicks | None = None,
    ) -> None:
        """``domains``: relations that ``count`` instances have to keep; ``starts``: how
        many hosts may start at once."""
        self._policy = start.policy
        self._job = start.job
        self._began = start
        self._candidates = start.candidates
        self.request: Request = start.request
        self.hosts: Hosts = start.hosts
        self._scales: tuple[Scale, ...] = start.scales
        self.weights: Floats = start.weights
        self.full: set[int] = set()
        self.shut: Bools | None = None
        self.chosen: Chosen | None = None
        self._domains, self.starts = domains, starts
        self._consumed = 0
        self._postponed: set[int] = set()
        self._start: FeasibleHosts | None = start
        self._count = count
        if domains is not None or starts is not None:
            self._relate()

    @cached_property
    def _taken(self) -> Taken:
        return self._began.taken

    @cached_property
    def _asked_again(self) -> tuple[Filter, ...]:
        """Filters that are applied before every instance."""
        asked = filters_of(self._job, self._policy)
        return tuple(one for one in asked if not one.once)

    def consume(self, place: int, instance_uuid: str, following: str = "") -> None:
        """The next instance, called ``following`` if it has a name, finds
        ``instance_uuid`` on the host at ``place``."""
        self._consumed += 1
        spec = self.request.spec
        if following:
            spec = replace(spec, instance_uuid=following)
        if not self.hosts.added:
            self._own()
        self.hosts.consume(place, self._taken, instance_uuid)
        group = spec.instance_group
        if group is not None:
            name = self.hosts.fleet.hosts.hosts[int(self.hosts.rows[place])]
            group = replace(
                group,
                hosts=group.hosts | {name},
                members=group.members | {instance_uuid},
            )
            spec = replace(spec, instance_group=group)
        self.request = replace(self.request, spec=spec)
        for one in (self._domains, self.starts):
            if one is not None:
                one.put(int(self.hosts.rows[place]))
        self._judge_again(place)
        self._shut()

    def _own(self) -> None:
        """Copy what will be changed: the driver may have cached it."""
        self.hosts = self.hosts.copy()
        self._scales = tuple(one.copy() for one in self._scales)

    def hold(self, held: Mapping[int, HeldHost]) -> Landed | None:
        """Weigh hosts as if what is ``held`` (by row) were taken; these hosts."""
        places = np.flatnonzero(self.hosts.at_rows(held))
        if not len(places):
            return None
        self._own()
        mine = [held[row] for row in self.hosts.rows[places].tolist()]
        taken = np.array([one.taken for one in mine]).T
        self.hosts.land(taken, np.array([one.count for one in mine]), places)
        landed = self._landed(places)
        landed.score(self._scales)
        self.weigh()
        return landed

    def _landed(self, places: Int64s) -> Landed:
        return Landed(self.hosts, self.hosts.at(places), places, self.request)

    def postpone(self, rows: set[int]) -> None:
        """Rank these after all others."""
        if rows:
            self._postponed |= rows
            self._start, self.weights = None, self.weights.copy()
            self._put_last()

    def leave_out(self, rows: set[int]) -> None:
        """They are no hosts of this request any more."""
        if rows:
            self._keep(~self.hosts.at_rows(rows))
            self._relate()
            self.weigh()

    def _relate(self) -> None:
        domains = self._domains
        if domains is not None and self._count > 1 and domains.needs_search:
            self._settle(domains, self._count)
        self._shut()

    def _shut(self) -> None:
        rows = self.hosts.rows
        found = None if self._domains is None else self._domains.shut(rows)
        if self.starts is not None:
            full = self.starts.shut(rows)
            if ANY(full):
                found = full if found is None else found | full
        self.shut = found

    def settle_again(self, rows: Sequence[int], count: int) -> bool:
        """The hosts at ``rows``, all that were open, had no place after all: whether
        there is another way for the ``count`` instances that are left."""
        domains = self._domains
        if domains is None or not domains.needs_search or not rows:
            return False
        self.full.update(rows)
        is_found = self._settle(domains, count)
        self._shut()
        return is_found

    def _settle(self, domains: DomainPicks, count: int) -> bool:
        room = room_for(self.hosts, self._job, count)
        room[np.isin(self.hosts.rows, list(self.full))] = 0
        if self.starts is not None:
            room = np.clip(self.starts.left[self.hosts.rows], 0, room)
        steps = self._policy.options.relation_steps
        return domains.settle(self.hosts.rows, room, count, steps)

    def ask(
        self, chooser: GuardedChooser, feasible: FeasibleHosts, count: int, seed: int
    ) -> FeasibleHosts:
        """Let ``chooser`` choose for ``count`` instances; the hosts that are tried.
        Raises PluginFailed, Invalid, Moved."""
        chosen = chooser.choose(feasible, self.hosts, self.weights, count, seed)
        if chosen is None:
            return feasible
        self._follow(chosen)
        return feasible.only(chosen.places, chooser.mask_name)

    def _follow(self, chosen: Chosen) -> None:
        """Try hosts as ``chosen`` from now on: weights no longer matter."""
        self.chosen = chosen
        self.hosts = self.hosts.at(chosen.places)
        self._policy, self._scales = replace(self._policy, weighers=()), ()
        self._shut()
        self.weigh()

    def to_try(self, chosen: Chosen) -> Int64s:
        """int64: places of the hosts that are left for the next instance, the best
        first; once all instances have their host: of those for any."""
        orders, rows = chosen.orders, self.hosts.rows
        at = self._consumed
        wanted = orders[at] if at < len(orders) else chosen.rows
        place_of = np.full(self.hosts.fleet.hosts.height, NO_ROW, np.int64)
        place_of[rows] = np.arange(len(rows))
        places = place_of[wanted]
        left: Int64s = places[places != NO_ROW]
        return left if self.shut is None else left[~self.shut[left]]

    def weigh(self) -> None:
        """Weights over the hosts that are left."""
        self._start = None
        self.weights = total(self._scales, len(self.hosts))
        self._put_last()

    def _put_last(self) -> None:
        if self._postponed:
            self.weights[self.hosts.at_rows(self._postponed)] = -np.inf

    def best(self, count: int) -> Int64s:
        """int64[<= n]: places of at least the best ``count`` hosts, best first."""
        if self.shut is not None:
            return self._best_open(self.shut, count)
        if self._start is not None:
            return self._start.best(count)
        return host_weights.best(self.weights, count)

    def _best_open(self, shut: Bools, count: int) -> Int64s:
        if self._start is not None:
            known = self._start.best(count)
            known = known[~shut[known]]
            if len(known) >= count:
                return known
        places = np.flatnonzero(~shut)
        found: Int64s = places[host_weights.best(self.weights[places], count)]
        return found

    def left(self) -> Int64s:
        """int64: rows of the hosts that are left for the next instance and not known
        to be full."""
        rows = self.hosts.rows
        if self.chosen is not None:
            rows = rows[self.to_try(self.chosen)]
        elif self.shut is not None:
            rows = rows[~self.shut]
        return rows[~np.isin(rows, list(self.full))] if self.full else rows

    def _judge_again(self, place: int) -> None:
        landed = self._landed(np.array([place]))
        self._scales, is_moved = landed.scored(self._scales, self._policy.weighers)
        fits = self._candidates.still_fits(landed.changed)
        if fits is not None and not fits[0]:
            self.full.add(int(landed.changed.rows[0]))
        mask = landed.passing(self._asked_again)
        if not mask.all():
            self._keep(mask)
            is_moved = True
        if is_moved or self._postponed or self._start is not None:
            self.weigh()
        else:
            self.weights[landed.at] = total_at(self._scales, landed.at)

    def _keep(self, mask: Bools) -> None:
        self.hosts = self.hosts.keep(mask)
        self._scales = tuple(one.at(mask) for one in self._scales)
        if len(self.hosts) < 2:
            self._scales = ()
