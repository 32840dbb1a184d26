"""Cells and devices of the hosts of a run, and what instances ask of them.

Separate from the workload, which says when: few CPUs and devices, so that they are
fought over, and small enough for the laws to count them in the naive way.
"""

from __future__ import annotations

from typing import Any

from gantt.model.topology import DeviceRequest, InstanceCell, Wanted
from tests.scheduler.small_cells import NIC, cell

# This host starts instances as claims say.
_OBEYS = "h3"
_ADDRESSES = ("0000:81:00.1", "0000:81:00.2")


def topology_of(host: str, pinned: tuple[int, ...], nics: int) -> dict[str, Any]:
    """What the host reports of its cells and devices: ``pinned`` CPUs are used, and
    ``nics`` devices are free."""
    pool: dict[str, Any] = {**NIC, "numa_node": 0, "count": nics}
    if host == _OBEYS:
        pool["devices"] = [{"address": one} for one in _ADDRESSES[:nics]]
    return {
        "numa_topology": {"cells": [cell(0, pinned), cell(1, pinned)]},
        "pci_stats": [pool] if nics else [],
        "obeys_claims": host == _OBEYS,
    }


def wanted_of(cpus: int, nics: int) -> Wanted:
    """``cpus`` pinned ones in one cell, and devices anywhere."""
    mask = (1 << cpus) - 1
    cells = (InstanceCell(0, 0, mask, 64, policy="dedicated"),) if cpus else ()
    asked = (DeviceRequest("nic", nics, (NIC,)),) if nics else ()
    return Wanted(cells, devices=asked)
