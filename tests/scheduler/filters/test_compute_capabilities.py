"""ComputeCapabilitiesFilter: flavors that ask for what hosts report."""

from __future__ import annotations

import pytest
from hypothesis import given

from gantt.errors import Invalid
from gantt.model.spec import RequestSpec
from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.compute_capabilities import (
    ComputeCapabilitiesFilter,
)
from tests.scheduler.filters.reading import check, passes, with_extra_specs
from tests.scheduler.fleets import (
    Plain,
    Plan,
    a_host,
    all_hosts,
    fleets,
    request,
    specs,
)
from tests.scheduler.naive import is_match

BITS = "capabilities:cpu_info:maxphysaddr:bits"
HOST = a_host(
    "h1",
    node="n1",
    uuid="u1",
    vcpus_used=4,
    hypervisor_type="QEMU",
    cpu_allocation_ratio=4.0,
    local_gb_used=2,
    cpu_info={"features": ["avx", "sse"], "maxphysaddr": {"bits": 46}, "none": None},
    stats={"rack": "r1", "text": '{"a": {"b": 3}}', "none": None, "host_ip": "x"},
    service={"disabled": True},
)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, True),
        # A name without a scope concerns hosts that know it.
        ({"rack": "r1"}, True),
        ({"rack": "r2"}, False),
        ({"unknown": "1"}, True),
        ({"none": "x"}, False),
        ({"vcpus_used": "= 4"}, True),
        ({"vcpus_used": "= 5"}, False),
        ({"hypervisor_type": "QEMU"}, True),
        ({"host": "h1"}, True),
        ({"nodename": "s!= n1"}, False),
        ({"uuid": "u1"}, True),
        ({"cpu_allocation_ratio": "4.0"}, True),
        ({"disk_mb_used": "== 2048"}, True),
        # An attribute that the host has not said fails, even without a scope.
        ({"hypervisor_hostname": "n1"}, False),
        ({"numa_topology": "x"}, False),
        ({"cell_uuid": "x"}, False),
        ({"service": "x"}, False),
        # Attributes go before stats, stats stand in for what is not set.
        ({"host_ip": "x"}, True),
        ({"capabilities:host_ip": "x"}, True),
        ({"capabilities:rack": "r1"}, True),
        ({"capabilities:stats:rack": "r1"}, True),
        ({"capabilities:unknown": "1"}, False),
        ({"capabilities:rack:deeper": "r1"}, False),
        ({"capabilities:": "x"}, False),
        ({"capabilities:vcpus_used:x": "4"}, False),
        ({"capabilities:metrics:x": "4"}, False),
        ({"capabilities:service:disabled": "True"}, True),
        ({"capabilities:service:binary": "nova-compute"}, False),
        # Text on the way is read as JSON.
        ({"capabilities:text:a:b": "3"}, True),
        ({"capabilities:rack:a:b": "3"}, False),
        ({"capabilities:cpu_info:features": "<all-in> avx sse"}, True),
        ({"capabilities:cpu_info:features": "<in> vmx"}, False),
        ({"capabilities:cpu_info:maxphysaddr:bits": "== 46"}, True),
        ({"capabilities:cpu_info:none": "x"}, False),
        ({"capabilities:cpu_info": '<in> "features"'}, True),
        ({"hw:maxphysaddr_bits": "42"}, True),
        ({"hw:maxphysaddr_bits": "52"}, False),
        ({"hw:maxphysaddr_bits": "42", BITS: "5"}, True),
        ({BITS: "5"}, False),
        # Other scopes are for others.
        ({"hw:cpu_policy": "dedicated"}, True),
        ({"trait:CUSTOM_X": "required"}, True),
        ({"text:a:b": "4"}, True),
        ({"rack": "= 4"}, False),
        ({"rack": "r1", "vcpus_used": "= 9"}, False),
    ],
)
def test_extra_specs(asked: dict[str, str], expected: bool) -> None:
    spec = with_extra_specs(**asked)
    assert passes(ComputeCapabilitiesFilter(), HOST, spec) is expected


def test_cpu_info_may_be_text() -> None:
    host = a_host(cpu_info='{"features": ["avx"]}')
    spec = with_extra_specs(**{"capabilities:cpu_info:features": "<in> avx"})
    assert passes(ComputeCapabilitiesFilter(), host, spec)


def test_a_ratio_is_that_of_the_host() -> None:
    spec = with_extra_specs(cpu_allocation_ratio="== 1")
    assert passes(ComputeCapabilitiesFilter(), a_host(), spec)


@pytest.mark.parametrize("key", ["hw:maxphysaddr_bits", "vcpus_used"])
def test_invalid_number_is_named(key: str) -> None:
    spec = with_extra_specs(**{key: ">= many"})
    with pytest.raises(Invalid, match=key):
        passes(ComputeCapabilitiesFilter(), HOST, spec)


def test_missing_attribute_is_searched_once() -> None:
    state = Plan([HOST]).state()
    unknown = {f"capabilities:x{number}": "y" for number in range(50)}
    one, hosts = ComputeCapabilitiesFilter(), all_hosts(state)
    assert not one.mask(hosts, request(with_extra_specs(**unknown))).any()
    assert len(list(state.fleet.hosts.factors())) == 1
    bad = {**unknown, "vcpus_used": ">= many"}
    with pytest.raises(Invalid, match="vcpus_used"):
        one.mask(hosts, request(with_extra_specs(**bad)))


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    stats = host.get("stats", {})
    cpu_info = host.get("cpu_info") or {}
    used = host["vcpus_used"] + sum(one["vcpus"] for one in plan.claims_of(host))
    known = {
        "vcpus_used": used,
        "capabilities:rack": stats.get("rack"),
        "capabilities:stats:score": stats.get("score"),
        "capabilities:cpu_info:features": cpu_info.get("features"),
        "capabilities:cpu_info:topology:cores": cpu_info.get("topology", {}).get(
            "cores"
        ),
        "hw:maxphysaddr_bits": cpu_info.get("maxphysaddr", {}).get("bits"),
    }
    if "rack" in stats:
        known["rack"] = stats["rack"]
    for key, requirement in asked.spec.flavor.extra_specs.items():
        if key in known:
            needed = f">= {requirement}" if key.startswith("hw:") else requirement
            if known[key] is None or not is_match(str(known[key]), needed):
                return False
    return True


@given(fleets(), specs())
def test_mask_equals_the_rule_per_host(plan: Plan, spec: RequestSpec) -> None:
    check(ComputeCapabilitiesFilter(), plan, request(spec), _reading)
