"""Candidates, filters and scores of one request, for every driver: here, in this order.

An Evaluation either keeps what it found, and is brought up to date host by host, or is
made for one request and keeps nothing: every filter and weigher is then asked again,
and only that is different. ``feasible`` combines what is kept with what is asked again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gantt.model.selection import Step
from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combination import Budget
from gantt.scheduler.contract import ALWAYS, Filter, Request, Weigher
from gantt.scheduler.evaluation import feasible_hosts
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.feasibility.candidate_sources import CandidateSource, HostMask
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import Policy
from gantt.scheduler.request.job import Job
from gantt.scheduler.request.segments import in_books, segments_of
from gantt.scheduler.scoring.host_weights import BestHosts
from gantt.scheduler.scoring.scale import Scale, scale_of, scales_of, total, total_at
from gantt.scheduler.stages import FILTER, OTHER, SCORE, Mark
from gantt.state.column import ALL, ANY, NO_ROW, Bools, Int64s
from gantt.state.fleet_columns import ChangedHosts
from gantt.state.host_table import USE
from gantt.state.state import State

# Columns that a claim changes, or a trait of a host's provider.
OF_USE = USE | {"claims", "instances", "touched", "topology", "rooms", "domains"}


class Evaluation:
    """The evaluation of one shape of request. ``keeps``: masks and scores of
    elementwise plug-ins are kept, for requests of the same shape; else they are asked
    again like all others. ``rows``: int64[n], all hosts; ``first``: masks that are
    applied before filters; ``masks``: of elementwise filters; ``passing``: bool[n];
    ``hosts``: those that pass; ``scales`` and ``weights``: over them."""

    def __init__(
        self,
        state: State,
        spec: RequestSpec,
        source: CandidateSource,
        policy: Policy,
        now: int,
        budget: Budget,
        mark: Mark | None,
        *,
        keeps: bool = True,
    ) -> None:
        """Raises Invalid, NoValidHost, UnknownName."""
        fleet = state.fleet
        self.keeps = keeps
        job = self.job = source.prepare(state, spec, policy.options)
        self._source = source
        self.steps: tuple[Step, ...] | None = None
        self._ranking: BestHosts | None = None
        self._policy = policy
        self._state = state
        self._segments = segments_of(spec, policy.options)
        self._stamps: tuple[object, ...] = _stamps(state, self._segments)
        self._others = fleet.others_touched
        self._seen = state.applied
        self.rows: Int64s = fleet.hosts.live_rows().astype(np.int64)
        self._place_of = np.full(fleet.hosts.height, NO_ROW, np.int64)
        self._place_of[self.rows] = np.arange(len(self.rows))
        self.every_host = Hosts(fleet, self.rows)
        self.all_pass = np.ones(len(self.rows), np.bool_)
        self.all_pass.flags.writeable = False
        # What filters derived of a request of this shape, for the next ones.
        self.derived: dict[Hashable, Any] = {}
        request = Request(job.spec, policy.options, now, self.derived)
        feasible_hosts.check_hints(job, policy)
        self.candidates = source.candidates(state, job, policy.options, budget)
        if mark is not None:
            mark(FILTER)
        self.first: tuple[HostMask, ...] = (
            *feasible_hosts.first_masks(
                self.every_host, self.candidates, job.spec, policy.options
            ),
        )
        self.masks: dict[Filter, HostMask] = {}
        self._asked: list[Filter] = []
        # In the order of a fresh evaluation.
        asked = feasible_hosts.filters_of(job, policy)
        self._filters = sorted(asked, key=lambda one: one.is_costly)
        for one in self._filters:
            if keeps and one.is_elementwise and not one.is_costly:
                self.masks[one] = self._mask_of(one, request)
        self.afresh: tuple[Filter, ...] = tuple(
            one for one in self._filters if one not in self.masks
        )
        self._whole: tuple[HostMask, ...] | None = None
        self._asked_of_use = [one for one in self._asked if _reads_use(one)]
        # (first, last) time at which all masks are valid.
        self._lasts = ALWAYS
        self._keep_time(self.every_host, request)
        self._settle(request, mark)

    def _mask_of(self, one: Filter, request: Request) -> HostMask:
        """The mask of ``one`` over all hosts, to be computed again for those that
        change, unless it lets all pass."""
        if one.is_neutral(request):
            return HostMask(one.name, self.all_pass)
        self._asked.append(one)
        return HostMask(one.name, one.mask(self.every_host, request))

    @property
    def whole(self) -> tuple[HostMask, ...]:
        """All masks in order where all hosts pass the uncached ones."""
        if self._whole is None:
            everyone = self.all_pass
            self._whole = (
                *self.first,
                *(
                    self.masks.get(one) or HostMask(one.name, everyone)
                    for one in self._filters
                ),
            )
        return self._whole

    def scales_at(self, mask: Bools) -> tuple[Scale, ...]:
        """The scales of those hosts that ``mask`` (bool[len(hosts)]) names."""
        if np.count_nonzero(mask) < 2:
            return ()
        return tuple(one.at(mask) for one in self.scales)

    def best(self, options: SchedulerOptions) -> Int64s:
        """The best hosts, as many as a claim has choices for; found once as long as
        weights stay."""
        if self._ranking is None:
            count = max(options.choices, options.record_hosts)
            self._ranking = BestHosts(self.weights, count)
        return self._ranking.best()

    def refresh(
        self, state: State, now: int, budget: Budget, mark: Mark | None
    ) -> bool:
        """Bring everything up to date; False: it must be rebuilt."""
        if state is not self._state or _stamps(state, self._segments) != self._stamps:
            return False
        if (
            not self.candidates.is_per_host
            and state.fleet.others_touched != self._others
        ):
            return False
        if not self._lasts[0] <= now <= self._lasts[1]:
            return False
        # Before hosts are judged: others may write during calls of plug-ins.
        seen = state.applied
        changed = state.fleet.journal.since(self._seen)
        if changed is None or 4 * len(changed.rows) > len(self.rows):
            return False
        if changed.rows and not self._take_in(state, changed, now, budget, mark):
            return False
        self._seen = seen
        return True

    def _take_in(
        self,
        state: State,
        changed: ChangedHosts,
        now: int,
        budget: Budget,
        mark: Mark | None,
    ) -> bool:
        """Judge and score again those that changed; False: some are not known."""
        rows = np.fromiter(changed.rows, np.int64, len(changed.rows))
        places = self._place_of[rows]
        if ANY(places == NO_ROW):
            return False
        request = Request(self.job.spec, self._policy.options, now, self.derived)
        self.every_host = Hosts(state.fleet, self.rows)
        sub = Hosts(state.fleet, rows)
        # It is invalid until all of it is up to date, in case a rule raises.
        stamps, self._stamps = self._stamps, ()
        if not self.candidates.is_per_host:
            self._ask_again(state, budget)
        if mark is not None:
            mark(FILTER)
        if self._judge(sub, places, request, is_use=changed.is_use):
            if mark is not None:
                mark(OTHER)
            self._score(sub, places, request, mark, is_use=changed.is_use)
        else:
            self._settle(request, mark)
        self._stamps = stamps
        return True

    def _judge(
        self,
        sub: Hosts,
        places: Int64s,
        request: Request,
        *,
        is_use: bool,
    ) -> bool:
        """Masks at ``places``; whether the same hosts pass as before."""
        is_same = self._is_passing_known
        first = feasible_hosts.first_masks(
            sub, self.candidates, self.job.spec, self._policy.options
        )
        for cached, found in zip(self.first, first, strict=True):
            is_same &= self._put(cached, places, found.mask)
        for one in self._asked_of_use if is_use else self._asked:
            mask = one.mask(sub, request)
            is_same &= self._put(self.masks[one], places, mask)
        if not is_use:
            self._keep_time(sub, request)
        return is_same

    def _put(self, cached: HostMask, places: Int64s, mask: Bools) -> bool:
        """Whether ``cached`` is unchanged at ``places``."""
        if ALL(cached.mask[places] == mask):
            return True
        self.steps = None
        cached.mask[places] = mask
        return False

    def _keep_time(self, hosts: Hosts, request: Request) -> None:
        """Limit the validity of the masks to that of ``hosts``."""
        first, last = self._lasts
        for one in self._asked:
            found = one.lasts(hosts, request)
            first, last = max(first, found[0]), min(last, found[1])
        self._lasts = first, last

    def _ask_again(self, state: State, budget: Budget) -> None:
        """Trees: what one host can supply may depend on shared providers."""
        options, old = self._policy.options, self.first[0]
        self.candidates = self._source.candidates(state, self.job, options, budget)
        (found,) = self.candidates.masks(self.every_host)
        mask = found.mask
        self._is_passing_known = bool((mask == old.mask).all())
        self.first = (HostMask(old.name, mask), *self.first[1:])
        self._whole = None

    def _settle(self, request: Request, mark: Mark | None) -> None:
        """Other hosts pass than before: score all that do."""
        masks = (*self.first, *self.masks.values())
        self.passing = feasible_hosts.all_of(masks, len(self.rows))
        self._is_passing_known = True
        self.hosts = self.every_host.keep(self.passing)
        self._compact = np.cumsum(self.passing) - 1
        kept = [one for one in self._policy.weighers if one.is_elementwise]
        kept = kept if self.keeps else []
        self.scales = scales_of(self.hosts, request, kept, mark)
        self._scales_of_use = [one for one in self.scales if _reads_use(one.weigher)]
        self.weights = total(self.scales, len(self.hosts))
        self._ranking = None
        self.steps = None

    def _score(
        self,
        sub: Hosts,
        places: Int64s,
        request: Request,
        mark: Mark | None,
        *,
        is_use: bool,
    ) -> None:
        """Scores of the hosts at ``places`` that pass, and all weights."""
        is_in = self.passing[places]
        self.hosts = Hosts(sub.fleet, self.hosts.rows)
        if not ANY(is_in) or len(self.hosts.rows) < 2:
            return
        if mark is not None:
            mark(SCORE)
        at = self._compact[places[is_in]]
        sub = sub if ALL(is_in) else sub.keep(is_in)
        is_moved = False
        for one in self._scales_of_use if is_use else self.scales:
            is_moved |= one.change(at, one.weigher.score(sub, request))
        if is_moved:
            self.weights = total(self.scales, len(self.hosts))
            self._ranking = None
        else:
            self.weights[at] = total_at(self.scales, at)
            if self._ranking is not None:
                self._ranking.move(at)


def _stamps(state: State, segments: Sequence[str]) -> tuple[object, ...]:
    """What must not change: aggregates and groups, the age of computes, the hosts and
    their providers, trees and sharing, names, and aggregates of ``segments``."""
    fleet = state.fleet
    stamps = (
        fleet.context_touched,
        fleet.services.oldest_compute,
        fleet.hosts.count,
        fleet.hosts.height,
        fleet.hosts.structure,
        state.providers.structure,
        state.classes.moves,
        state.traits.moves,
        state.aggregates.moves,
    )
    if not segments:
        return stamps
    return (*stamps, *map(in_books(state), segments))


def _reads_use(one: Filter | Weigher) -> bool:
    """Whether a claim may change its result for a host."""
    return one.cacheable is None or not OF_USE.isdisjoint(one.cacheable.needs)


def feasible(
    made: Evaluation, policy: Policy, job: Job, now: int, mark: Mark | None
) -> FeasibleHosts:
    """What is made, and what the other plug-ins say of this request."""
    request = Request(job.spec, policy.options, now, made.derived)
    masks, is_whole = _masks(made, policy, job, request, mark)
    hosts, scales = made.hosts, made.scales
    if not is_whole:
        passing = feasible_hosts.all_of(masks, len(made.rows))
        hosts = made.every_host.keep(passing)
        if mark is not None:
            mark(SCORE if len(hosts) > 1 else OTHER)
        scales = made.scales_at(passing[made.passing])
    late = _late(made, policy, hosts, request, mark)
    if late:
        place = {one: n for n, one in enumerate(policy.weighers)}
        together = (*scales, *late)
        scales = tuple(sorted(together, key=lambda one: place[one.weigher]))
    is_cached = is_whole and not late
    found = FeasibleHosts(
        job,
        made.candidates,
        made.rows,
        masks,
        hosts,
        request,
        policy,
        scales,
        made.weights if is_cached else total(scales, len(hosts)),
    )
    if is_cached:
        found.known_order = made.best(policy.options)
    if is_whole:
        # The uncached filters removed no host.
        found.known_steps = made.steps = made.steps or found.steps
    return found


def _masks(
    made: Evaluation, policy: Policy, job: Job, request: Request, mark: Mark | None
) -> tuple[tuple[HostMask, ...], bool]:
    """All of them in order; whether the uncached ones remove no host."""
    if made.keeps and not [one for one in made.afresh if not one.is_neutral(request)]:
        return made.whole, True
    if mark is not None:
        mark(FILTER)
    asked = feasible_hosts.filters_of(job, policy)
    masks = list(made.first)
    is_whole = True
    for one in asked:
        if one.is_costly:
            continue
        mask = made.masks.get(one)
        if mask is None and made.keeps and one.is_neutral(request):
            mask = HostMask(one.name, made.all_pass)
        elif mask is None:
            mask = HostMask(one.name, one.mask(made.every_host, request))
            is_whole &= bool(mask.mask.all())
        masks.append(mask)
    costly = feasible_hosts.costly_too(made.every_host, request, asked, masks)
    is_whole &= all(bool(one.mask.all()) for one in costly[len(masks) :])
    return tuple(costly), is_whole


def _late(
    made: Evaluation, policy: Policy, hosts: Hosts, request: Request, mark: Mark | None
) -> list[Scale]:
    asked = policy.uncached_weighers if made.keeps else policy.weighers
    if not asked or len(hosts.rows) < 2:
        return []
    found = []
    for one in asked:
        scale = scale_of(one, hosts, request, mark)
        if scale is not None:
            found.append(scale)
    return found


class Landed(NamedTuple):
    """``hosts`` of a ``request``, of which those ``at`` some places, ``changed``, have
    got instances since they were evaluated."""

    hosts: Hosts
    changed: Hosts
    at: Int64s
    request: Request

    def passing(self, asked: Iterable[Filter]) -> Bools:
        """bool[n]: which hosts pass ``asked``. Those that have not changed are known to
        pass elementwise filters."""
        found = np.ones(len(self.hosts), np.bool_)
        for one in asked:
            if one.is_elementwise:
                found[self.at] &= one.mask(self.changed, self.request)
            else:
                found &= one.mask(self.hosts, self.request)
        return found

    def score(self, scales: Iterable[Scale]) -> bool:
        """Bring the ``scales`` of elementwise weighers up to date; whether the weights
        of hosts change that have not."""
        is_moved = False
        for one in scales:
            if one.weigher.is_elementwise:
                new = one.weigher.score(self.changed, self.request)
                is_moved |= one.change(self.at, new)
        return is_moved

    def scored(
        self, scales: tuple[Scale, ...], weighers: Sequence[Weigher]
    ) -> tuple[tuple[Scale, ...], bool]:
        """The scores of ``score``, with those of the other weighers made anew: a server
        group, or any other context, may have changed for all."""
        is_moved = self.score(scales)
        kept = {one.weigher: one for one in scales if one.weigher.is_elementwise}
        if len(kept) == len(weighers):
            return scales, is_moved
        found = []
        for weigher in weighers:
            scale = kept.get(weigher)
            if scale is None and not weigher.is_elementwise:
                scale = scale_of(weigher, self.hosts, self.request)
                is_moved |= scale is not None
            if scale is not None:
                found.append(scale)
        return tuple(found), is_moved


def evaluate(
    state: State,
    spec: RequestSpec,
    source: CandidateSource,
    policy: Policy,
    now: int,
    budget: Budget,
    mark: Mark | None = None,
) -> FeasibleHosts:
    """For this request alone. Raises Invalid, NoValidHost, UnknownName."""
    made = Evaluation(state, spec, source, policy, now, budget, mark, keeps=False)
    return feasible(made, policy, made.job, now, mark)
