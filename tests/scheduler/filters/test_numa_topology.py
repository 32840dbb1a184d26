"""NUMATopologyFilter refuses what it cannot fit yet, and lets the rest through."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.errors import Invalid
from gantt.model.spec import Flavor, Image, RequestSpec
from gantt.scheduler.feasibility.filters.numa_topology import NUMATopologyFilter
from tests.scheduler.filters.reading import passes
from tests.scheduler.fleets import a_host


def _spec(extra_specs: dict[str, str], properties: dict[str, Any]) -> RequestSpec:
    flavor, image = Flavor(extra_specs=extra_specs), Image(properties=properties)
    return RequestSpec(flavor=flavor, image=image)


@pytest.mark.parametrize(
    ("extra_specs", "properties"),
    [
        ({}, {}),
        ({"hw:cpu_policy": "shared"}, {"hw_cpu_policy": "shared"}),
        ({"hw:cpu_sockets": "2"}, {"hw_cpu_cores": 2}),
        ({"resources:VCPU": "2", "resources:PCPU": "0"}, {}),
    ],
)
def test_request_without_topology_passes(
    extra_specs: dict[str, str], properties: dict[str, Any]
) -> None:
    assert passes(NUMATopologyFilter(), a_host(), _spec(extra_specs, properties))
    assert passes(NUMATopologyFilter(), a_host())


@pytest.mark.parametrize(
    ("extra_specs", "properties", "named"),
    [
        ({"hw:numa_nodes": "2"}, {}, "hw:numa_nodes=2"),
        ({}, {"hw_numa_nodes": 2}, "hw_numa_nodes=2"),
        ({"hw:mem_page_size": "large"}, {}, "hw:mem_page_size=large"),
        ({}, {"hw_mem_page_size": "2MB"}, "hw_mem_page_size=2MB"),
        ({"hw:pmem": "6GB"}, {}, "hw:pmem=6GB"),
        ({"hw:cpu_policy": "dedicated"}, {}, "hw:cpu_policy=dedicated"),
        ({"hw:cpu_policy": "mixed"}, {}, "hw:cpu_policy=mixed"),
        ({}, {"hw_cpu_policy": "dedicated"}, "hw_cpu_policy=dedicated"),
        ({"resources:PCPU": "2"}, {}, "resources:PCPU=2"),
    ],
)
def test_unsupported_request_is_refused_by_name(
    extra_specs: dict[str, str], properties: dict[str, Any], named: str
) -> None:
    with pytest.raises(
        Invalid, match="NUMATopologyFilter out of enabled_filters"
    ) as no:
        passes(NUMATopologyFilter(), a_host(), _spec(extra_specs, properties))
    assert named in no.value.message


def test_given_topology_is_refused() -> None:
    with pytest.raises(Invalid, match="numa_topology"):
        passes(NUMATopologyFilter(), a_host(), RequestSpec(numa_topology={"cells": []}))
