"""How many more instances of a kind fit, where, and what blocks more.

Counted host by host from what each has left, so that it costs passes over arrays and
not a decision per instance; trees are filled candidate by candidate, within a budget.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from msgspec.structs import replace

from gantt.model.requests import CandidateRequest
from gantt.model.selection import Capacity
from gantt.model.spec import RequestSpec
from gantt.placement import groups
from gantt.placement.candidates.combine import Budget, Spent
from gantt.scheduler import unbooked
from gantt.scheduler.contract import Filter
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.explain import nearest, why
from gantt.scheduler.field import Field
from gantt.scheduler.job import Job
from gantt.scheduler.places import Places
from gantt.state.column import Int32s, Int64s
from gantt.state.state import State

_MOST_ON_A_HOST = 100_000


def capacity(
    state: State,
    spec: RequestSpec,
    driver: Driver,
    *,
    now: int,
    by_books: bool,
    budget: int | None = None,
    job: Job | None = None,
) -> Capacity:
    """Instances like ``spec``, one by one, as long as any fits; ``job``: of ``spec``,
    when it was made ready before. Raises Invalid."""
    steps = Budget(budget)
    if job is not None:
        field = driver.field_of(state, job, now=now, budget=steps)
    else:
        job, field = driver.field(
            state,
            replace(spec, num_instances=1),
            now=now,
            by_books=by_books,
            budget=steps,
        )
    counts = _limits(state, field, steps)
    again = tuple(
        one
        for one in field.policy.filters
        if not one.once and one.elementwise and not field.skips_filters
    )
    if again or job.asks_amounts:
        counts = _fill(field, job, counts, again)
    counts = _grouped(field, counts)
    hosts: dict[str, int] = {}
    for place in np.flatnonzero(counts).tolist():
        name = state.fleet.hosts.hosts[int(field.hosts.rows[place])]
        hosts[name] = hosts.get(name, 0) + int(counts[place])
    return Capacity(
        sum(hosts.values()),
        hosts,
        field.steps,
        nearest(state, field),
        why(state, job, field).change,
    )


def _limits(state: State, field: Field, budget: Budget) -> Int64s:
    """int64[hosts]: how many the books have room for; a host that gives everything
    itself is divided out, a tree is filled candidate by candidate."""
    counts = np.full(len(field.hosts), _MOST_ON_A_HOST, np.int64)
    if not field.surveys and field.listing is None:
        return counts
    alone = np.zeros(len(counts), np.bool_)
    providers = field.hosts.provider
    for survey in field.surveys[:1]:
        alone = survey.alone_at(providers)
        counts[alone] = _divided(state, survey.request, providers[alone])
    for place in np.flatnonzero(~alone).tolist():
        counts[place] = _filled(state, field, int(field.hosts.rows[place]), budget)
    return counts


def _divided(state: State, request: CandidateRequest, providers: Int32s) -> Int64s:
    """int64[n]: what each provider has free, by what one instance takes of it."""
    counts = np.full(len(providers), _MOST_ON_A_HOST, np.int64)
    total: Counter[str] = Counter()
    for group in request.groups:
        total.update(group.resources)
    for name, amount in total.items():
        index = state.classes.index_of(name)
        table = None if index is None else state.inventories.table(index)
        if table is None or amount < 1:
            continue
        slots = table.slots_of(providers.astype(np.intp))
        free = np.clip(table.capacity[slots] - table.used[slots], 0, 2.0**62)
        counts = np.minimum(counts, (free // amount).astype(np.int64))
    return counts


def _filled(state: State, field: Field, host_row: int, budget: Budget) -> int:
    """How many candidates a tree gives, one after the other; what the budget leaves
    uncounted is not promised."""
    places = Places(state, field, budget)
    count = 0
    try:
        while count < _MOST_ON_A_HOST:
            found = places.find(host_row)
            if found is None or not found.allocations:
                break
            places.take(found)
            count += 1
    except Spent:
        pass
    return count


def _fill(field: Field, job: Job, limits: Int64s, again: tuple[Filter, ...]) -> Int64s:
    """int64[hosts]: as many as also pass what is asked before every instance. Halving
    finds them, since who cannot take one more cannot take two more."""
    counts, most = np.minimum(limits, 1), limits.copy()
    while (counts < most).any():
        middle = (counts + most + 1) // 2
        hosts = field.hosts.keep(np.ones(len(field.hosts), np.bool_))
        hosts.consume_everywhere(job.taken, np.maximum(middle - 1, 0))
        passing = np.ones(len(hosts), np.bool_)
        if job.asks_amounts:
            passing &= unbooked.with_room(hosts, job.taken, field.policy.options)
        for one in again:
            passing &= one.mask(hosts, field.request)
        is_open = counts < most
        counts = np.where(is_open & passing, middle, counts)
        most = np.where(is_open & ~passing, middle - 1, most)
    return counts


def _grouped(field: Field, counts: Int64s) -> Int64s:
    """What the rule of a server group leaves of ``counts``."""
    group = field.request.spec.instance_group
    if group is None or not len(counts):
        return counts
    fleet = field.hosts.fleet
    if group.policy == groups.ANTI_AFFINITY:
        there = field.hosts.counts_on(groups.counts(fleet, group))
        return np.clip(counts, 0, np.maximum(group.max_server_per_host - there, 0))
    if group.policy == groups.AFFINITY and not groups.hosts(fleet, group):
        best = np.zeros_like(counts)
        best[counts.argmax()] = counts.max()
        return best
    return counts
