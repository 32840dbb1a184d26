"""How many more instances relations allow of those that hosts have room for."""

from __future__ import annotations

import numpy as np

from gantt.placement.domain_rules import DomainCounts
from gantt.scheduler.relations.domain_picks import DomainPicks
from gantt.scheduler.relations.spread import ceiling
from gantt.state.column import Int64s


def allowed(domains: DomainPicks, rows: Int64s, counts: Int64s) -> Int64s:
    """int64[n]: ``counts`` of the hosts at ``rows``, less what their domains may not
    have, the later hosts of a domain first. Exact for one relation; for several a
    number that keeps all of them, and there may be a greater one."""
    found = counts
    while True:
        before = found
        for one in domains.hard:
            found = _cut(one, rows, found)
        if len(domains.hard) < 2 or np.array_equal(before, found):
            return found


def _cut(one: DomainCounts, rows: Int64s, counts: Int64s) -> Int64s:
    codes = one.domains.codes[rows]
    room = np.bincount(codes, counts, len(one.counts)).astype(np.int64)
    room[0] = 0
    most = ceiling(one.relation, one.counts, room, one.eligible)
    order = np.argsort(codes, kind="stable")
    sums = np.cumsum(counts[order])
    starts = np.searchsorted(codes[order], codes[order])
    before = sums - counts[order] - (sums - counts[order])[starts]
    found = np.zeros_like(counts)
    left = np.maximum(most[codes[order]] - before, 0)
    found[order] = np.minimum(counts[order], left)
    return found
