"""Hosts whose compute service works.

Asked afresh for each decision, since a service goes down by saying nothing; so it is
written to cost a few passes over whole columns and one gather.
"""

from __future__ import annotations

from gantt.scheduler.contract import Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import NO_TIME, Bools


class ComputeFilter(Filter):
    """The host has reported its state; its service is neither disabled nor forced
    down, and was seen within ``service_down_time`` of now.

    A host of which no service is known counts as up and enabled, and so does a service
    that never said when it was seen: library users may report neither. A host whose
    ``free_disk_gb`` is null has no state yet, which Nova finds out only when it claims;
    one that never speaks of disks has one once it told its vcpus or memory.
    """

    needs = ("has_state", "is_disabled", "is_forced_down", "last_seen_up")
    once = True
    elementwise = False

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        table, height = hosts.fleet.hosts, hosts.fleet.hosts.height
        down_after = int(request.options.service_down_time * 1_000_000)
        seen = table.last_seen_up[:height]
        # The clock of the service may also be ahead of ours: that is as bad.
        is_up = seen >= request.now - down_after
        is_up &= seen <= request.now + down_after
        is_up |= seen == NO_TIME
        is_up &= table.has_state[:height]
        is_up &= ~(table.is_disabled[:height] | table.is_forced_down[:height])
        mask: Bools = is_up if hosts.is_every_row else is_up[hosts.rows]
        return mask
