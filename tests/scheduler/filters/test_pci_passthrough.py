"""PciPassthroughFilter keeps hosts that may have the devices, at any cell."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.errors import Invalid
from gantt.model.spec import Flavor, RequestSpec
from gantt.scheduler.feasibility.filters.pci_passthrough import PciPassthroughFilter
from tests.scheduler.filters.reading import passes, with_extra_specs
from tests.scheduler.fleets import a_host

NIC: dict[str, Any] = {"vendor_id": "8086", "product_id": "154c", "dev_type": "type-VF"}


def asking(count: int, **wish: str) -> RequestSpec:
    return RequestSpec(pci_requests=({"count": count, "spec": [wish]},))


def test_request_without_devices_passes() -> None:
    assert passes(PciPassthroughFilter(), a_host())
    assert passes(PciPassthroughFilter(), a_host(), with_extra_specs(hw__x="1"))


@pytest.mark.parametrize(
    ("count", "wish", "expected"),
    [
        (3, {"vendor_id": "8086"}, True),
        (4, {"vendor_id": "8086"}, False),
        (1, {"vendor_id": "10de"}, False),
        (2, {"product_id": "154c"}, True),
    ],
)
def test_free_devices_are_counted(
    count: int, wish: dict[str, str], expected: bool
) -> None:
    pools = [{**NIC, "count": 1, "numa_node": 0}, {**NIC, "count": 2, "numa_node": 1}]
    spec = asking(count, **wish)
    assert passes(PciPassthroughFilter(), a_host(pci_stats=pools), spec) is expected
    assert not passes(PciPassthroughFilter(), a_host(), spec)


def test_cells_are_not_looked_at() -> None:
    flavor = Flavor(vcpus=2, memory_mb=64, extra_specs={"hw:numa_nodes": "2"})
    assert passes(PciPassthroughFilter(), a_host(), RequestSpec(flavor))


def test_unknown_alias_is_refused() -> None:
    with pytest.raises(Invalid, match="no alias 'gpu'"):
        passes(
            PciPassthroughFilter(),
            a_host(),
            with_extra_specs(pci_passthrough__alias="gpu:1"),
        )
