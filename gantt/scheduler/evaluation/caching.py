"""The driver ``caching``: the policy of ``filter``, with cached results of requests of
the same shape.

A shape is all that pre-filters, groups, elementwise filters and weighers read of a
request. For each of a bounded number of shapes the masks and raw scores are cached, and
only hosts that changed since are judged again: the cost of a decision depends on the
changes, not on the fleet. Plug-ins that are not elementwise are called for each
request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import msgspec
from msgspec.structs import replace

from gantt.errors import Invalid
from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.contract import Request
from gantt.scheduler.evaluation import feasible_hosts
from gantt.scheduler.evaluation.cached_shape import CachedShape
from gantt.scheduler.evaluation.choosers import GuardedChooser
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.evaluation import FilterDriver, evaluate
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.feasibility.candidates import CandidateSource, HostMask
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.plugins.policy import Policy, without
from gantt.scheduler.request.job import Job
from gantt.scheduler.scoring.scale import Scale, scale_of, total
from gantt.scheduler.stages import FILTER, OTHER, SCORE, Mark
from gantt.state.state import State

# What pre-filters, groups and named hosts read of a request.
_ALWAYS_READ = (
    "flavor",
    "image",
    "availability_zone",
    "ignore_hosts",
    "force_hosts",
    "force_nodes",
    "requested_destination",
    "is_bfv",
    "requested_resources",
    "request_level_params",
    "network_metadata",
    "numa_topology",
    "pci_requests",
)
# Fields that may differ between requests of one shape: uncached plug-ins read those of
# their own request. Pre-filters change none of them.
_OWN = tuple(name for name in RequestSpec.__struct_fields__ if name not in _ALWAYS_READ)


class CachingDriver(Driver):
    """Decides as ``filter`` does, from cached shapes; fewer of them for large
    fleets."""

    name: str = "caching"

    def __init__(
        self,
        policy: Policy,
        name: str | None = None,
        chooser: GuardedChooser | None = None,
    ) -> None:
        super().__init__(policy, name, chooser)
        self._shapes: OrderedDict[bytes, CachedShape] = OrderedDict()
        self._shape = _shape_reader(policy)

    @property
    def kept(self) -> int:
        return len(self._shapes)

    def feasible_hosts(
        self,
        state: State,
        spec: RequestSpec,
        source: CandidateSource,
        *,
        now: int,
        budget: Budget,
        is_trial: bool = False,
        mark: Mark | None = None,
    ) -> FeasibleHosts:
        if source.is_lasting and not is_trial:
            # Cached plug-ins also judge hosts that uncached ones exclude; whether their
            # refusal applies, and which comes first, needs a fresh evaluation.
            try:
                return self._cached(state, spec, source, now, budget, mark)
            except Invalid:
                pass
        return evaluate(state, spec, source, self.policy, now, budget, mark)

    def without(self, name: str) -> Driver | None:
        return FilterDriver(without(self.policy, name), self.name, self.chooser)

    def _cached(
        self,
        state: State,
        spec: RequestSpec,
        source: CandidateSource,
        now: int,
        budget: Budget,
        mark: Mark | None,
    ) -> FeasibleHosts:
        key = msgspec.msgpack.encode((source.name, self._shape(spec)))
        shape = self._shapes.get(key)
        if shape is None or not shape.refresh(state, now, budget, mark):
            self.misses += 1
            shape = CachedShape(state, spec, source, self.policy, now, budget, mark)
            self._shapes[key] = shape
            self._forget(len(shape.rows))
            job = shape.job
        else:
            self.hits += 1
            own = {name: getattr(spec, name) for name in _OWN}
            job = replace(shape.job, spec=replace(shape.job.spec, **own))
            # Hints are no part of a shape.
            feasible_hosts.check_hints(job, self.policy)
        self._shapes.move_to_end(key)
        if mark is not None:
            mark(OTHER)
        return self._feasible(shape, job, now, mark)

    def _forget(self, hosts: int) -> None:
        """Drop the least recently used first."""
        options = self.policy.options
        room = options.max_shape_hosts // max(1, hosts)
        most = max(2, min(options.max_shapes, room))
        while len(self._shapes) > most:
            self._shapes.popitem(last=False)

    def _feasible(
        self, shape: CachedShape, job: Job, now: int, mark: Mark | None
    ) -> FeasibleHosts:
        """The cached part, and the uncached plug-ins."""
        request = Request(job.spec, self.policy.options, now, shape.derived)
        masks, is_whole = self._masks(shape, job, request, mark)
        hosts, scales = shape.hosts, shape.scales
        if not is_whole:
            passing = feasible_hosts.all_of(masks, len(shape.rows))
            hosts = shape.every_host.keep(passing)
            if mark is not None:
                mark(SCORE if len(hosts) > 1 else OTHER)
            scales = shape.scales_at(passing[shape.passing])
        late = self._late(hosts, request, mark)
        if late:
            place = {one: n for n, one in enumerate(self.policy.weighers)}
            together = (*scales, *late)
            scales = tuple(sorted(together, key=lambda one: place[one.weigher]))
        is_cached = is_whole and not late
        feasible = FeasibleHosts(
            job,
            shape.candidates,
            shape.rows,
            masks,
            hosts,
            request,
            self.policy,
            scales,
            shape.weights if is_cached else total(scales, len(hosts)),
        )
        if is_cached:
            feasible.known_order = shape.best(self.policy.options)
        if is_whole:
            # The uncached filters removed no host.
            feasible.known_steps = shape.steps = shape.steps or feasible.steps
        return feasible

    def _masks(
        self, shape: CachedShape, job: Job, request: Request, mark: Mark | None
    ) -> tuple[tuple[HostMask, ...], bool]:
        """All of them in order; whether the uncached ones remove no host."""
        if not [one for one in shape.afresh if not one.is_neutral(request)]:
            return shape.whole, True
        if mark is not None:
            mark(FILTER)
        asked = feasible_hosts.filters_of(job, self.policy)
        masks = list(shape.first)
        is_whole = True
        for one in asked:
            if one.is_costly:
                continue
            mask = shape.masks.get(one)
            if mask is None and one.is_neutral(request):
                mask = HostMask(one.name, shape.all_pass)
            elif mask is None:
                mask = HostMask(one.name, one.mask(shape.every_host, request))
                is_whole &= bool(mask.mask.all())
            masks.append(mask)
        costly = feasible_hosts.costly_too(shape.every_host, request, asked, masks)
        is_whole &= all(bool(one.mask.all()) for one in costly[len(masks) :])
        return tuple(costly), is_whole

    def _late(self, hosts: Hosts, request: Request, mark: Mark | None) -> list[Scale]:
        asked = self.policy.uncached_weighers
        if not asked or len(hosts.rows) < 2:
            return []
        found = []
        for one in asked:
            scale = scale_of(one, hosts, request, mark)
            if scale is not None:
                found.append(scale)
        return found


def _shape_reader(policy: Policy) -> Callable[[RequestSpec], tuple[Any, ...]]:
    """The key of a request's shape under ``policy``."""
    read: dict[str, None] = dict.fromkeys(_ALWAYS_READ)
    for one in (*policy.filters, *policy.weighers):
        if one.cacheable is not None and one.cacheable.elementwise:
            reads = one.cacheable.reads
            read |= dict.fromkeys(path.partition(".")[0] for path in reads)
    if policy.options.limit_tenants_to_placement_aggregate:
        read["project_id"] = None
    fields_of = attrgetter(*read)
    is_routed = policy.options.query_placement_for_routed_network_aggregates

    def shape(spec: RequestSpec) -> tuple[Any, ...]:
        networks = _reach(spec) if is_routed else None
        check = spec.scheduler_hints.get("_nova_check_type")
        return (check, networks, *fields_of(spec))

    return shape


def _reach(spec: RequestSpec) -> list[tuple[list[str] | None, str]]:
    """What the pre-filter reads of networks. Ports are each request's own."""
    return [
        (None if one.segments is None else sorted(one.segments), one.trouble)
        for one in spec.requested_networks
    ]
