"""Require an enabled compute service that is up.

A service goes down when its heartbeats stop: ``lasts`` is when that happens next, or
when one that is ahead of our clock comes back.
"""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import ALWAYS, Cacheable, Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import NO_TIME, Bools


class ComputeFilter(Filter):
    """The host has reported its state; its service is neither disabled nor forced
    down, and was seen within ``service_down_time`` of now.

    A host without a known service counts as up and enabled, and so does a service
    without a heartbeat: library users may report neither. A host whose ``free_disk_gb``
    is null has no state yet, which Nova detects only when it claims; one that reports
    no disk fields has a state once it has reported VCPUs or memory.
    """

    cacheable = Cacheable(
        needs=("has_state", "is_disabled", "is_forced_down", "last_seen_up"),
        reads=(),
        elementwise=True,
    )
    once = True

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        seen = hosts.last_seen_up
        down_after = _down_after(request)
        # A service whose clock is ahead of ours by as much is down too.
        is_up = seen >= request.now - down_after
        is_up &= seen <= request.now + down_after
        is_up |= seen == NO_TIME
        is_up &= hosts.has_state
        is_up &= ~(hosts.is_disabled | hosts.is_forced_down)
        mask: Bools = is_up
        return mask

    def lasts(self, hosts: Hosts, request: Request) -> tuple[int, int]:
        """From when the last of those that are not ahead of us came, or the last that
        is down went; until the first goes, or the first that is ahead comes."""
        seen = hosts.last_seen_up
        seen = seen[seen != NO_TIME]
        down_after = _down_after(request)
        edges = np.concatenate((seen - down_after, seen + down_after + 1))
        first, last = ALWAYS
        before, after = edges[edges <= request.now], edges[edges > request.now]
        return (
            int(before.max()) if len(before) else first,
            int(after.min()) - 1 if len(after) else last,
        )


def _down_after(request: Request) -> int:
    """Microseconds without a heartbeat after which a service counts as down."""
    return int(request.options.service_down_time * 1_000_000)
