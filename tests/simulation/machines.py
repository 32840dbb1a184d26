"""Cells and devices of the hosts of a run, and what instances ask of them.

Separate from the workload, which says when: few CPUs and devices, so that they are
fought over, and small enough for the laws to count them in the naive way.
"""

from __future__ import annotations

from typing import Any, Final

from gantt.model.topology import DeviceRequest, InstanceCell, Wanted

# Two cells of two CPUs; this host starts instances as claims say.
_OBEYS = "h3"
_CELLS = ((0, 1), (2, 3))
_NIC: Final[dict[str, Any]] = {
    "vendor_id": "8086",
    "product_id": "154c",
    "dev_type": "type-VF",
}
_ADDRESSES = ("0000:81:00.1", "0000:81:00.2")


def topology_of(host: str, pinned: tuple[int, ...], nics: int) -> dict[str, Any]:
    """What the host reports of its cells and devices: ``pinned`` CPUs are used, and
    ``nics`` devices are free."""
    cells = [
        {
            "id": number,
            "cpuset": [],
            "pcpuset": list(cpus),
            "pinned_cpus": [cpu for cpu in cpus if cpu in pinned],
            "memory": 1024,
            "siblings": [],
            "mempages": [],
        }
        for number, cpus in enumerate(_CELLS)
    ]
    pool: dict[str, Any] = {**_NIC, "numa_node": 0, "count": nics}
    if host == _OBEYS:
        pool["devices"] = [{"address": one} for one in _ADDRESSES[:nics]]
    return {
        "numa_topology": {"cells": cells},
        "pci_stats": [pool] if nics else [],
        "obeys_claims": host == _OBEYS,
    }


def wanted_of(cpus: int, nics: int) -> Wanted:
    """``cpus`` pinned ones in one cell, and devices anywhere."""
    mask = (1 << cpus) - 1
    cells = (InstanceCell(0, 0, mask, 64, policy="dedicated"),) if cpus else ()
    asked = (DeviceRequest("nic", nics, (_NIC,)),) if nics else ()
    return Wanted(cells, devices=asked)
