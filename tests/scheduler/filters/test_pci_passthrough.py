"""PciPassthroughFilter refuses what it cannot fit yet, and lets the rest through."""

from __future__ import annotations

import pytest

from gantt.errors import Invalid
from gantt.model.spec import RequestSpec
from gantt.scheduler.feasibility.filters.pci_passthrough import PciPassthroughFilter
from tests.scheduler.filters.reading import passes, with_extra_specs
from tests.scheduler.fleets import a_host


def test_request_without_devices_passes() -> None:
    assert passes(PciPassthroughFilter(), a_host())
    assert passes(PciPassthroughFilter(), a_host(), with_extra_specs(hw__x="1"))


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        (RequestSpec(pci_requests=({"count": 1}, {"count": 2})), "2 device"),
        (with_extra_specs(pci_passthrough__alias="gpu:1"), "alias=gpu:1"),
    ],
)
def test_unsupported_request_is_refused_by_name(spec: RequestSpec, named: str) -> None:
    with pytest.raises(Invalid, match="PciPassthroughFilter out of") as refused:
        passes(PciPassthroughFilter(), a_host(), spec)
    assert named in refused.value.message
