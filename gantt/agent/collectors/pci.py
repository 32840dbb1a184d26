"""pci_stats: devices that instances may be given, with their PFs and NUMA nodes.

Most devices of a machine are its own. Offered are virtual functions, devices that are
bound to a driver for passing them through, and those that the operator names.
"""

from __future__ import annotations

import re
from typing import Any, Final

from msgspec import Struct

from gantt.agent.files import Files
from gantt.errors import Invalid

DEVICES: Final = "/sys/bus/pci/devices"
PASSED_THROUGH: Final = frozenset({"vfio-pci", "pci-stub"})
PF, VF, PLAIN = "type-PF", "type-VF", "type-PCI"
_ADDRESS: Final = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_PRODUCT: Final = re.compile(r"([0-9a-f]{4}):([0-9a-f]{4}|\*)")


class Offer(Struct, frozen=True):
    """Devices that an operator offers: one by ``address``, or all of a vendor, or of
    one of its products."""

    address: str = ""
    vendor: str = ""
    product: str = ""

    def has(self, address: str, vendor: str, product: str) -> bool:
        if self.address:
            return address == self.address
        return vendor == self.vendor and self.product in ("*", product)


def offer_of(text: str) -> Offer:
    """``10de:1eb8``, ``10de:*`` or ``0000:3b:00.0``. Raises Invalid."""
    wanted = text.strip().lower()
    if _ADDRESS.fullmatch(wanted):
        return Offer(address=wanted)
    match = _PRODUCT.fullmatch(wanted)
    if match is None:
        raise Invalid(
            f"{text!r} names no PCI device: write VENDOR:PRODUCT (10de:1eb8), VENDOR:* "
            "or an address (0000:3b:00.0)."
        )
    return Offer(vendor=match[1], product=match[2])


class _Found(Struct, frozen=True):
    """``pool``: what devices of one pool have in common, sorted."""

    address: str
    pool: tuple[tuple[str, Any], ...]
    parent: str | None


class PciCollector(Struct, frozen=True):
    """``offers``: what is offered besides."""

    offers: tuple[Offer, ...] = ()

    @property
    def provides(self) -> frozenset[str]:
        return frozenset({"pci_stats"})

    def collect(self, files: Files) -> dict[str, Any]:
        """Pools of devices that are alike, each with its devices by address."""
        addresses = files.names(DEVICES)
        if not addresses and files.problems:
            return {}
        pools: dict[tuple[tuple[str, Any], ...], list[dict[str, str]]] = {}
        for address in addresses:
            found = self._offered(files, address)
            if found is not None:
                device = {"address": found.address}
                if found.parent:
                    device["parent"] = found.parent
                pools.setdefault(found.pool, []).append(device)
        return {
            "pci_stats": [
                {**dict(pool), "count": len(devices), "devices": devices}
                for pool, devices in pools.items()
            ]
        }

    def _offered(self, files: Files, address: str) -> _Found | None:
        folder = f"{DEVICES}/{address}"
        numbers = [files.number(f"{folder}/{name}") for name in ("vendor", "device")]
        if None in numbers:
            return None
        vendor, product = (f"{number or 0:04x}" for number in numbers)
        parent = files.target(f"{folder}/physfn")
        is_meant = any(one.has(address, vendor, product) for one in self.offers)
        driver = files.target(f"{folder}/driver")
        if parent is None and driver not in PASSED_THROUGH and not is_meant:
            return None
        pool: dict[str, Any] = {
            "vendor_id": vendor,
            "product_id": product,
            "dev_type": _kind(files, folder, parent),
        }
        node = files.number_if_there(f"{folder}/numa_node")
        if node is not None and node >= 0:
            pool["numa_node"] = node
        return _Found(address, tuple(sorted(pool.items())), parent)


def _kind(files: Files, folder: str, parent: str | None) -> str:
    if parent is not None:
        return VF
    return PF if files.number_if_there(f"{folder}/sriov_totalvfs") else PLAIN
