"""The room that one flavor finds beside what others took, and what it takes itself."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np

from gantt.placement.candidates.combination import Budget
from gantt.placement.candidates.search_answer import Rows
from gantt.scheduler.capacity.group_rule import GroupRule
from gantt.scheduler.capacity.provider_counts import (
    ProviderCounts,
    TakenOf,
    applied_again,
    divided,
    filled,
    free_at,
    searched,
)
from gantt.scheduler.capacity.taken_room import Together
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.explain.blocks import (
    ENDS,
    MOST,
    OFF,
    Blocks,
    by_count,
    full,
    short,
)
from gantt.scheduler.selection.remaining_candidates import RemainingCandidates
from gantt.scheduler.selection.topology_fit import Meter, fitting_of
from gantt.state.column import NO_ROW, Bools, Int64s
from gantt.state.state import State
from gantt.state.view import View


class FlavorRoom:
    """``rows``: int64[n] of ``state.hosts``; every array has length n. ``counts``: how
    many it took. ``allowed``: bool[n], hosts that it may use at all."""

    def __init__(
        self,
        state: State,
        feasible: FeasibleHosts,
        together: Together,
        budget: Budget,
        meter: Meter | None = None,
        allowed: Bools | None = None,
    ) -> None:
        hosts, table = feasible.hosts, state.fleet.hosts
        self.feasible, self.rows = feasible, hosts.rows
        self.counts = np.zeros(len(hosts), np.int64)
        self._state, self._together, self._meter = state, together, meter
        self._budget = budget
        self._providers: Rows = table.provider[self.rows].astype(np.intp)
        self._most = feasible.policy.options.capacity_per_host
        self._again = applied_again(feasible)
        self._is_off = table.is_disabled[self.rows] | table.is_forced_down[self.rows]
        self.allowed = np.ones(len(hosts), np.bool_) if allowed is None else allowed
        group = feasible.request.spec.instance_group
        added = Counter[str]()
        if group is not None:
            added = together.members.setdefault(group.uuid, added)
        self.rule = GroupRule(feasible, added)
        self._fitting = fitting_of(state, feasible, meter, together.view)
        self._trees = feasible.candidates.is_searched(hosts)
        is_tight = feasible.policy.options.packing != "spread"
        # The tightest of several answers is not always the first.
        has_choice = is_tight and len(feasible.surveys) > 1
        self._is_searched = self._trees | (self._fitting is not None) | has_choice
        self._is_tried = self._is_searched | self.rule.is_hard
        self._places = RemainingCandidates(
            together.view,
            feasible.candidates,
            budget,
            self._fitting,
            prefers=int(is_tight),
        )
        self._free = free_at(state, feasible.surveys, self._providers)
        self._shut = np.zeros(len(hosts), np.bool_)
        self._stops: dict[str, list[int]] = {}
        self._known: dict[int, int] = {}
        self._asked = together.tries.question(state, feasible)

    @property
    def is_searched(self) -> Bools:
        """bool[n]: hosts of which only trying tells how many fit."""
        return self._is_searched

    @property
    def amounts(self) -> dict[str, int]:
        """What an instance takes of providers, by class."""
        return self._free.amounts[0] if self._free.amounts else {}

    def slack(self, fits: Bools) -> dict[str, int]:
        """Class -> how much more of it may be used until it alone leaves no room for an
        instance on any of the hosts ``fits`` (bool[n]). Beside what has a host, what is
        shared with any counts."""
        state, found = self._state, {}
        height = state.providers.height
        counts_for = np.ones(height, np.bool_)
        hosted = state.fleet.hosts.provider[state.fleet.hosts.live_rows()]
        counts_for[hosted[hosted != NO_ROW]] = False
        counts_for[self._providers[fits & (self._providers != NO_ROW)]] = True
        for name, amount in self.amounts.items():
            index = state.classes.index_of(name)
            table = None if index is None else state.inventories.table(index)
            if table is None:
                continue
            slots = table.live_rows()
            roots = state.providers.root[table.provider[slots]]
            capacity, used = table.amounts(slots)
            free = np.maximum(np.floor(capacity) - used, 0.0)
            left = np.bincount(roots, free, height)
            found[name] = int((left[counts_for] // amount).sum()) * amount
        return found

    @property
    def asks_hosts(self) -> bool:
        """Whether what hosts report limits it beside what providers have."""
        hosts = self.feasible.hosts
        return bool(self._again) or (
            self.feasible.candidates.still_fits(hosts) is not None
        )

    def room(self, alone: Int64s | None = None) -> Int64s:
        """How many more fit. ``alone``: what this was before anything was taken, where
        only trying tells it now: what is left is guessed from it, at least 1 on a host
        that has refused none yet."""
        found = self._divided(self._together).counts
        found[self._is_off | self._shut | ~self.allowed] = 0
        if alone is not None and self._is_searched.any():
            share = np.maximum(1.0 - self._together.shares[self.rows], 0.0)
            guess = np.maximum((alone * share).astype(np.int64), 1)
            found = np.where(self._is_searched, np.minimum(found, guess), found)
        if self.rule.is_hard:
            found = np.minimum(found, self.rule.left_each())
        if self.asks_hosts and found.any():
            hosts = self._together.hosts(self.feasible.hosts)
            found = filled(self.feasible, found, self._again, hosts)
        if self.rule.is_together and not self.counts.any():
            found = self._one_host(found)
        return found

    def room_after(self, amounts: dict[str, Int64s]) -> Int64s:
        """What free amounts would leave room for if so much more (int64[n]) of each
        class were taken of each host."""

        def taken_of(name: str, providers: Rows) -> Int64s | None:
            more = amounts.get(name)
            taken = self._together.of_class(name, providers)
            if more is None or taken is None:
                return taken if more is None else more
            return more + taken

        return self._divided_by(taken_of).counts

    def take(self, wanted: Int64s, alone: Int64s | None = None) -> Int64s:
        """Take up to ``wanted``, which is within ``room``; how many it took of each
        host, those that only trying tells in the order of their rows."""
        got = np.where(self._is_tried, 0, wanted)
        names = self._state.fleet.hosts.hosts
        for place in np.flatnonzero(self._is_tried & (wanted > 0)).tolist():
            self._together.pause()
            name = names[int(self.rows[place])]
            most = min(int(wanted[place]), self.rule.left(name))
            got[place] = self._try(place, most) if self._is_searched[place] else most
            if got[place] and self.rule.is_hard:
                self.rule.add(name, int(got[place]))
        self._take_flat(np.where(self._is_searched, 0, got))
        self._together.land(self.feasible.taken, self.rows, got)
        if alone is not None:
            self._together.share(self.rows, got / np.maximum(alone, 1))
        self.counts += got
        return got

    def limits(self) -> dict[str, int]:
        """What blocks one more -> on how many hosts, the most first."""
        feasible, counts = self.feasible, self.counts
        blocks, allowed = Blocks(), self.allowed
        found = self._divided(self._together)
        is_flat = ~self._trees & allowed
        for name, lacks in found.lacking.items():
            blocks.add(name, lacks & is_flat, counts)
        blocks.add(MOST, allowed & (counts >= self._most), counts)
        blocks.add(OFF, self._is_off & allowed, counts)
        for name, places in self._stops.items():
            blocks.add_at(name, places, counts)
        if self.asks_hosts:
            hosts = self._together.hosts(feasible.hosts)
            if feasible.candidates.still_fits(hosts) is not None:
                for name, lacks in short(hosts, feasible):
                    blocks.add(name, lacks & allowed, counts)
            for one in self._again:
                blocks.add(
                    one.name, ~one.mask(hosts, feasible.request) & allowed, counts
                )
        if self.rule.is_hard:
            blocks.add(self.rule.name, (self.rule.left_each() == 0) & allowed, counts)
        parts = [blocks.by_name(counts)]
        if allowed.all():
            parts.append(full(self._state, feasible, self._again))
        return by_count(*parts)

    @property
    def is_lower_bound(self) -> bool:
        """Whether counting ended at an option."""
        return not ENDS.isdisjoint(self._stops) or bool(
            (self.counts >= self._most).any()
        )

    # -- within -------------------------------------------------------------------

    def _divided(self, together: Together) -> ProviderCounts:
        return self._divided_by(together.of_class)

    def _divided_by(self, taken_of: TakenOf) -> ProviderCounts:
        count = len(self.rows)
        if not self.feasible.surveys:
            return ProviderCounts(np.full(count, self._most, np.int64), (), {})
        found = divided(self._free, self._most, taken_of)
        # Of a tree the root alone does not tell.
        found.counts[self._trees] = self._most
        return found

    def _take_flat(self, counts: Int64s) -> None:
        if not counts.any():
            return
        left = counts.copy()
        fits = self._divided(self._together).fits
        for amounts, most in zip(self._free.amounts, fits, strict=True):
            now = np.minimum(left, most)
            self._together.take_flat(amounts.items(), self._providers, now)
            left = left - now

    def _try(self, place: int, most: int) -> int:
        row, tries = int(self.rows[place]), self._together.tries
        search = partial(
            searched,
            self._places,
            row,
            most,
            is_tree=bool(self._trees[place]),
            spend=tries.spend,
        )
        got, reasons = tries.found(self._asked, row, most, search)
        for reason in reasons:
            self._stops.setdefault(reason, []).append(place)
        self._shut[place] |= got < most
        return got

    def _tried(self, place: int, most: int) -> int:
        """How many a host takes of these alone, beside nothing of others."""
        if place not in self._known:
            view = View(self._state)
            fitting = fitting_of(self._state, self.feasible, self._meter, view)
            places = RemainingCandidates(
                view, self.feasible.candidates, self._budget, fitting
            )
            row, is_tree = int(self.rows[place]), bool(self._trees[place])
            self._known[place], _ = searched(
                places, row, most, is_tree=is_tree, spend=self._together.tries.spend
            )
        return min(most, self._known[place])

    def _one_host(self, found: Int64s) -> Int64s:
        """The one host for members that must be together, before the first is placed:
        that with the most room."""
        sums: Counter[str] = Counter()
        names = self.feasible.hosts.names
        for place in np.flatnonzero(found).tolist():
            most = int(found[place])
            if self._is_searched[place]:
                self._together.pause()
                most = self._tried(place, most)
            sums[names[place]] += most
        best = max(sums, key=sums.__getitem__, default=None)
        if best is None:
            return found
        return np.where(self.feasible.hosts.at_hosts((best,)), found, 0)
