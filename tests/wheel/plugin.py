"""A filter and a weigher as another project would write them, fully typed.

Copied out of the repository, it is checked by mypy --strict against the installed
wheel, and then run.
"""

from __future__ import annotations

from uuid import uuid4

import numpy as np

import gantt
from gantt.scheduler.contract import Cacheable, Filter, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.state.column import Bools, Floats
from gantt.testing import check_filter, check_weigher


class QuietFilter(Filter):
    """Hosts with fewer instances than the request asks for at once leaves room for."""

    cacheable = Cacheable(
        needs=("num_instances",), reads=("num_instances",), elementwise=True
    )

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        room = request.options.max_instances_per_host - request.spec.num_instances
        mask: Bools = hosts.num_instances <= room
        return mask


class SmallestWeigher(Weigher):
    """The host with the least free memory first."""

    def score(self, hosts: Hosts, request: Request) -> Floats:
        score: Floats = -np.asarray(hosts.free_ram_mb, np.float64)
        return score


def check() -> None:
    """Both hold what is asked of plug-ins."""
    assert check_filter(QuietFilter).refused
    check_weigher(SmallestWeigher)


def main() -> None:
    """Decide once with both."""
    policy = SchedulerOptions(
        available_filters=("plugin.QuietFilter",),
        enabled_filters=("ComputeFilter", "QuietFilter"),
        weight_classes=("plugin.SmallestWeigher",),
    )
    books = gantt.connect("memory://", options=gantt.EngineOptions(scheduler=policy))
    client = gantt.SchedulerClient(books)
    for name, memory_mb in (("large", 65536), ("small", 8192), ("middle", 16384)):
        stats = {"vcpus": 8, "memory_mb": memory_mb, "local_gb": 100}
        client.update_resource_stats(None, name, stats)
    spec = gantt.RequestSpec(flavor=gantt.Flavor(vcpus=1, memory_mb=4096))
    ((chosen, *_),) = client.select_destinations(
        None, spec, instance_uuids=[str(uuid4())]
    )
    print(chosen.service_host)


if __name__ == "__main__":
    main()
