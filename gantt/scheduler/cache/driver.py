"""The driver ``caching``: the policy of ``filter``, from what is kept of requests of
the same shape.

A shape is all that pre-filters, groups, elementwise filters and weighers read of a
request. For each of a bounded number of shapes the masks and raw scores are kept, and
only hosts that changed since are judged again: a decision costs what changed, not what
there is. What is not elementwise is asked afresh.
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
from gantt.scheduler.cache.cached_shape import Kept
from gantt.scheduler.contract import Request
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.drivers.filter import FilterDriver
from gantt.scheduler.feasibility import feasible_hosts as fields
from gantt.scheduler.feasibility.feasible_hosts import Field, Sieve
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.policy import Policy, without
from gantt.scheduler.request.job import Job, prepare
from gantt.scheduler.scoring.scale import Scale, scale_of, total
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
    "requested_networks",
    "numa_topology",
    "pci_requests",
)
# What may differ between requests of one shape: what is asked afresh reads that of its
# own request. Pre-filters change none of it.
_OWN = tuple(name for name in RequestSpec.__struct_fields__ if name not in _ALWAYS_READ)


class CachingDriver(Driver):
    """Decides as ``filter`` does, from kept shapes; fewer of them for large fleets."""

    name: str = "caching"

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self._kept: OrderedDict[bytes, Kept] = OrderedDict()
        self._shape = _reader(policy)

    @property
    def kept(self) -> int:
        return len(self._kept)

    def field(
        self,
        state: State,
        spec: RequestSpec,
        *,
        now: int,
        by_books: bool,
        budget: Budget,
    ) -> tuple[Job, Field]:
        try:
            return self._kept_field(state, spec, now, by_books, budget)
        except Invalid:
            # What is kept also judges hosts that are left out afresh; whether such a
            # complaint holds, and which comes first, only a fresh field tells.
            return self.field_once(
                state, spec, now=now, by_books=by_books, budget=budget
            )

    def field_once(
        self,
        state: State,
        spec: RequestSpec,
        *,
        now: int,
        by_books: bool,
        budget: Budget,
    ) -> tuple[Job, Field]:
        job = prepare(state, spec, self.policy.options, by_books=by_books)
        return job, fields.fresh(state, job, self.policy, now, budget)

    def without(self, name: str) -> Driver | None:
        return FilterDriver(without(self.policy, name))

    def _kept_field(
        self, state: State, spec: RequestSpec, now: int, by_books: bool, budget: Budget
    ) -> tuple[Job, Field]:
        key = msgspec.msgpack.encode((by_books, self._shape(spec)))
        kept = self._kept.get(key)
        if kept is None or not kept.refresh(state, now, budget):
            self.misses += 1
            job = prepare(state, spec, self.policy.options, by_books=by_books)
            kept = self._kept[key] = Kept(state, job, self.policy, now, budget)
            self._forget(len(kept.rows))
        else:
            self.hits += 1
            own = {name: getattr(spec, name) for name in _OWN}
            job = replace(kept.job, spec=replace(kept.job.spec, **own))
            # Hints are no part of a shape.
            fields.check_hints(job, self.policy)
        self._kept.move_to_end(key)
        return job, self._field(kept, job, now)

    def _forget(self, hosts: int) -> None:
        """What was not asked for the longest goes first."""
        options = self.policy.options
        room = options.max_shape_hosts // max(1, hosts)
        most = max(2, min(options.max_shapes, room))
        while len(self._kept) > most:
            self._kept.popitem(last=False)

    def _field(self, kept: Kept, job: Job, now: int) -> Field:
        """What was kept, and what is asked afresh."""
        request = Request(job.spec, self.policy.options, now)
        sieves, is_whole = self._sieves(kept, job, request)
        hosts, scales = kept.hosts, kept.scales
        if not is_whole:
            passing = fields.all_of(sieves, len(kept.rows))
            hosts = kept.everybody.keep(passing)
            scales = kept.scales_at(passing[kept.passing])
        late = self._late(hosts, request)
        if late:
            place = {one: n for n, one in enumerate(self.policy.weighers)}
            together = (*scales, *late)
            scales = tuple(sorted(together, key=lambda one: place[one.weigher]))
        is_kept = is_whole and not late
        field = Field(
            kept.rows,
            sieves,
            hosts,
            request,
            self.policy,
            kept.surveys,
            scales,
            kept.weights if is_kept else total(scales, len(hosts)),
            fields.skips_filters(job.spec),
        )
        if is_kept:
            field.known_order = kept.best(self.policy.options)
        if is_whole:
            # What was asked afresh removed no host.
            field.known_steps = kept.steps = kept.steps or field.steps
        return field

    def _sieves(
        self, kept: Kept, job: Job, request: Request
    ) -> tuple[tuple[Sieve, ...], bool]:
        """All of them in order; whether those asked afresh remove no host."""
        if all(one.is_neutral(request) for one in kept.afresh):
            return kept.whole, True
        asked = fields.filters_of(job, self.policy)
        sieves = list(kept.first)
        is_whole = True
        for one in asked:
            if one.is_costly:
                continue
            sieve = kept.sieves.get(one)
            if sieve is None and one.is_neutral(request):
                sieve = Sieve(one.name, kept.everyone)
            elif sieve is None:
                sieve = Sieve(one.name, one.mask(kept.everybody, request))
                is_whole &= bool(sieve.mask.all())
            sieves.append(sieve)
        costly = fields.costly_too(kept.everybody, request, asked, sieves)
        is_whole &= all(bool(one.mask.all()) for one in costly[len(sieves) :])
        return tuple(costly), is_whole

    def _late(self, hosts: Hosts, request: Request) -> list[Scale]:
        if len(hosts) < 2:
            return []
        found = (
            scale_of(one, hosts, request)
            for one in self.policy.weighers
            if not one.is_elementwise
        )
        return [one for one in found if one is not None]


def _reader(policy: Policy) -> Callable[[RequestSpec], tuple[Any, ...]]:
    """What makes the shape of a request under ``policy``."""
    read: dict[str, None] = dict.fromkeys(_ALWAYS_READ)
    for one in (*policy.filters, *policy.weighers):
        if one.cacheable is not None and one.cacheable.elementwise:
            reads = one.cacheable.reads
            read |= dict.fromkeys(path.partition(".")[0] for path in reads)
    if policy.options.limit_tenants_to_placement_aggregate:
        read["project_id"] = None
    fields_of = attrgetter(*read)

    def shape(spec: RequestSpec) -> tuple[Any, ...]:
        return (spec.scheduler_hints.get("_nova_check_type"), *fields_of(spec))

    return shape
