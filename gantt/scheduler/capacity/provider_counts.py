"""How many more instances of one flavor a host takes, beside what others took.

Array passes where free amounts decide, one candidate after the other where only a
search does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from gantt.placement.candidates.combination import Spent
from gantt.placement.candidates.search_answer import Rows
from gantt.placement.candidates.survey import AnySurvey
from gantt.scheduler.contract import Filter
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts, skips_filters
from gantt.scheduler.explain.blocks import BUDGET, FITS, amounts_of, free
from gantt.scheduler.explain.refusal_reason import EXACT
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.selection.remaining_candidates import RemainingCandidates
from gantt.scheduler.selection.topology_fit import FitsSpent
from gantt.state.column import Bools, Int64s
from gantt.state.state import State

TakenOf = Callable[[str, Rows], Int64s | None]


def nothing_taken(name: str, providers: Rows) -> None:
    """What others took where nothing was taken: of no class anything."""


def applied_again(feasible: FeasibleHosts) -> tuple[Filter, ...]:
    """The filters that are asked before every instance and judge hosts independently.
    One without a declaration is assumed to, unless it checks hosts one by one: that
    would cost too much here."""
    if skips_filters(feasible.request.spec):
        return ()
    return tuple(
        one
        for one in feasible.policy.filters
        if not one.once
        and (one.is_elementwise or (one.cacheable is None and not one.is_costly))
    )


class Free(Struct, frozen=True, eq=False):
    """What surveys found at some providers, so that it can be divided without a look at
    the State. By survey: ``viable``, bool[n], and ``amounts``, class -> what one
    instance takes; ``left``: class -> int64[n], what each has left of it."""

    viable: tuple[Bools, ...]
    amounts: tuple[dict[str, int], ...]
    left: dict[str, Int64s]
    providers: Rows


class ProviderCounts(Struct, frozen=True, eq=False):
    """``counts``: int64[n] instances that fit each provider; ``fits``: the same by
    survey; ``lacking``: class -> bool[n], which have too little of it for one more."""

    counts: Int64s
    fits: tuple[Int64s, ...]
    lacking: dict[str, Bools]


def free_at(state: State, surveys: tuple[AnySurvey, ...], providers: Rows) -> Free:
    """What these provider rows, intp[n], have now."""
    amounts = tuple(dict(+amounts_of(one)) for one in surveys)
    names = {name for each in amounts for name in each}
    return Free(
        tuple(one.viable_at(providers) for one in surveys),
        amounts,
        {name: free(state, name, providers)[1] for name in sorted(names)},
        providers,
    )


def divided(at: Free, most: int, taken_of: TakenOf = nothing_taken) -> ProviderCounts:
    """What each provider has free, by what one instance takes of it, up to ``most``. A
    later survey's instances come when there is no room left for those of an earlier
    one."""
    counts = np.zeros(len(at.providers), np.int64)
    left: dict[str, Int64s] = {}
    lacking: dict[str, Bools] = {}
    for name, amount in at.left.items():
        taken = taken_of(name, at.providers)
        left[name] = amount if taken is None else np.maximum(amount - taken, 0)
    each = []
    for is_viable, amounts in zip(at.viable, at.amounts, strict=True):
        fits: Int64s = np.where(is_viable, most, 0)
        for name, each_takes in amounts.items():
            fits = np.minimum(fits, left[name] // each_takes)
        for name, each_takes in amounts.items():
            left[name] = left[name] - fits * each_takes
            lacks = is_viable & (left[name] < each_takes)
            lacking[name] = lacks | lacking.get(name, False)
        each.append(fits)
        counts = counts + fits
    return ProviderCounts(np.minimum(counts, most), tuple(each), lacking)


def filled(
    feasible: FeasibleHosts, limits: Int64s, again: tuple[Filter, ...], hosts: Hosts
) -> Int64s:
    """int64[hosts]: up to ``limits``, as many as also pass the filters that are asked
    ``again`` before every instance. ``hosts``: those of ``feasible``, with what others
    took. Found by bisection: a host that cannot take one more cannot take two more."""
    counts, most = np.zeros_like(limits), limits.copy()
    everything = np.ones(len(hosts), np.bool_)
    while (counts < most).any():
        middle = (counts + most + 1) // 2
        tried, others = hosts.copy(), np.maximum(middle - 1, 0)
        tried.land(np.outer(feasible.taken, others), others)
        passing = everything.copy()
        fits = feasible.candidates.still_fits(tried)
        if fits is not None:
            passing &= fits
        for one in again:
            passing &= one.mask(tried, feasible.request)
        is_open = counts < most
        counts = np.where(is_open & passing, middle, counts)
        most = np.where(is_open & ~passing, middle - 1, most)
    return counts


def searched(
    places: RemainingCandidates,
    host_row: int,
    most: int,
    *,
    is_tree: bool,
    spend: Callable[[], None] = lambda: None,
) -> tuple[int, frozenset[str]]:
    """How many candidates a host has, one after the other, with which cells and devices
    fit too, and why not ``most``; what exceeds a budget is not counted. ``spend``:
    called before each try. It may raise Spent."""
    count = 0
    try:
        while count < most:
            spend()
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
