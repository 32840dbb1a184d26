"""SimpleCIDRAffinityFilter: in the same network as an address."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.errors import Invalid
from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.simple_cidr_affinity import (
    SimpleCIDRAffinityFilter,
)
from tests.scheduler.filters.reading import check, passes, with_hints
from tests.scheduler.fleets import Plain, Plan, a_host, fleets, request


@pytest.mark.parametrize(
    ("ip", "near", "cidr", "expected"),
    [
        ("10.0.0.1", "10.0.0.9", None, True),
        ("10.0.1.1", "10.0.0.9", None, False),
        ("10.0.1.1", "10.0.0.9", "/16", True),
        ("10.0.1.1", "10.0.0.9", "16", True),
        ("10.1.1.1", "10.0.0.9", "/16", False),
        ("10.1.1.1", "10.0.0.9", "/12", True),
        ("10.16.1.1", "10.0.0.9", "/12", False),
        ("100.0.0.1", "10.0.0.9", "/8", False),
        ("192.168.1.1", "10.0.0.9", "/0", True),
        ("10.0.0.90", "10.0.0.9", "/32", False),
        ("10.0.0.1", "10.0.0.9", "/255.255.255.0", True),
        ("10.0.0.1", "10.0.0.9", "", False),
        ("10.0.0.9", "10.0.0.9", "", True),
        ("fd00::1", "fd00::2", "/64", True),
        ("fd00::1", "10.0.0.9", "/8", False),
        ("10.0.0.1", "", None, True),
        ("not an address", "10.0.0.9", None, False),
        (None, "10.0.0.9", None, False),
        (None, "", None, True),
    ],
)
def test_addresses(ip: str | None, near: str, cidr: str | None, expected: bool) -> None:
    hints = {"build_near_host_ip": (near,)}
    if cidr is not None:
        hints["cidr"] = (cidr,)
    host = a_host(host_ip=ip)
    assert passes(SimpleCIDRAffinityFilter(), host, with_hints(**hints)) is expected


def test_prefix_alone_requires_nothing() -> None:
    spec = with_hints(cidr=("/8",))
    assert passes(SimpleCIDRAffinityFilter(), a_host(host_ip="10.0.0.1"), spec)


@pytest.mark.parametrize(
    ("near", "cidr"), [("junk", "/24"), ("10.0.0.1", "/99"), ("10.0.0.1", "/x")]
)
def test_invalid_network_is_named(near: str, cidr: str) -> None:
    spec = with_hints(build_near_host_ip=(near,), cidr=(cidr,))
    with pytest.raises(Invalid, match="build_near_host_ip") as refused:
        passes(SimpleCIDRAffinityFilter(), a_host(host_ip="10.0.0.1"), spec)
    assert repr(near) in refused.value.message and repr(cidr) in refused.value.message


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    (address,) = asked.spec.scheduler_hints["build_near_host_ip"]
    (length,) = asked.spec.scheduler_hints.get("cidr", ("/24",))
    bits = 128 - int(length[1:]) if ":" in address else 32 - int(length[1:])
    if host.get("host_ip") is None or (":" in host["host_ip"]) != (":" in address):
        return False
    mine = int(ipaddress.ip_address(host["host_ip"]))
    return mine >> bits == int(ipaddress.ip_address(address)) >> bits


@given(
    fleets(),
    st.sampled_from(["10.0.0.9", "192.168.1.77", "fd00::9"]),
    st.none() | st.integers(0, 32),
)
def test_mask_equals_the_rule_per_host(
    plan: Plan, address: str, length: int | None
) -> None:
    hints = {"build_near_host_ip": (address,)}
    if length is not None:
        hints["cidr"] = (f"/{length}",)
    check(SimpleCIDRAffinityFilter(), plan, request(with_hints(**hints)), _reading)
