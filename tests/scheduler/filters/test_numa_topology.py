"""NUMATopologyFilter keeps hosts whose cells may carry the instance."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.errors import Invalid
from gantt.model.spec import Flavor, Image, RequestSpec
from gantt.scheduler.feasibility.filters.numa_topology import NUMATopologyFilter
from tests.scheduler.filters.reading import passes
from tests.scheduler.fleets import a_host
from tests.scheduler.small_cells import cell_of


def _spec(
    extra_specs: dict[str, str], properties: dict[str, Any] | None = None
) -> RequestSpec:
    flavor = Flavor(vcpus=4, memory_mb=1024, extra_specs=extra_specs)
    return RequestSpec(flavor=flavor, image=Image(properties=properties or {}))


def _host(*free: int) -> Any:
    """Cells of four CPUs, of which so many are free."""
    cells = [
        cell_of(
            number,
            range(100 * number, 100 * number + 4),
            range(100 * number, 100 * number + 4 - count),
            cpuset=list(range(100 * number + 50, 100 * number + 54)),
            memory=2048,
        )
        for number, count in enumerate(free)
    ]
    return a_host(numa_topology={"cells": cells})


@pytest.mark.parametrize(
    ("extra_specs", "properties"),
    [
        ({}, {}),
        ({"hw:cpu_policy": "shared"}, {"hw_cpu_policy": "shared"}),
        ({"hw:cpu_sockets": "2"}, {"hw_cpu_cores": 2}),
    ],
)
def test_request_without_topology_passes(
    extra_specs: dict[str, str], properties: dict[str, Any]
) -> None:
    assert passes(NUMATopologyFilter(), a_host(), _spec(extra_specs, properties))
    assert passes(NUMATopologyFilter(), a_host())


@pytest.mark.parametrize(
    ("free", "extra_specs", "expected"),
    [
        ((4, 0), {"hw:cpu_policy": "dedicated"}, True),
        ((3, 3), {"hw:cpu_policy": "dedicated"}, False),
        ((3, 3), {"hw:cpu_policy": "dedicated", "hw:numa_nodes": "2"}, True),
        ((4, 1), {"hw:cpu_policy": "dedicated", "hw:numa_nodes": "2"}, False),
        ((0, 0), {"hw:numa_nodes": "2"}, True),
        ((0,), {"hw:numa_nodes": "2"}, False),
        ((4,), {"hw:mem_page_size": "2MB"}, False),
    ],
)
def test_cells_are_counted(
    free: tuple[int, ...], extra_specs: dict[str, str], expected: bool
) -> None:
    spec = _spec(extra_specs)
    assert passes(NUMATopologyFilter(), _host(*free), spec) is expected
    assert not passes(NUMATopologyFilter(), a_host(), spec)


def test_a_given_topology_wins() -> None:
    cell = {"id": 0, "cpuset": [], "pcpuset": [0], "memory": 64}
    given = {"cells": [{**cell, "cpu_policy": "dedicated"}]}
    spec = _spec({"hw:cpu_policy": "dedicated"})
    spec = RequestSpec(flavor=spec.flavor, numa_topology=given)
    assert passes(NUMATopologyFilter(), _host(1), spec)


def test_contradictions_are_refused_by_key() -> None:
    with pytest.raises(Invalid, match="hw:numa_nodes"):
        passes(NUMATopologyFilter(), a_host(), _spec({"hw:numa_nodes": "3"}))
