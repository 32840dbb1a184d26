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
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combine import Budget
from gantt.scheduler import field as fields
from gantt.scheduler.contract import Request
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.drivers.kept import Kept
from gantt.scheduler.field import Field, Sieve, scale_of
from gantt.scheduler.job import Job, prepare
from gantt.scheduler.policy import Policy
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
# What is different for each request and read by what is asked afresh alone.
_OWN = (
    "num_instances",
    "project_id",
    "user_id",
    "instance_uuid",
    "retry_hosts",
    "instance_group",
    "scheduler_hints",
)
_MOST_SHAPES = 64
_MOST_CELLS = 4_000_000


class CachingDriver(Driver):
    """Decides as ``filter`` does. Keeps up to 64 shapes, fewer for large fleets."""

    name: ClassVar[str] = "caching"

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self._kept: OrderedDict[bytes, Kept] = OrderedDict()
        self._shape = _reader(policy)
        self.hits = 0
        self.misses = 0

    def field(
        self,
        state: State,
        spec: RequestSpec,
        *,
        now: int,
        by_books: bool,
        budget: Budget,
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
        self._kept.move_to_end(key)
        return job, self._field(kept, job, now)

    def _forget(self, hosts: int) -> None:
        """What was not asked for the longest goes first."""
        most = max(2, min(_MOST_SHAPES, _MOST_CELLS // max(1, hosts)))
        while len(self._kept) > most:
            self._kept.popitem(last=False)

    def _field(self, kept: Kept, job: Job, now: int) -> Field:
        """What was kept, and what is asked afresh."""
        request = Request(job.spec, self.policy.options, now)
        asked = fields.filters_of(job, self.policy)
        sieves = {sieve.name: sieve for sieve in kept.sieves}
        everybody = kept.everybody
        for one in asked:
            if not (one.elementwise or one.is_costly):
                sieves[one.name] = Sieve(one.name, one.mask(everybody, request))
        order = (*kept.first, *(one.name for one in asked if not one.is_costly))
        found = fields.costly_too(
            everybody, request, asked, [sieves[name] for name in order]
        )
        passing = fields.all_of(found[len(kept.first) :], len(everybody))
        passing &= kept.passing
        is_whole = bool((passing == kept.passing).all())
        hosts = kept.hosts if is_whole else everybody.keep(passing)
        scales = kept.scales
        if not is_whole:
            scales = kept.scales_at(passing[kept.passing])
        late = [
            scale
            for one in self.policy.weighers
            if not one.elementwise
            and (scale := scale_of(one, hosts, request)) is not None
        ]
        if late and len(hosts) > 1:
            place = {one: n for n, one in enumerate(self.policy.weighers)}
            scales = tuple(
                sorted((*scales, *late), key=lambda scale: place[scale.weigher])
            )
        is_kept = is_whole and not late
        return Field(
            kept.rows,
            tuple(found),
            hosts,
            request,
            self.policy,
            kept.surveys,
            scales,
            kept.weights if is_kept else fields.total(scales, len(hosts)),
            fields.skips_filters(job),
        )


def _reader(policy: Policy) -> Callable[[RequestSpec], tuple[Any, ...]]:
    """What makes the shape of a request under ``policy``."""
    read: dict[str, None] = dict.fromkeys(_ALWAYS_READ)
    readers = [one.reads for one in policy.filters if one.elementwise]
    readers += [one.reads for one in policy.weighers if one.elementwise]
    for paths in readers:
        read |= dict.fromkeys(path.partition(".")[0] for path in paths)
    if policy.options.limit_tenants_to_placement_aggregate:
        read["project_id"] = None
    fields_of = attrgetter(*read)

    def shape(spec: RequestSpec) -> tuple[Any, ...]:
        return (spec.scheduler_hints.get("_nova_check_type"), *fields_of(spec))

    return shape
