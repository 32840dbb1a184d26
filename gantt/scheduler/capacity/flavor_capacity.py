"""How many more instances of a kind fit, where, and what blocks more.

Counted per host from the free amounts, so that it costs passes over arrays and not a
decision per instance; trees are filled candidate by candidate, within a budget, and
shared providers are counted once.
"""

from __future__ import annotations

import numpy as np
from msgspec import structs

from gantt.model.selection import Capacity
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement import group_rules
from gantt.placement.candidates.combination import Budget
from gantt.placement.candidates.search_answer import Rows
from gantt.scheduler.capacity.group_rule import GroupRule
from gantt.scheduler.capacity.provider_counts import (
    applied_again,
    divided,
    filled,
    free_at,
    searched,
)
from gantt.scheduler.contract import Filter
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.explain.blocks import (
    BUDGET,
    ENDS,
    FITS,
    MOST,
    OFF,
    Blocks,
    by_count,
    full,
    short,
)
from gantt.scheduler.explain.refusal_reason import Ending, why
from gantt.scheduler.explain.trials import Trials
from gantt.scheduler.feasibility.candidate_sources import CandidateSource
from gantt.scheduler.pauses import Pause, never
from gantt.scheduler.relations.domain_picks import domain_picks
from gantt.scheduler.relations.locality import near_artifacts
from gantt.scheduler.relations.room import allowed
from gantt.scheduler.selection.remaining_candidates import RemainingCandidates
from gantt.scheduler.selection.topology_fit import Fitting, fitting_of
from gantt.state.column import Bools, Int64s
from gantt.state.state import State
from gantt.state.view import View


def capacity(
    state: State,
    spec: RequestSpec,
    source: CandidateSource,
    driver: Driver,
    *,
    now: int,
    budget: int | None = None,
    give_way: Pause = never,
) -> Capacity:
    """Instances like ``spec``, one by one, as long as any fits. ``give_way``:
    between hosts, and while the smallest change is searched for, where others may write
    and decide. Raises Invalid, Moved."""
    steps = Budget(budget)
    spec = structs.replace(group_rules.with_rule(state.fleet, spec), num_instances=1)
    feasible = driver.feasible_hosts(state, spec, source, now=now, budget=steps)
    feasible = near_artifacts(state.fleet, feasible)
    blocks = Blocks()
    is_searched, counts = _limits(state, feasible, blocks)
    again = applied_again(feasible)
    if again or feasible.candidates.still_fits(feasible.hosts) is not None:
        hosts_now = feasible.hosts.copy()
        counts = filled(feasible, counts, again, hosts_now)
        _note_full(blocks, feasible, counts, again)
    is_searched &= counts > 0
    fitting = fitting_of(state, feasible, driver)
    counts, refused = _one_by_one(
        state, feasible, counts, is_searched, fitting, steps, blocks, give_way
    )
    counts, is_cut = _related(state, feasible, counts, blocks)
    hosts = _by_host(state, feasible, counts)
    trials = None
    if not hosts:
        given = state, ScheduleRequest(spec), source, driver, now
        trials = Trials(*given, budget, give_way)
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
        is_cut or not ENDS.isdisjoint(limits),
    )


def _related(
    state: State, feasible: FeasibleHosts, counts: Int64s, blocks: Blocks
) -> tuple[Int64s, bool]:
    """``counts`` as relations by topology keys allow them; whether more may."""
    domains = domain_picks(state, feasible, ())
    if domains is None or not domains.hard:
        return counts, False
    found = allowed(domains, feasible.hosts.rows, counts)
    names = ", ".join(one.name for one in domains.masks(feasible))
    blocks.add(names, found < counts, found)
    return found, len(domains.hard) > 1


def _by_host(state: State, feasible: FeasibleHosts, counts: Int64s) -> dict[str, int]:
    """Service host -> how many fit on all of its nodes."""
    found: dict[str, int] = {}
    for place in np.flatnonzero(counts).tolist():
        name = state.fleet.hosts.hosts[int(feasible.hosts.rows[place])]
        found[name] = found.get(name, 0) + int(counts[place])
    return found


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
        found = divided(free_at(state, feasible.surveys, providers[~trees]), most)
        counts[~trees] = found.counts
        for name, lacks in found.lacking.items():
            mask = np.zeros(len(rows), np.bool_)
            mask[~trees] = lacks
            blocks.add(name, mask, counts.copy())
    is_off = table.is_disabled[rows] | table.is_forced_down[rows]
    counts[is_off] = 0
    blocks.add(OFF, is_off, np.zeros_like(counts))
    return trees, counts


def _one_by_one(
    state: State,
    feasible: FeasibleHosts,
    limits: Int64s,
    trees: Bools,
    fitting: Fitting | None,
    budget: Budget,
    blocks: Blocks,
    give_way: Pause,
) -> tuple[Int64s, Int64s]:
    """int64[hosts]: ``limits``, trees (bool[hosts]) filled in them, or all hosts where
    cells or devices are asked for, less what the rule of a server group forbids; and
    the rows that the search refused.

    All trees are filled in one tally, one host after the other, because shared
    providers count once. Members that must be together are on one host: a tally for
    each.
    """
    counts, refused = limits.copy(), list[int]()
    rule = GroupRule(feasible)
    counts[~rule.allowed] = 0
    names, rows = state.fleet.hosts.hosts, feasible.hosts.rows
    is_counted = trees | rule.is_hard | (fitting is not None)
    sheets: dict[str, RemainingCandidates] = {}
    stops: dict[str, list[int]] = {}
    for place in np.flatnonzero((counts > 0) & is_counted).tolist():
        give_way()
        row = int(rows[place])
        name = names[row]
        most = count = min(int(counts[place]), rule.left(name))
        if (trees[place] or fitting is not None) and most:
            key = name if rule.is_together else ""
            if key not in sheets:
                sheets[key] = RemainingCandidates(
                    View(state), feasible.candidates, budget, fitting
                )
            is_tree = bool(trees[place])
            count, why_not = searched(sheets[key], row, most, is_tree=is_tree)
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


def _note_full(
    blocks: Blocks, feasible: FeasibleHosts, counts: Int64s, again: tuple[Filter, ...]
) -> None:
    """What refuses one more on hosts with so many (int64[hosts])."""
    hosts = feasible.hosts.copy()
    hosts.land(np.outer(feasible.taken, counts), counts)
    if feasible.candidates.still_fits(hosts) is not None:
        for name, lacks in short(hosts, feasible):
            blocks.add(name, lacks, counts)
    for one in again:
        blocks.add(one.name, ~one.mask(hosts, feasible.request), counts)
