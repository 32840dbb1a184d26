"""Evaluations that are kept, one for each shape of request.

A shape is all that pre-filters, groups, elementwise filters and weighers read of a
request. For each of a bounded number of shapes the masks and raw scores are kept, and
only hosts that changed since are judged again: the cost of a decision depends on the
changes, not on the fleet.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import msgspec
from msgspec.structs import replace

from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combination import Budget
from gantt.scheduler.evaluation.evaluation import Evaluation, feasible
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts, check_hints
from gantt.scheduler.feasibility.candidate_sources import CandidateSource
from gantt.scheduler.plugins.policy import Policy
from gantt.scheduler.stages import OTHER, Mark
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
    "labels",
)
# Fields that may differ between requests of one shape: uncached plug-ins read those of
# their own request. Pre-filters change none of them.
_OWN = tuple(name for name in RequestSpec.__struct_fields__ if name not in _ALWAYS_READ)


class Shapes:
    """The most recently used, fewer of them for large fleets. ``hits``, ``misses``: of
    requests."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._kept: OrderedDict[bytes, Evaluation] = OrderedDict()
        self._shape = _shape_reader(policy)
        self.hits = self.misses = 0

    def __len__(self) -> int:
        return len(self._kept)

    def feasible_hosts(
        self,
        state: State,
        spec: RequestSpec,
        source: CandidateSource,
        now: int,
        budget: Budget,
        mark: Mark | None,
    ) -> FeasibleHosts:
        """By the evaluation that is kept, brought up to date, or a new one. Raises
        Invalid, NoValidHost, UnknownName."""
        key = msgspec.msgpack.encode((source.name, self._shape(spec)))
        kept = self._kept.get(key)
        if kept is None or not kept.refresh(state, now, budget, mark):
            self.misses += 1
            kept = Evaluation(state, spec, source, self._policy, now, budget, mark)
            self._kept[key] = kept
            self._forget(len(kept.rows))
            job = kept.job
        else:
            self.hits += 1
            own = {name: getattr(spec, name) for name in _OWN}
            job = replace(kept.job, spec=replace(kept.job.spec, **own))
            # Hints are no part of a shape.
            check_hints(job, self._policy)
        self._kept.move_to_end(key)
        if mark is not None:
            mark(OTHER)
        return feasible(kept, self._policy, job, now, mark)

    def _forget(self, hosts: int) -> None:
        """Drop the least recently used first."""
        options = self._policy.options
        room = options.max_shape_hosts // max(1, hosts)
        most = max(2, min(options.max_shapes, room))
        while len(self._kept) > most:
            self._kept.popitem(last=False)


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
