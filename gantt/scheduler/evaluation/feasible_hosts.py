"""Feasible hosts of one request: which pass, and how good each is.

Masks are stored separately, so that it can be reported what each removed, and removed
alone. ``evaluation`` fills this in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct, structs

from gantt.model.selection import Step
from gantt.model.spec import RequestSpec
from gantt.model.topology import Wanted
from gantt.placement.candidates.survey import AnySurvey
from gantt.scheduler.contract import Filter, Request, Weigher
from gantt.scheduler.feasibility.candidate_sources import (
    AMOUNTS,
    BOOKS,
    HostCandidates,
    HostMask,
)
from gantt.scheduler.hosts import Hosts, Taken
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import Policy
from gantt.scheduler.request import contradictions
from gantt.scheduler.request.job import Job
from gantt.scheduler.request.requested_topology import FITTING_FILTERS, wanted_of
from gantt.scheduler.request.targets import in_service, targets
from gantt.scheduler.scoring import host_weights
from gantt.scheduler.scoring.scale import Scale, scale_of, total
from gantt.state.column import Bools, Floats, Int64s

TARGETS = "requested hosts"
HOST_LABELS = "labels of hosts"
IN_SERVICE = "hosts in service"


class FeasibleHosts(Struct, eq=False):
    """``all_rows``: int64[n] rows of ``state.hosts``; each of ``masks`` is bool[n].
    ``hosts``: those that pass all; ``scales``: of the weighers whose scores differ;
    ``weights``: float64[len(hosts)]."""

    job: Job
    candidates: HostCandidates
    all_rows: Int64s
    masks: tuple[HostMask, ...]
    hosts: Hosts
    request: Request
    policy: Policy
    scales: tuple[Scale, ...]
    weights: Floats
    known_steps: tuple[Step, ...] | None = None
    known_order: Int64s | None = None
    known_wanted: tuple[Wanted | None] | None = None

    def best(self, count: int) -> Int64s:
        """int64[<= n]: places of at least the best ``count`` hosts, best first."""
        known = self.known_order
        if known is None or len(known) < min(count, len(self.hosts.rows)):
            known = self.known_order = host_weights.best(self.weights, count)
        return known

    def only(self, places: Int64s, name: str) -> FeasibleHosts:
        """The hosts at ``places``, in this order: ``name`` left out the others."""
        is_left_out = np.ones(len(self.hosts), np.bool_)
        is_left_out[places] = False
        passing = np.flatnonzero(all_of(self.masks, len(self.all_rows)))
        mask = np.ones(len(self.all_rows), np.bool_)
        mask[passing[is_left_out]] = False
        return structs.replace(
            self,
            masks=(*self.masks, HostMask(name, mask)),
            hosts=self.hosts.at(places),
            scales=tuple(one.at(places, one.ends) for one in self.scales),
            weights=self.weights[places],
            known_steps=None,
            known_order=np.arange(len(places)),
        )

    def weighed(self, weigher: Weigher) -> FeasibleHosts:
        """These hosts with a weigher more."""
        if len(self.hosts) < 2:
            return self
        scale = scale_of(weigher, self.hosts, self.request)
        scales = self.scales if scale is None else (*self.scales, scale)
        weighers = (*self.policy.weighers, weigher)
        return structs.replace(
            self,
            policy=structs.replace(self.policy, weighers=weighers),
            scales=scales,
            weights=total(scales, len(self.hosts)),
            known_order=None,
        )

    @property
    def surveys(self) -> tuple[AnySurvey, ...]:
        """Answers of the local search; none where another source decides."""
        return self.candidates.surveys

    @property
    def steps(self) -> tuple[Step, ...]:
        if self.known_steps is None:
            self.known_steps = tuple(steps_of(self.masks, len(self.all_rows)))
        return self.known_steps

    @property
    def asked(self) -> frozenset[str]:
        """The names of the filters that the request went through."""
        return frozenset([one.name for one in self.masks])

    @property
    def wanted(self) -> Wanted | None:
        """The cells and devices that each instance needs, as far as the filters tell
        that the request went through; None: none. Raises Invalid."""
        if self.known_wanted is None:
            self.known_wanted = (self._wanted(),)
        return self.known_wanted[0]

    def _wanted(self) -> Wanted | None:
        asked = self.asked & FITTING_FILTERS
        return self.request.derived(wanted_of, asked) if asked else None

    @property
    def taken(self) -> Taken:
        """What each instance takes of its host's columns. Raises Invalid."""
        taken, wanted = self.job.taken, self.wanted
        if wanted is None or not wanted.devices:
            return taken
        return taken._replace(devices=sum(one.count for one in wanted.devices))

    @property
    def has_room_anywhere(self) -> bool:
        return all(
            bool(one.mask.any()) for one in self.masks if one.name in (BOOKS, AMOUNTS)
        )


def skips_filters(spec: RequestSpec) -> bool:
    """Whether an operator forces hosts: then only capacity is checked."""
    is_forced = bool(spec.force_hosts or spec.force_nodes)
    return is_forced and not spec.scheduler_hints.get("_nova_check_type")


def filters_of(job: Job, policy: Policy) -> tuple[Filter, ...]:
    if skips_filters(job.spec):
        return ()
    return tuple(
        one for one in policy.filters if one.on_rebuild or not job.spec.is_rebuild
    )


def check_hints(job: Job, policy: Policy) -> None:
    """Check the request before any host. Raises Invalid where hints exclude each
    other."""
    if job.spec.scheduler_hints:
        names = {one.name for one in filters_of(job, policy)}
        contradictions.check_hints(job.spec, names)


def first_masks(
    hosts: Hosts,
    candidates: HostCandidates,
    spec: RequestSpec,
    options: SchedulerOptions,
) -> Iterator[HostMask]:
    """The masks before any filter: amounts, hosts in service, the named hosts, and
    labels."""
    yield from candidates.masks(hosts)
    mask = in_service(hosts, spec, options)
    if mask is not None:
        yield HostMask(IN_SERVICE, mask)
    mask = targets(hosts, spec)
    if mask is not None:
        yield HostMask(TARGETS, mask)
    if spec.labels is not None:
        mask = np.ones(len(hosts), np.bool_)
        for key, value in spec.labels.required.items():
            mask &= hosts.with_label(key, value)
        for key, value in spec.labels.forbidden.items():
            mask &= ~hosts.with_label(key, value)
        yield HostMask(HOST_LABELS, mask)


def costly_too(
    hosts: Hosts, request: Request, asked: Iterable[Filter], before: list[HostMask]
) -> list[HostMask]:
    """``before``, and those filters that check hosts one by one: they come last, and
    check only those that are left."""
    masks = list(before)
    for one in asked:
        if one.is_costly:
            left = all_of(masks, len(hosts))
            mask = np.ones(len(hosts), np.bool_)
            mask[left] = one.mask(hosts.keep(left), request)
            masks.append(HostMask(one.name, mask))
    return masks


def all_of(masks: Iterable[HostMask], size: int) -> Bools:
    """bool[size]: which pass every one."""
    passing = np.ones(size, np.bool_)
    for one in masks:
        passing &= one.mask
    return passing


def steps_of(masks: Sequence[HostMask], size: int) -> Iterator[Step]:
    """The effect of each, in order, and its effect alone."""
    failures = np.zeros(size, np.int32)
    for one in masks:
        failures += ~one.mask
    only_one = failures == 1
    left = np.ones(size, np.bool_)
    before = size
    for one in masks:
        left &= one.mask
        after = int(np.count_nonzero(left))
        alone = int(np.count_nonzero(only_one & ~one.mask))
        yield Step(one.name, before, after, alone)
        before = after
