"""How many more instances of a kind fit, where, and what blocks more.

Counted host by host from what each has left, so that it costs passes over arrays and
not a decision per instance; trees are filled candidate by candidate, within a budget,
and what several of them share is counted once.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from msgspec import structs

from gantt.model.selection import Capacity
from gantt.model.spec import RequestSpec
from gantt.placement import groups
from gantt.placement.candidates.combine import Budget, Spent
from gantt.placement.candidates.summarize import Rows
from gantt.placement.candidates.survey import AnySurvey
from gantt.scheduler import unbooked
from gantt.scheduler.contract import Filter
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.explain import Rest, why
from gantt.scheduler.field import Field
from gantt.scheduler.job import Job
from gantt.scheduler.places import Places
from gantt.state.column import NO_ROW, Bools, Int64s
from gantt.state.state import State

_MOST_FREE = 2.0**52
_UNLIMITED = 2**62


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
    spec = groups.with_rule(state.fleet, spec)
    if job is not None:
        job = structs.replace(job, spec=groups.with_rule(state.fleet, job.spec))
        field = driver.field_of(state, job, now=now, budget=steps)
    else:
        job, field = driver.field(
            state,
            structs.replace(spec, num_instances=1),
            now=now,
            by_books=by_books,
            budget=steps,
        )
    trees, counts = _limits(state, field)
    again = tuple(
        one
        for one in field.policy.filters
        if not one.once and one.elementwise and not field.skips_filters
    )
    if again or job.asks_amounts:
        counts = _fill(field, job, counts, again)
    asked = counts > 0
    counts, refused = _one_by_one(state, field, counts, trees & asked, steps)
    hosts: dict[str, int] = {}
    for place in np.flatnonzero(counts).tolist():
        name = state.fleet.hosts.hosts[int(field.hosts.rows[place])]
        hosts[name] = hosts.get(name, 0) + int(counts[place])
    told = why(state, job, field, Rest(field.hosts.rows, refused))
    return Capacity(sum(hosts.values()), hosts, told.steps, told.nearest, told.change)


def _limits(state: State, field: Field) -> tuple[Bools, Int64s]:
    """bool[hosts]: trees, of which only a search can tell; int64[hosts]: how many the
    books have room for on the others. Hosts that the gate refuses have room for none,
    forced or not."""
    rows, table = field.hosts.rows, state.fleet.hosts
    trees = np.full(len(rows), field.listing is not None, np.bool_)
    most = field.policy.options.capacity_per_host
    counts = np.full(len(rows), most, np.int64)
    if field.surveys:
        providers: Rows = table.provider[rows].astype(np.intp)
        for survey in field.surveys:
            viable = survey.viable_at(providers)
            trees |= viable & ~survey.alone_at(providers)
        counts[~trees] = _divided(state, field.surveys, providers[~trees], most)
    counts[table.is_disabled[rows] | table.is_forced_down[rows]] = 0
    return trees, counts


def _divided(
    state: State, surveys: tuple[AnySurvey, ...], providers: Rows, most: int
) -> Int64s:
    """int64[n]: what each provider has free, by what one instance takes of it, up to
    ``most``. A later survey's instances come when there is no room left for those of
    an earlier one."""
    counts = np.zeros(len(providers), np.int64)
    used: dict[str, Int64s] = {}
    for survey in surveys:
        amounts: Counter[str] = Counter()
        for group in survey.request.groups:
            amounts.update(group.resources)
        fits = np.full(len(providers), most, np.int64)
        fits[~survey.viable_at(providers)] = 0
        for name, amount in amounts.items():
            if amount > 0:
                free = _free(state, name, providers) - used.get(name, 0)
                fits = np.minimum(fits, np.maximum(free, 0) // amount)
        for name, amount in amounts.items():
            used[name] = used.get(name, 0) + fits * amount
        counts += fits
    return np.minimum(counts, most)


def _free(state: State, name: str, providers: Rows) -> Int64s:
    """int64[n]: how much of a class each has left; 0: it has none of the class."""
    free = np.zeros(len(providers), np.int64)
    index = state.classes.index_of(name)
    table = None if index is None else state.inventories.table(index)
    if table is not None:
        slots = table.slots_of(providers)
        has = slots != NO_ROW
        at = slots[has]
        left = np.floor(table.capacity[at] - table.used[at])
        free[has] = np.clip(left, 0, _MOST_FREE).astype(np.int64)
    return free


def _one_by_one(
    state: State, field: Field, limits: Int64s, trees: Bools, budget: Budget
) -> tuple[Int64s, Int64s]:
    """int64[hosts]: ``limits``, trees (bool[hosts]) filled in them, less what the rule
    of a server group forbids; and the rows of trees that the search refused.

    All trees are filled on one sheet, one host after the other, for what they share is
    there once. Members that must be together are on one host: a sheet for each.
    """
    counts, refused = limits.copy(), list[int]()
    rule = _Rule(field)
    counts[~rule.allowed] = 0
    names, rows = state.fleet.hosts.hosts, field.hosts.rows
    sheets: dict[str, Places] = {}
    for place in np.flatnonzero((counts > 0) & (trees | rule.is_hard)).tolist():
        row = int(rows[place])
        name = names[row]
        most = count = min(int(counts[place]), rule.left(name))
        if trees[place] and most:
            key = name if rule.is_together else ""
            if key not in sheets:
                sheets[key] = Places(state, field, budget)
            count, is_refused = _filled(sheets[key], row, most)
            if is_refused:
                refused.append(row)
        rule.add(name, count)
        counts[place] = count
    if rule.is_together:
        best = rule.fullest()
        counts[[names[row] != best for row in rows.tolist()]] = 0
    return counts, np.array(refused, np.int64)


def _filled(places: Places, host_row: int, most: int) -> tuple[int, bool]:
    """How many candidates a tree gives, one after the other, and whether it was
    refused the first; what the budget leaves uncounted is not promised."""
    count = 0
    try:
        while count < most:
            found = places.find(host_row)
            if found is None or not found.allocations:
                return count, found is None and not count
            places.take(found)
            count += 1
    except Spent:
        pass
    return count, False


class _Rule:
    """What a server group leaves of each service host, whichever of its nodes.
    ``allowed``: bool[hosts]; ``is_together``: all go to one service host, any one."""

    def __init__(self, field: Field) -> None:
        group, hosts = field.request.spec.instance_group, field.hosts
        policy = None if group is None else group.policy
        self.is_hard = policy in (groups.AFFINITY, groups.ANTI_AFFINITY)
        self.is_together = False
        self.allowed = np.ones(len(hosts), np.bool_)
        self._most = _UNLIMITED
        self._there: Counter[str] = Counter()
        self._added: Counter[str] = Counter()
        if group is None:
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
        """So many go there."""
        self._added[name] += count

    def fullest(self) -> str | None:
        """The service host that takes the most."""
        return max(self._added, key=self._added.__getitem__, default=None)


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
