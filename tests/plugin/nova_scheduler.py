"""What nova-scheduler does with nova.conf, for one request: loads its filters and
weighers, filters and weighs, logs. No databases, no RPC.

A program of its own, so that it runs in an environment that has Nova and no Gantt. For
each line on stdin, its arguments, a forked child prints the names of the hosts that are
left, the best first: Nova is imported once.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from unittest import mock

from clouds import hosts, spec  # type: ignore[import-not-found]
from nova import config, objects
from nova.objects.base import NovaObject
from nova.scheduler import filters, host_manager, weights
from oslo_log import log as logging

# Nova likes the first best.
FREE_RAM_MB = {"node1": 3000, "node2": 2000, "node3": 1000}
DATABASES = ("refresh_cells_caches", "_init_aggregates", "_init_instance_info")


def host_states() -> list[Any]:
    """Hosts that are up."""
    states: list[Any] = hosts(list(FREE_RAM_MB))
    now = datetime.now(UTC)
    for state in states:
        state.free_ram_mb = FREE_RAM_MB[state.host]
        state.cpu_allocation_ratio = 1.0
        state.hypervisor_version = 8_002_000
        state.metrics = objects.MonitorMetricList()
        state.service = {
            "host": state.host,
            "disabled": False,
            "forced_down": False,
            "last_seen_up": now,
            "updated_at": now,
            "created_at": now,
        }
    return states


def request() -> NovaObject:
    """One whose every field is set, as Nova's are."""
    wanted = spec(image=objects.ImageMeta(properties=objects.ImageMetaProps()))
    for name in wanted.fields:
        if name not in wanted:
            wanted._changed_fields.discard(name)
            setattr(wanted, f"_obj_{name}", None)
    return wanted


def schedule(arguments: Sequence[str]) -> list[str]:
    """The names of the hosts for one request, the best first."""
    config.parse_args(["nova-scheduler", *arguments])
    logging.setup(config.CONF, "nova")
    without = dict.fromkeys(DATABASES, mock.DEFAULT)
    with mock.patch.multiple(host_manager.HostManager, **without):
        manager = host_manager.HostManager()
    if "gantt_nova_plugin" in sys.modules:
        # Five minutes are over.
        journal = importlib.import_module("gantt_nova_plugin.journal")
        journal.COUNTERS_EVERY_S = 0.0  # type: ignore[attr-defined]
    wanted = request()
    left = manager.get_filtered_hosts(host_states(), wanted)
    return [one.obj.host for one in manager.get_weighed_hosts(left, wanted)]


def main() -> None:
    """A child for each line; what all of them load is loaded before."""
    filters.all_filters()
    weights.all_weighers()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            importlib.invalidate_caches()
            print(*schedule(line.split()), flush=True)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            print("failed", flush=True)


if __name__ == "__main__":
    main()
