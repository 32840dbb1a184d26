"""Hosts that hold what a request names: an image, model weights, a snapshot.

Not a weigher that is kept with the shape of a request: then every image would be a
shape of its own. It is asked only for requests that name something.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from gantt.errors import Invalid
from gantt.model.artifacts import HELP, MOST_ARTIFACTS, NEED
from gantt.model.spec import RequestSpec
from gantt.placement.artifact_queries import (
    check_known,
    check_registered,
    held,
    size_of,
)
from gantt.scheduler.contract import Request, Weigher
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts, skips_filters
from gantt.scheduler.feasibility import overrides
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.state.column import Floats
from gantt.state.fleet_columns import Fleet

HOLDING: Final = "artifact "
"""How the mask of one begins."""


class LocalityWeigher(Weigher):
    """The score is how many bytes need not be copied to the host. What is only on its
    way there counts as if it were there, or, where those that need it are spread while
    it is cold, against the host. ``sizes``: artifact -> bytes."""

    option = "locality_weight_multiplier"

    def __init__(self, fleet: Fleet, sizes: Mapping[str, int], *, packs: bool) -> None:
        self._sign = 1.0 if packs else -1.0
        self.maxval = float(sum(sizes.values()))
        self.minval = 0.0 if packs else -self.maxval
        self._scores = np.zeros(fleet.hosts.height)
        self._missing = np.zeros(fleet.hosts.height)
        for artifact, size in sizes.items():
            there, is_coming = held(fleet, artifact)
            self._scores[there >= 0] += size
            self._scores[is_coming] += self._sign * size
            self._missing[(there < 0) & ~is_coming] += size

    def multiplier(self, hosts: Hosts, options: SchedulerOptions) -> float | Floats:
        configured = options.multiplier(self.option)
        found = overrides.numbers(hosts, self.option, configured)
        # The scale is twice as long where some bytes count against a host.
        return found if self._sign > 0 else 2 * found

    def score(self, hosts: Hosts, request: Request) -> Floats:  # noqa: ARG002
        found = self._scores[hosts.rows]
        picked = list(hosts.added)
        found[picked] += self._sign * self._missing[hosts.rows[picked]]
        return found


def artifacts_of(spec: RequestSpec, options: SchedulerOptions) -> tuple[str, ...]:
    """What a request names: its instances bring that to their hosts."""
    named = _hinted(spec, NEED) + _hinted(spec, HELP)
    image = spec.image
    if options.image_locality and image is not None and image.id and not spec.is_bfv:
        named = (*named, image.id)
    return tuple(dict.fromkeys(named))


def _hinted(spec: RequestSpec, hint: str) -> tuple[str, ...]:
    return spec.scheduler_hints.get(hint, ())


def near_artifacts(fleet: Fleet, feasible: FeasibleHosts) -> FeasibleHosts:
    """``feasible`` with a weigher more, for the artifacts that the request names, and
    without the hosts that lack what it requires. Raises Invalid: one is not known, or
    is required and not registered."""
    spec, options = feasible.job.spec, feasible.policy.options
    named = artifacts_of(spec, options)
    if not named or spec.is_rebuild or skips_filters(spec):
        return feasible
    if len(named) > MOST_ARTIFACTS:
        raise Invalid(
            f"The request names {len(named)} artifacts; the limit is {MOST_ARTIFACTS}. "
            "Name those that are the largest."
        )
    check_registered(fleet, _hinted(spec, NEED), f"The scheduler hint {NEED}")
    check_known(fleet, _hinted(spec, HELP), f"The scheduler hint {HELP}")
    for artifact in _hinted(spec, NEED):
        there, _ = held(fleet, artifact)
        order = feasible.best(len(feasible.hosts))
        is_there = there[feasible.hosts.rows[order]] >= 0
        if not is_there.all():
            feasible = feasible.only(order[is_there], f"{HOLDING}{artifact}")
    sizes = {one: size_of(fleet, one) or 1 for one in named}
    packs = options.cold_artifacts == "pack"
    return feasible.weighed(LocalityWeigher(fleet, sizes, packs=packs))
