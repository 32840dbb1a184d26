"""Every mask and every score of a request, computed anew: the driver ``filter``."""

from __future__ import annotations

import numpy as np

from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.contract import Request
from gantt.scheduler.evaluation.choosers import GuardedChooser
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.feasible_hosts import (
    FeasibleHosts,
    all_of,
    check_hints,
    filters_of,
    first_masks,
)
from gantt.scheduler.feasibility.candidates import CandidateSource, HostMask
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.plugins.policy import Policy, without
from gantt.scheduler.scoring.scale import scales_of, total
from gantt.scheduler.stages import FILTER, Mark
from gantt.state.state import State


def evaluate(
    state: State,
    spec: RequestSpec,
    source: CandidateSource,
    policy: Policy,
    now: int,
    budget: Budget,
    mark: Mark | None = None,
) -> FeasibleHosts:
    """Every mask and score, computed anew. Raises Invalid, NoValidHost, UnknownName."""
    # prepare
    job = source.prepare(state, spec, policy.options)
    request = Request(job.spec, policy.options, now)
    check_hints(job, policy)
    # candidates
    candidates = source.candidates(state, job, policy.options, budget)
    # filter: those that check hosts one by one come last, and see only what is left
    if mark is not None:
        mark(FILTER)
    rows = state.fleet.hosts.live_rows().astype(np.int64)
    every = Hosts(state.fleet, rows)
    masks = list(first_masks(every, candidates, job.spec, policy.options))
    for one in sorted(filters_of(job, policy), key=lambda one: one.is_costly):
        if one.is_costly:
            passing = all_of(masks, len(rows))
            mask = np.ones(len(rows), np.bool_)
            mask[passing] = one.mask(every.keep(passing), request)
        else:
            mask = one.mask(every, request)
        masks.append(HostMask(one.name, mask))
    hosts = every.keep(all_of(masks, len(rows)))
    # score
    scales = scales_of(hosts, request, policy.weighers, mark)
    weights = total(scales, len(hosts))
    return FeasibleHosts(
        job, candidates, rows, tuple(masks), hosts, request, policy, scales, weights
    )


class FilterDriver(Driver):
    """Caches nothing."""

    name: str = "filter"

    def __init__(
        self,
        policy: Policy,
        name: str | None = None,
        chooser: GuardedChooser | None = None,
        *,
        is_fixed: bool = False,
    ) -> None:
        """``is_fixed``: its filters are not chosen by options."""
        super().__init__(policy, name, chooser)
        self._is_fixed = is_fixed

    def feasible_hosts(
        self,
        state: State,
        spec: RequestSpec,
        source: CandidateSource,
        *,
        now: int,
        budget: Budget,
        is_trial: bool = False,  # noqa: ARG002
        mark: Mark | None = None,
    ) -> FeasibleHosts:
        return evaluate(state, spec, source, self.policy, now, budget, mark)

    def without(self, name: str) -> Driver | None:
        if self._is_fixed:
            return None
        return FilterDriver(without(self.policy, name), self.name, self.chooser)
