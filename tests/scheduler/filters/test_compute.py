"""ComputeFilter: enabled, up, and reported."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.compute import ComputeFilter
from tests.scheduler.filters.reading import check, passes
from tests.scheduler.fleets import NOW, Plain, Plan, a_host, fleets, request

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        (None, True),
        ({}, True),
        ({"disabled": True}, False),
        ({"forced_down": True}, False),
        ({"last_seen_up": NOW}, True),
        ({"last_seen_up": NOW - 60 * SECOND}, True),
        ({"last_seen_up": NOW - 60 * SECOND - 1}, False),
        ({"last_seen_up": NOW + 60 * SECOND}, True),
        ({"last_seen_up": NOW + 60 * SECOND + 1}, False),
        ({"last_seen_up": NOW, "disabled": True}, False),
        ({"last_seen_up": NOW, "forced_down": True}, False),
        ({"binary": "nova-conductor", "disabled": True}, True),
    ],
)
def test_services(service: dict[str, Any] | None, expected: bool) -> None:
    assert passes(ComputeFilter(), a_host(service=service)) is expected


def test_service_down_time_is_configurable() -> None:
    host = a_host(service={"last_seen_up": NOW - 5 * SECOND})
    assert passes(ComputeFilter(), host, service_down_time=5.0)
    assert not passes(ComputeFilter(), host, service_down_time=4.5)


@pytest.mark.parametrize(
    "fields", [{"free_disk_gb": None}, {"free_disk_gb": None, "service": {}}]
)
def test_host_without_a_disk_report_has_no_state(fields: dict[str, Any]) -> None:
    assert not passes(ComputeFilter(), a_host(**fields))


def test_host_without_disk_fields_has_a_state() -> None:
    host = a_host()
    del host["free_disk_gb"], host["local_gb"], host["local_gb_used"]
    assert passes(ComputeFilter(), host)
    for size in ("vcpus", "memory_mb"):
        del host[size]
    assert not passes(ComputeFilter(), host)


def _has_reported(host: Plain) -> bool:
    if "free_disk_gb" in host:
        return host["free_disk_gb"] is not None
    return "vcpus" in host or "memory_mb" in host


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    if not _has_reported(host):
        return False
    service = host["service"]
    if service is None:
        return True
    if service["disabled"] or service["forced_down"]:
        return False
    seen = service["last_seen_up"]
    limit = asked.options.service_down_time * SECOND
    return seen is None or abs(asked.now - seen) <= limit


@given(fleets())
def test_mask_equals_the_rule_per_host(plan: Plan) -> None:
    check(ComputeFilter(), plan, request(), _reading)
