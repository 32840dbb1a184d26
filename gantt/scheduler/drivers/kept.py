"""What is kept of one shape of request: masks, raw scores and weights, brought up to
date host by host.

Apart from the driver because it knows nothing of requests: ``refresh`` looks at what
changed in the State since, and gives up where starting over is as cheap.
"""

from __future__ import annotations

import numpy as np

from gantt.model.selection import Step
from gantt.placement.candidates.combine import Budget
from gantt.placement.candidates.survey import FlatSurvey
from gantt.scheduler import field as fields
from gantt.scheduler.contract import Request
from gantt.scheduler.field import Sieve
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.job import Job
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.policy import Policy
from gantt.scheduler.ranking import Ranking
from gantt.scheduler.scale import Scale, scales_of, total, total_at
from gantt.state.column import NO_ROW, Bools, Int64s
from gantt.state.state import State


class Kept:
    """``rows``: int64[n], all hosts; ``sieves``: what is elementwise; ``passing``:
    bool[n]; ``hosts``: those that pass; ``scales`` and ``weights``: over them."""

    def __init__(
        self, state: State, job: Job, policy: Policy, now: int, budget: Budget
    ) -> None:
        fleet = state.fleet
        self.job = job
        self.steps: tuple[Step, ...] | None = None
        self._ranking: Ranking | None = None
        self._policy = policy
        self._state = state
        self._stamps: tuple[object, ...] = _stamps(state)
        self._others = fleet.others_touched
        self._seen = state.applied
        self.rows: Int64s = fleet.hosts.live_rows().astype(np.int64)
        self._place_of = np.full(fleet.hosts.height, NO_ROW, np.int64)
        self._place_of[self.rows] = np.arange(len(self.rows))
        self.everybody = Hosts(fleet, self.rows)
        self.everyone = np.ones(len(self.rows), np.bool_)
        self.everyone.flags.writeable = False
        request = Request(job.spec, policy.options, now)
        self.surveys = fields.surveys_of(state, job, budget)
        self._hangs_on_others = not all(
            isinstance(one, FlatSurvey) for one in self.surveys
        )
        first = [*fields.first_sieves(state, self.everybody, job, policy, self.surveys)]
        self.first = tuple(sieve.name for sieve in first)
        self._filters = tuple(
            one
            for one in fields.filters_of(job, policy)
            if one.elementwise and not one.is_costly
        )
        judged = [
            Sieve(one.name, one.mask(self.everybody, request)) for one in self._filters
        ]
        self.sieves: tuple[Sieve, ...] = (*first, *judged)
        self._settle(request)

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
            self._ranking = Ranking(self.weights, count)
        return self._ranking.best()

    def refresh(self, state: State, now: int, budget: Budget) -> bool:
        """Bring everything up to date; False: it has to be made anew."""
        if state is not self._state or _stamps(state) != self._stamps:
            return False
        if self._hangs_on_others and state.fleet.others_touched != self._others:
            return False
        changed = state.fleet.changed_since(self._seen)
        if changed is None or 4 * len(changed) > len(self.rows):
            return False
        if not changed:
            self._seen = state.applied
            return True
        rows = np.fromiter(changed, np.int64, len(changed))
        places = self._place_of[rows]
        if (places == NO_ROW).any():
            return False
        request = Request(self.job.spec, self._policy.options, now)
        self.everybody = Hosts(state.fleet, self.rows)
        sub = Hosts(state.fleet, rows)
        # Until all of it is up to date it is good for nothing, should a rule raise.
        stamps, self._stamps = self._stamps, ()
        if not self._judge(state, sub, places, request, budget):
            self._settle(request)
        else:
            self._score(sub, places, request)
        self._stamps, self._seen = stamps, state.applied
        return True

    def _judge(
        self,
        state: State,
        sub: Hosts,
        places: Int64s,
        request: Request,
        budget: Budget,
    ) -> bool:
        """Masks at ``places``; whether the same hosts pass as before."""
        if self._hangs_on_others:
            self._survey_again(state, budget)
        first = fields.first_sieves(state, sub, self.job, self._policy, self.surveys)
        masks = [
            *(sieve.mask for sieve in first),
            *(one.mask(sub, request) for one in self._filters),
        ]
        is_same = True
        for sieve, mask in zip(self.sieves, masks, strict=True):
            if (sieve.mask[places] != mask).any():
                is_same = False
                self.steps = None
                sieve.mask[places] = mask
        return is_same and self._is_passing_known

    def _survey_again(self, state: State, budget: Budget) -> None:
        """Trees: what one host can give may hang on providers that it shares."""
        self.surveys = fields.surveys_of(state, self.job, budget)
        mask = fields.with_room(self.everybody, self.surveys)
        old = self.sieves[0]
        self._is_passing_known = bool((mask == old.mask).all())
        self.sieves = (Sieve(old.name, mask), *self.sieves[1:])

    def _settle(self, request: Request) -> None:
        """Who passes is not who passed: scores of all that do."""
        self.passing = fields.all_of(self.sieves, len(self.rows))
        self._is_passing_known = True
        self.hosts = self.everybody.keep(self.passing)
        self._compact = np.cumsum(self.passing) - 1
        elementwise = tuple(one for one in self._policy.weighers if one.elementwise)
        self.scales = scales_of(self.hosts, request, elementwise)
        self.weights = total(self.scales, len(self.hosts))
        self._ranking = None
        self.steps = None

    def _score(self, sub: Hosts, places: Int64s, request: Request) -> None:
        """Scores of the hosts at ``places`` that pass, and all weights."""
        is_in = self.passing[places]
        self.hosts = Hosts(sub.fleet, self.hosts.rows)
        if not is_in.any() or len(self.hosts) < 2:
            return
        at = self._compact[places[is_in]]
        sub = sub if is_in.all() else sub.keep(is_in)
        is_moved = False
        for one in self.scales:
            is_moved |= one.change(at, one.weigher.score(sub, request))
        if is_moved:
            self.weights = total(self.scales, len(self.hosts))
            self._ranking = None
        else:
            self.weights[at] = total_at(self.scales, at)
            if self._ranking is not None:
                self._ranking.move(at)


def _stamps(state: State) -> tuple[object, ...]:
    """What must not move: aggregates and groups, the age of computes, who there is and
    which provider stands for whom, how providers hang together, and names."""
    fleet = state.fleet
    return (
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
