"""What a claim names of a host, as its caller is told."""

from __future__ import annotations

from gantt.model.cpu_sets import numbers_of
from gantt.model.selection import CellPlace, DevicePlace, Place
from gantt.model.topology import Fit, FittedCell, TakenDevices


def place_of(fit: Fit) -> Place:
    """Cells, CPUs, pages and devices of ``fit``."""
    return Place(tuple(map(_cell, fit.cells)), tuple(map(_devices, fit.devices)))


def _cell(one: FittedCell) -> CellPlace:
    return CellPlace(
        one.cell.id,
        one.host_cell,
        one.cell.memory,
        one.page_kib,
        one.pinning,
        tuple(numbers_of(one.cell.cpus)),
        tuple(numbers_of(one.emulator)),
    )


def _devices(one: TakenDevices) -> DevicePlace:
    return DevicePlace(
        one.request_id,
        one.count,
        one.numa_node,
        one.tags,
        tuple(device.address for device in one.devices),
        one.rp_uuid,
    )
