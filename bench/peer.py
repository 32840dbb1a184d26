"""Nova's own filters and weighers on prepared host states, for comparison.

Only what Nova does per request once it has everything in memory: its default filters,
then its weighers. What it reads from databases and Placement comes on top.
"""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from statistics import median

import nova.conf
from nova import objects
from nova.scheduler import filters, host_manager, weights

from gantt.model.forms.primitive import spec_primitive
from gantt.model.spec import RequestSpec
from gantt.scheduler.options import DEFAULT_FILTERS

ROUNDS = 3


def seconds_per_request(count: int, spec: RequestSpec) -> float:
    """The median of a few requests over ``count`` hosts, the first one not counted."""
    logging.getLogger("nova").setLevel(logging.CRITICAL)
    objects.register_all()
    nova.conf.CONF([], project="nova", default_config_files=[])
    handler, weighing = filters.HostFilterHandler(), weights.HostWeightHandler()
    known = {one.__name__: one for one in filters.all_filters()}
    enabled = [known[name]() for name in DEFAULT_FILTERS]
    paths = ["nova.scheduler.weights.all_weighers"]
    weighers = [one() for one in weighing.get_matching_classes(paths)]
    states = [_state(number) for number in range(count)]
    asked = objects.RequestSpec.obj_from_primitive(spec_primitive(spec))
    taken = []
    for _ in range(1 + ROUNDS):
        began = time.perf_counter()
        passing = handler.get_filtered_objects(enabled, states, asked)
        weighed = weighing.get_weighed_objects(weighers, passing, asked)
        taken.append(time.perf_counter() - began)
        if len(weighed) != count:
            raise RuntimeError(f"{len(weighed)} of {count} hosts passed")
    return median(taken[1:])


def _state(number: int) -> host_manager.HostState:
    """As ``hosts.stats`` describes host ``number``."""
    now = datetime.now(UTC)
    state = host_manager.HostState(f"host{number}", f"host{number}", "cell")
    state.uuid = f"00000000-0000-4000-8000-{number:012x}"
    state.vcpus_total, state.vcpus_used = 64, 0
    state.total_usable_ram_mb = state.free_ram_mb = 262_144 + number % 97 * 512
    state.total_usable_disk_gb = 4000
    state.free_disk_mb = 1024 * (4000 - number % 13)
    state.hypervisor_type, state.hypervisor_version = "QEMU", 8_002_000
    state.hypervisor_hostname = state.host
    state.cpu_info, state.supported_instances = "{}", [["x86_64", "kvm", "hvm"]]
    state.stats = {"num_instances": "0", "io_workload": "0", "failed_builds": "0"}
    state.metrics = objects.MonitorMetricList(objects=[])
    state.cpu_allocation_ratio = 4.0
    state.ram_allocation_ratio = state.disk_allocation_ratio = 1.0
    state.service = host_manager.ReadOnlyDict(
        {"disabled": False, "forced_down": False, "last_seen_up": now, "host": "h"}
    )
    return state
