"""Devices that hosts name: what a compute of Nova takes out of its pools with a PF or a
VF, and what ``take`` does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from nova import exception, objects
from nova.pci.stats import PciDeviceStats

from gantt.model.topology import (
    Device,
    DeviceRequest,
    Fit,
    HostTopology,
    Pool,
    Wanted,
)
from gantt.topology.fit import fit
from gantt.topology.host_remainder import take
from tests.nova.pair import EXAMPLES, SEED, Tell, tell
from tests.nova.upstream import CONF, uuid_of
from tests.nova.upstream_topology import device_requests

CASES = 4 * EXAMPLES


@pytest.fixture(autouse=True)
def _all_devices_may_be_given() -> Iterator[None]:
    CONF.set_override("device_spec", ['{"vendor_id": "8086"}'], "pci")
    yield
    CONF.clear_override("device_spec", "pci")


def _device(address: str, kind: str, parent: Any = None) -> Any:
    made = objects.PciDevice(
        compute_node_id=1,
        address=address,
        vendor_id="8086",
        product_id="10ed",
        dev_type=kind,
        status="available",
        numa_node=0,
        parent_addr=parent.address if parent else None,
        extra_info={},
        request_id=None,
        uuid=uuid_of(address),
    )
    if parent:
        made.parent_device = parent
        parent.child_devices.append(made)
    return made


def _cards(dice: Random) -> list[Any]:
    """NICs with a PF and up to three VFs, and plain devices."""
    found = []
    for slot in range(dice.randrange(1, 4)):
        pf = _device(f"0000:{slot:02x}:00.0", "type-PF")
        vfs = dice.randrange(4)
        found += [
            pf,
            *(_device(f"{pf.address[:-1]}{n + 1}", "type-VF", pf) for n in range(vfs)),
        ]
    found += [_device(f"0000:ff:00.{n}", "type-PCI") for n in range(dice.randrange(3))]
    return found


def _pool(pool: dict[str, Any]) -> Pool:
    """A pool of the compute, with its devices."""
    tags = {
        key: value
        for key, value in pool.items()
        if key not in ("count", "numa_node", "devices")
    }
    devices = tuple(Device(one.address, one.parent_addr) for one in pool["devices"])
    return Pool(pool["count"], pool["numa_node"], tags, None, devices)


def _request(dice: Random, number: int) -> DeviceRequest:
    kind = dice.choice(("type-PF", "type-VF", "type-PCI"))
    count = dice.choice((1, 1, 2))
    return DeviceRequest(f"r{number}", count, ({"dev_type": kind},), True)


def _is_consumed(stats: Any, asked: DeviceRequest) -> bool:
    try:
        stats.consume_requests(device_requests((asked,)))
    except exception.PciDeviceRequestFailed:
        return False
    return True


def test_devices_take_along_what_they_are_linked_to(record_property: Tell) -> None:
    agreed: Counter[str] = Counter()
    for number in range(CASES):
        dice = Random(SEED * 10_000_000 + number)
        stats = PciDeviceStats(objects.NUMATopology(cells=[]))
        for device in _cards(dice):
            stats.add_device(device)
        host = HostTopology(pools=tuple(map(_pool, stats.pools)))
        for each in range(dice.randrange(1, 5)):
            asked = _request(dice, each)
            ours = fit(host, Wanted(devices=(asked,)), {})
            assert isinstance(ours, Fit) == _is_consumed(stats, asked), (host, asked)
            if isinstance(ours, Fit):
                host = take(host, ours)
                agreed["requests served"] += 1
            assert _counts(host) == Counter(
                {one["address"] + one["dev_type"]: one["count"] for one in stats.pools}
            )
    assert agreed["requests served"] > CASES
    tell(record_property, agreed, Counter())


def _counts(host: HostTopology) -> Counter[str]:
    return Counter(
        {
            f"{one.tags['address']}{one.tags['dev_type']}": one.count
            for one in host.pools or ()
        }
    )
