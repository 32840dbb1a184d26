"""Our own filters and weighers pass the kit for those of others."""

from __future__ import annotations

import pytest

from gantt.model.spec import Destination, Flavor, Image, RequestSpec
from gantt.scheduler.contract import Filter, Weigher
from gantt.scheduler.feasibility import filters
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.registry import built_in
from gantt.scheduler.scoring import weighers
from gantt.testing import Values, check_filter, check_weigher
from tests.scheduler.small_cells import cell_of

FILTERS = built_in(filters, Filter)
WEIGHERS = built_in(weighers, Weigher)
# Filters that refuse no host of these worlds: they never do, or are told elsewhere.
NEVER = {"AllHostsFilter"}
CELL = cell_of(0, (0, 1), memory=512)
FULL = {**CELL, "pinned_cpus": [0, 1]}
PINNED = {
    "id": 0,
    "cpuset": [],
    "pcpuset": [0],
    "memory": 64,
    "cpu_policy": "dedicated",
}
VALUES = Values(
    reports={
        "numa_topology": (None, {"cells": [CELL]}, {"cells": [FULL]}),
        "pci_stats": (None, [{"count": 1, "vendor_id": "8086", "product_id": "1"}]),
    },
    metadata={
        "filter_tenant_id": ("p1", "p2"),
        "instance_type": ("small", "large"),
        "ssd": ("true", "false"),
        "os_distro": ("debian", "alpine"),
        "max_io_ops_per_host": ("0", "4"),
        "max_instances_per_host": ("0", "2"),
        "ram_weight_multiplier": ("2.0", "-1.0"),
        "cpu_allocation_ratio": ("1.0", "4.0"),
        "ram_allocation_ratio": ("1.0", "x"),
        "disk_allocation_ratio": ("0.5", "2.0"),
    },
    hints={
        "different_host": ("instance-1", "instance-5"),
        "same_host": ("instance-2", "instance-6"),
        "query": ('["<", "$free_ram_mb", 4096]',),
        "build_near_host_ip": ("10.0.0.1",),
        "cidr": ("/24",),
    },
    extra_specs={
        "aggregate_instance_extra_specs:ssd": ("true", "<or> true <or> false"),
        "capabilities:cpu_info:arch": ("x86_64",),
        "hw:cpu_policy": ("dedicated",),
    },
    image_properties={
        "hw_architecture": ("x86_64", "aarch64"),
        "img_hv_type": ("kvm",),
        "os_distro": ("debian",),
    },
    requests=(
        RequestSpec(flavor=Flavor(vcpus=4, memory_mb=2048, root_gb=20)),
        RequestSpec(image=Image("isolated", "qcow2")),
        RequestSpec(requested_destination=Destination(host="h1")),
        RequestSpec(availability_zone="az1"),
        RequestSpec(scheduler_hints={"group": ("group",)}),
        RequestSpec(numa_topology={"cells": [PINNED]}),
        RequestSpec(pci_requests=({"count": 1, "spec": [{"vendor_id": "8086"}]},)),
    ),
    options=SchedulerOptions(
        use_placement="never",
        isolated_hosts=("h0", "h1"),
        isolated_images=("isolated",),
        metrics_weight_setting={"cpu.percent": 1.0},
        metrics_required=False,
        image_props_weight_setting={"os_distro": 2.0},
        aggregate_image_properties_isolation_namespace="os",
        aggregate_image_properties_isolation_separator="_",
    ),
)
SEEDS = range(6)


@pytest.mark.parametrize("name", FILTERS)
def test_our_filters(name: str) -> None:
    tried = check_filter(FILTERS[name], values=VALUES, seeds=SEEDS, limit_s=60.0)
    assert tried.worlds == len(SEEDS)
    assert bool(tried.refused) != (name in NEVER), "nothing was tried"


@pytest.mark.parametrize("name", WEIGHERS)
def test_our_weighers(name: str) -> None:
    check_weigher(WEIGHERS[name], values=VALUES, seeds=SEEDS, limit_s=60.0)
