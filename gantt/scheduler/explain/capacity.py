"""How many more instances of a kind fit, where, and what blocks more.

Counted per host from the free amounts, so that it costs passes over arrays and not a
decision per instance; trees are filled candidate by candidate, within a budget, and
shared providers are counted once.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from msgspec import structs

from gantt.model.selection import Capacity
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement import groups
from gantt.placement.candidates.combine import Budget, Spent
from gantt.placement.candidates.summarize import Rows
from gantt.placement.candidates.survey import AnySurvey
from gantt.scheduler.contract import Filter
from gantt.scheduler.cycle import pick_hosts
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.explain.blocks import (
    BUDGET,
    ENDS,
    FITS,
    MOST,
    OFF,
    RULES,
    Blocks,
    amounts_of,
    by_count,
    free,
    full,
    short,
)
from gantt.scheduler.explain.trials import Trials
from gantt.scheduler.explain.why import EXACT, Ending, why
from gantt.scheduler.feasibility.candidates import CandidateSource
from gantt.scheduler.feasibility.feasible_hosts import FeasibleHosts, skips_filters
from gantt.scheduler.pauses import Pause, never
from gantt.scheduler.selection.fitting import FitsSpent, Fitting, fitting_of
from gantt.scheduler.selection.remaining_candidates import RemainingCandidates
from gantt.state.column import Bools, Int64s
from gantt.state.state import State

_UNLIMITED = 2**62


def capacity(
    state: State,
    spec: RequestSpec,
    source: CandidateSource,
    driver: Driver,
    *,
    now: int,
    budget: int | None = None,
    pause: Pause = never,
) -> Capacity:
    """Instances like ``spec``, one by one, as long as any fits. ``pause``: wherever
    others may write meanwhile, which is while the smallest change is searched for.
    Raises Invalid, Moved."""
    steps = Budget(budget)
    spec = structs.replace(groups.with_rule(state.fleet, spec), num_instances=1)
    feasible = driver.feasible_hosts(state, spec, source, now=now, budget=steps)
    blocks = Blocks()
    searched, counts = _limits(state, feasible, blocks)
    again = tuple(
        one
        for one in feasible.policy.filters
        if not (one.once or skips_filters(spec)) and _is_of_hosts(one)
    )
    if again or feasible.candidates.still_fits(feasible.hosts) is not None:
        counts = _fill(feasible, counts, again)
        _note_full(blocks, feasible, counts, again)
    searched &= counts > 0
    fitting = fitting_of(state, feasible, driver)
    counts, refused = _one_by_one(
        state, feasible, counts, searched, fitting, steps, blocks
    )
    hosts = _by_host(state, feasible, counts)
    trials = None
    if not hosts:
        request = ScheduleRequest(spec)
        trials = Trials(
            pick_hosts,
            state,
            request,
            source,
            driver,
            now,
            budget,
            pause,
            state.applied,
        )
    limits = by_count(blocks.by_name(counts), full(state, feasible, again))
    told = why(state, feasible, Ending(feasible.hosts.rows, refused), trials)
    return Capacity(
        sum(hosts.values()),
        hosts,
        told.steps,
        told.nearest,
        told.change,
        limits,
        told.is_truncated,
        not ENDS.isdisjoint(limits),
    )


def _by_host(state: State, feasible: FeasibleHosts, counts: Int64s) -> dict[str, int]:
    """Service host -> how many fit on all of its nodes."""
    found: dict[str, int] = {}
    for place in np.flatnonzero(counts).tolist():
        name = state.fleet.hosts.hosts[int(feasible.hosts.rows[place])]
        found[name] = found.get(name, 0) + int(counts[place])
    return found


def _is_of_hosts(one: Filter) -> bool:
    """Whether it judges hosts independently. One without a declaration is assumed to,
    unless it checks hosts one by one: that would cost too much here."""
    return one.is_elementwise or (one.cacheable is None and not one.is_costly)


def _limits(
    state: State, feasible: FeasibleHosts, blocks: Blocks
) -> tuple[Bools, Int64s]:
    """bool[hosts]: trees, which need a search; int64[hosts]: how many fit in the
    inventories of the others. Hosts that the committer refuses have room for none,
    forced or not."""
    rows, table = feasible.hosts.rows, state.fleet.hosts
    trees = feasible.candidates.is_searched(feasible.hosts)
    most = feasible.policy.options.capacity_per_host
    counts = np.full(len(rows), most, np.int64)
    blocks.add(MOST, np.ones(len(rows), np.bool_), counts.copy())
    if feasible.surveys:
        providers: Rows = table.provider[rows].astype(np.intp)
        counts[~trees], lacking = _divided(
            state, feasible.surveys, providers[~trees], most
        )
        for name, lacks in lacking.items():
            mask = np.zeros(len(rows), np.bool_)
            mask[~trees] = lacks
            blocks.add(name, mask, counts.copy())
    is_off = table.is_disabled[rows] | table.is_forced_down[rows]
    counts[is_off] = 0
    blocks.add(OFF, is_off, np.zeros_like(counts))
    return trees, counts


def _divided(
    state: State, surveys: tuple[AnySurvey, ...], providers: Rows, most: int
) -> tuple[Int64s, dict[str, Bools]]:
    """int64[n]: what each provider has free, by what one instance takes of it, up to
    ``most``; class -> bool[n]: which have too little of it for one more. A later
    survey's instances come when there is no room left for those of an earlier one."""
    counts = np.zeros(len(providers), np.int64)
    used: dict[str, Int64s] = {}
    lacking: dict[str, Bools] = {}
    for survey in surveys:
        amounts = +amounts_of(survey)
        fits = np.full(len(providers), most, np.int64)
        is_viable = survey.viable_at(providers)
        fits[~is_viable] = 0
        left = {
            name: np.maximum(free(state, name, providers)[1] - used.get(name, 0), 0)
            for name in amounts
        }
        for name, amount in amounts.items():
            fits = np.minimum(fits, left[name] // amount)
        for name, amount in amounts.items():
            used[name] = used.get(name, 0) + fits * amount
            lacks = is_viable & (left[name] - fits * amount < amount)
            lacking[name] = lacks | lacking.get(name, False)
        counts += fits
    return np.minimum(counts, most), lacking


def _one_by_one(
    state: State,
    feasible: FeasibleHosts,
    limits: Int64s,
    trees: Bools,
    fitting: Fitting | None,
    budget: Budget,
    blocks: Blocks,
) -> tuple[Int64s, Int64s]:
    """int64[hosts]: ``limits``, trees (bool[hosts]) filled in them, or all hosts where
    cells or devices are asked for, less what the rule of a server group forbids; and
    the rows that the search refused.

    All trees are filled in one tally, one host after the other, because shared
    providers count once. Members that must be together are on one host: a tally for
    each.
    """
    counts, refused = limits.copy(), list[int]()
    rule = _Rule(feasible)
    counts[~rule.allowed] = 0
    names, rows = state.fleet.hosts.hosts, feasible.hosts.rows
    is_counted = trees | rule.is_hard | (fitting is not None)
    sheets: dict[str, RemainingCandidates] = {}
    stops: dict[str, list[int]] = {}
    for place in np.flatnonzero((counts > 0) & is_counted).tolist():
        row = int(rows[place])
        name = names[row]
        most = count = min(int(counts[place]), rule.left(name))
        if (trees[place] or fitting is not None) and most:
            key = name if rule.is_together else ""
            if key not in sheets:
                sheets[key] = RemainingCandidates(feasible.candidates, budget, fitting)
            count, why_not = _filled(sheets[key], row, most, is_tree=bool(trees[place]))
            if not count and why_not.isdisjoint((BUDGET, FITS)):
                refused.append(row)
            for reason in why_not:
                stops.setdefault(reason, []).append(place)
        rule.add(name, count)
        counts[place] = count
    for reason, places in stops.items():
        blocks.add_at(reason, places, counts.copy())
    if rule.is_hard:
        is_shut = rule.shuts([names[row] for row in rows.tolist()])
        if rule.is_together:
            counts[is_shut] = 0
        blocks.add(rule.name, is_shut, counts)
    return counts, np.array(refused, np.int64)


def _filled(
    places: RemainingCandidates, host_row: int, most: int, *, is_tree: bool
) -> tuple[int, frozenset[str]]:
    """How many candidates a host has, one after the other, with which cells and devices
    fit too, and why not ``most``; what exceeds a budget is not counted."""
    count = 0
    try:
        while count < most:
            found = places.find(host_row)
            if found is None or (is_tree and not found.allocations):
                return count, places.lacking(host_row) or frozenset((EXACT,))
            fits = places.fitting_one(host_row, found)
            if fits is None:
                assert places.fitting is not None, "without it, everything fits"
                return count, frozenset((places.fitting.filter_name,))
            places.take_on(host_row, fits)
            count += 1
    except FitsSpent:
        return count, frozenset((FITS,))
    except Spent:
        return count, frozenset((BUDGET,))
    return count, frozenset()


class _Rule:
    """What a server group leaves of each service host, whichever of its nodes: as at
    the committer, no rule applies where its filter does not (hosts are forced, for
    example). ``allowed``: bool[hosts]; ``is_together``: all go to one service host, any
    one."""

    def __init__(self, feasible: FeasibleHosts) -> None:
        group, hosts = feasible.request.spec.instance_group, feasible.hosts
        policy = None if group is None else group.policy
        self.name = RULES.get(policy or "", "")
        self.is_hard = self.name in feasible.asked
        self.is_together = False
        self.allowed = np.ones(len(hosts), np.bool_)
        self._most = _UNLIMITED
        self._there: Counter[str] = Counter()
        self._added: Counter[str] = Counter()
        if group is None or not self.is_hard:
            return
        if policy == groups.ANTI_AFFINITY:
            self._most = group.max_server_per_host
            self._there.update(groups.counts(hosts.fleet, group))
        elif policy == groups.AFFINITY:
            known = groups.hosts(hosts.fleet, group)
            self.is_together = not known
            if known:
                self.allowed = hosts.at_hosts(known)

    def left(self, name: str) -> int:
        """How many more the service host may have."""
        return max(0, self._most - self._there[name] - self._added[name])

    def add(self, name: str, count: int) -> None:
        """Count so many on the service host."""
        self._added[name] += count

    def shuts(self, names: list[str]) -> Bools:
        """bool[hosts]: whose service host, of these ``names``, may have no more; where
        all go to one, any but the one that takes the most."""
        if self.is_together:
            best = max(self._added, key=self._added.__getitem__, default=None)
            return np.array([name != best for name in names], np.bool_)
        return ~self.allowed | np.array([not self.left(n) for n in names], np.bool_)


def _note_full(
    blocks: Blocks, feasible: FeasibleHosts, counts: Int64s, again: tuple[Filter, ...]
) -> None:
    """What refuses one more on hosts with so many (int64[hosts])."""
    hosts = feasible.hosts.keep(np.ones(len(feasible.hosts), np.bool_))
    hosts.consume_everywhere(feasible.taken, counts)
    if feasible.candidates.still_fits(hosts) is not None:
        for name, lacks in short(hosts, feasible):
            blocks.add(name, lacks, counts)
    for one in again:
        blocks.add(one.name, ~one.mask(hosts, feasible.request), counts)


def _fill(feasible: FeasibleHosts, limits: Int64s, again: tuple[Filter, ...]) -> Int64s:
    """int64[hosts]: as many as also pass the filters applied before every instance.
    Found by bisection: a host that cannot take one more cannot take two more."""
    counts, most = np.minimum(limits, 1), limits.copy()
    while (counts < most).any():
        middle = (counts + most + 1) // 2
        hosts = feasible.hosts.keep(np.ones(len(feasible.hosts), np.bool_))
        hosts.consume_everywhere(feasible.taken, np.maximum(middle - 1, 0))
        passing = np.ones(len(hosts), np.bool_)
        fits = feasible.candidates.still_fits(hosts)
        if fits is not None:
            passing &= fits
        for one in again:
            passing &= one.mask(hosts, feasible.request)
        is_open = counts < most
        counts = np.where(is_open & passing, middle, counts)
        most = np.where(is_open & ~passing, middle - 1, most)
    return counts
