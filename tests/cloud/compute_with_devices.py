"""nova-compute whose fake host has four devices and four CPUs to dedicate.

A program of OpenStack's environment, which imports nothing of ours. Nova loads drivers
from its own package alone, so that this one is put there.
"""

from __future__ import annotations

import json
from typing import Any

from nova import objects
from nova.cmd import compute
from nova.virt import fake

SHARED = {0, 1, 2, 3}
DEDICATED = {4, 5, 6, 7}
SLOTS = range(1, 5)
CELL_MB = 8192
PAGE_KIB = 4


class DriverWithDevices(fake.FakeDriverWithoutFakeNodes):  # type: ignore[misc]
    """One cell, all of it; processors, memory and disk are those of the fake driver."""

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        found: dict[str, Any] = super().get_available_resource(nodename)
        found["numa_topology"] = objects.NUMATopology(cells=[_cell()])._to_json()
        found["pci_passthrough_devices"] = json.dumps([_device(n) for n in SLOTS])
        return found

    def update_provider_tree(
        self, provider_tree: Any, nodename: str, allocations: Any = None
    ) -> None:
        super().update_provider_tree(provider_tree, nodename, allocations)
        inventory = provider_tree.data(nodename).inventory
        count = len(DEDICATED)
        inventory["PCPU"] = {
            "total": count,
            "min_unit": 1,
            "max_unit": count,
            "step_size": 1,
            "allocation_ratio": 1.0,
            "reserved": 0,
        }
        provider_tree.update_inventory(nodename, inventory)


def _cell() -> Any:
    pages = CELL_MB * 1024 // PAGE_KIB
    return objects.NUMACell(
        id=0,
        cpuset=SHARED,
        pcpuset=DEDICATED,
        memory=CELL_MB,
        cpu_usage=0,
        memory_usage=0,
        pinned_cpus=set(),
        siblings=[{cpu} for cpu in sorted(SHARED | DEDICATED)],
        mempages=[objects.NUMAPagesTopology(size_kb=PAGE_KIB, total=pages, used=0)],
        network_metadata=objects.NetworkMetadata(physnets=set(), is_tunneled=False),
        socket=0,
    )


def _device(slot: int) -> dict[str, Any]:
    return {
        "address": f"0000:00:{slot:02x}.0",
        "vendor_id": "8086",
        "product_id": "1572",
        "dev_id": f"pci_0000_00_{slot:02x}_0",
        "dev_type": "type-PCI",
        "label": "label_8086_1572",
        "numa_node": 0,
        "parent_addr": None,
        "status": "available",
    }


if __name__ == "__main__":
    fake.DriverWithDevices = DriverWithDevices
    compute.main()
