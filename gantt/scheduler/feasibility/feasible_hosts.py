"""The field of one request: which hosts pass, and how good each is.

    hosts -> room (books or amounts), named hosts, filters   one mask each
          -> those that pass all                             ``hosts``
          -> raw scores, normalised, multiplied, summed      ``weights``

Masks are kept apart, so that what each removed, and removed alone, can be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct

from gantt.model.selection import Step
from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combine import Budget
from gantt.placement.candidates.listing import Listing
from gantt.placement.candidates.summarize import Rows
from gantt.placement.candidates.survey import AnySurvey, survey
from gantt.scheduler.contract import Filter, Request
from gantt.scheduler.feasibility import unbooked
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.policy import Policy
from gantt.scheduler.request import contradictions
from gantt.scheduler.request.job import Job
from gantt.scheduler.request.targets import targets
from gantt.scheduler.scoring import weigh
from gantt.scheduler.scoring.scale import Scale, scales_of, total
from gantt.state.column import NO_ROW, Bools, Floats, Int64s
from gantt.state.state import State

BOOKS = "allocation candidates"
AMOUNTS = "amounts of hosts"
LABELS = "traits and aggregates"
TARGETS = "requested hosts"


class Sieve(Struct, frozen=True, eq=False):
    """One mask, bool[n], and what it is called."""

    name: str
    mask: Bools


class Field(Struct, eq=False):
    """``all_rows``: int64[n] rows of ``state.hosts``; each sieve's mask is bool[n].
    ``hosts``: those that pass all; ``scales``: of the weighers that can tell them
    apart; ``weights``: float64[len(hosts)]."""

    all_rows: Int64s
    sieves: tuple[Sieve, ...]
    hosts: Hosts
    request: Request
    policy: Policy
    surveys: tuple[AnySurvey, ...]
    scales: tuple[Scale, ...]
    weights: Floats
    skips_filters: bool = False
    known_steps: tuple[Step, ...] | None = None
    known_order: Int64s | None = None
    listing: Listing | None = None

    def best(self, count: int) -> Int64s:
        """int64[<= n]: places of at least the best ``count`` hosts, best first."""
        known = self.known_order
        if known is None or len(known) < min(count, len(self.hosts)):
            known = self.known_order = weigh.best(self.weights, count)
        return known

    @property
    def steps(self) -> tuple[Step, ...]:
        """What each sieve did, in order."""
        if self.known_steps is None:
            self.known_steps = tuple(steps_of(self.sieves, len(self.all_rows)))
        return self.known_steps

    @property
    def asked(self) -> frozenset[str]:
        """The names of the filters that the request went through."""
        return frozenset(sieve.name for sieve in self.sieves)

    @property
    def has_room_anywhere(self) -> bool:
        """Whether any host has the amounts."""
        return all(
            bool(sieve.mask.any())
            for sieve in self.sieves
            if sieve.name in (BOOKS, AMOUNTS)
        )


def fresh(state: State, job: Job, policy: Policy, now: int, budget: Budget) -> Field:
    """Every mask and score afresh. Raises Invalid, UnknownName."""
    rows = state.fleet.hosts.live_rows().astype(np.int64)
    everybody = Hosts(state.fleet, rows)
    request = Request(job.spec, policy.options, now)
    check_hints(job, policy)
    surveys = surveys_of(state, job, budget)
    sieves = list(first_sieves(state, everybody, job, policy, surveys))
    asked = filters_of(job, policy)
    prompt = [one for one in asked if not one.is_costly]
    sieves += [Sieve(one.name, one.mask(everybody, request)) for one in prompt]
    sieves = costly_too(everybody, request, asked, sieves)
    hosts = everybody.keep(all_of(sieves, len(rows)))
    scales = scales_of(hosts, request, policy.weighers)
    return Field(
        rows,
        tuple(sieves),
        hosts,
        request,
        policy,
        surveys,
        scales,
        total(scales, len(hosts)),
        skips_filters(job.spec),
        listing=job.listing,
    )


def surveys_of(state: State, job: Job, budget: Budget) -> tuple[AnySurvey, ...]:
    """The books' answer to each question of ``job``. Raises UnknownName."""
    if job.asks_amounts or job.listing is not None:
        return ()
    return tuple(survey(state, question, budget) for question in job.questions)


def skips_filters(spec: RequestSpec) -> bool:
    """Whether an operator forces hosts: then nothing but capacity is asked."""
    is_forced = bool(spec.force_hosts or spec.force_nodes)
    return is_forced and not spec.scheduler_hints.get("_nova_check_type")


def filters_of(job: Job, policy: Policy) -> tuple[Filter, ...]:
    """The filters that the request goes through."""
    if skips_filters(job.spec):
        return ()
    return tuple(
        one for one in policy.filters if one.on_rebuild or not job.spec.is_rebuild
    )


def check_hints(job: Job, policy: Policy) -> None:
    """Before any host is looked at. Raises Invalid where they exclude each other."""
    if job.spec.scheduler_hints:
        contradictions.check_hints(job.spec, filters_of(job, policy))


def first_sieves(
    state: State,
    hosts: Hosts,
    job: Job,
    policy: Policy,
    surveys: Sequence[AnySurvey],
) -> Iterator[Sieve]:
    """What decides before any filter: room, and the hosts that were named."""
    if job.asks_amounts:
        yield Sieve(AMOUNTS, unbooked.with_room(hosts, job.taken, policy.options))
        yield Sieve(LABELS, unbooked.labeled(state, hosts, job.questions[0]))
    elif job.listing is not None:
        yield Sieve(BOOKS, listed(hosts, job.listing))
    elif job.questions:
        yield Sieve(BOOKS, with_room(hosts, surveys))
    mask = targets(hosts, job.spec)
    if mask is not None:
        yield Sieve(TARGETS, mask)


def listed(hosts: Hosts, listing: Listing) -> Bools:
    """bool[n]: which have a candidate in a remote Placement's answer."""
    uuids = hosts.fleet.hosts.uuids
    found = (listing.has(uuids[row]) for row in hosts.rows.tolist())
    return np.fromiter(found, np.bool_, len(hosts))


def with_room(hosts: Hosts, surveys: Sequence[AnySurvey]) -> Bools:
    """bool[n]: whose tree may match one of ``surveys``."""
    providers: Rows = hosts.provider.astype(np.intp)
    known = providers != NO_ROW
    if np.count_nonzero(known) == len(providers):
        found = surveys[0].viable_at(providers)
        for one in surveys[1:]:
            found = found | one.viable_at(providers)
        return found
    found = np.zeros(len(hosts), np.bool_)
    for one in surveys:
        found[known] |= one.viable_at(providers[known])
    return found


def costly_too(
    hosts: Hosts, request: Request, asked: Iterable[Filter], before: list[Sieve]
) -> list[Sieve]:
    """``before``, and those filters that look at hosts one by one: they come last, and
    look only at those that are left."""
    sieves = list(before)
    for one in asked:
        if one.is_costly:
            left = all_of(sieves, len(hosts))
            mask = np.ones(len(hosts), np.bool_)
            mask[left] = one.mask(hosts.keep(left), request)
            sieves.append(Sieve(one.name, mask))
    return sieves


def all_of(sieves: Iterable[Sieve], size: int) -> Bools:
    """bool[size]: which pass every one."""
    passing = np.ones(size, np.bool_)
    for sieve in sieves:
        passing &= sieve.mask
    return passing


def steps_of(sieves: Sequence[Sieve], size: int) -> Iterator[Step]:
    """What each did, in order, and what it did alone."""
    failures = np.zeros(size, np.int32)
    for sieve in sieves:
        failures += ~sieve.mask
    only_one = failures == 1
    left = np.ones(size, np.bool_)
    before = size
    for sieve in sieves:
        left &= sieve.mask
        after = int(np.count_nonzero(left))
        alone = int(np.count_nonzero(only_one & ~sieve.mask))
        yield Step(sieve.name, before, after, alone)
        before = after
