"""Answers in Nova's forms."""

from __future__ import annotations

from gantt.model.forms.selection import selection_dict, selection_primitive
from gantt.model.selection import Limits, Selection
from tests.model.forms import objects

CHOSEN = Selection(
    compute_node_uuid=objects.INSTANCE,
    service_host="h",
    nodename="n",
    cell_uuid=objects.CELL,
    allocation_request='{"allocations": {}}',
    allocation_request_version="1.36",
    availability_zone="nova",
    claim="c",
    age_s=1.0,
)
NO_LIMITS = objects.nova(
    "SchedulerLimits",
    "1.0",
    numa_topology=None,
    vcpu=None,
    disk_gb=None,
    memory_mb=None,
)


def test_selection_has_exactly_the_fields_of_nova() -> None:
    assert selection_primitive(CHOSEN) == objects.nova(
        "Selection",
        "1.1",
        compute_node_uuid=objects.INSTANCE,
        service_host="h",
        nodename="n",
        cell_uuid=objects.CELL,
        limits=NO_LIMITS,
        allocation_request='{"allocations": {}}',
        allocation_request_version="1.36",
        availability_zone="nova",
    )


def test_limits_have_all_four_fields() -> None:
    numa = {"cpu_allocation_ratio": 16.0, "ram_allocation_ratio": 1.5}
    limited = Selection(None, "h", "n", limits=Limits(vcpu=3, numa_topology=numa))
    data = selection_primitive(limited)["nova_object.data"]
    assert data["limits"] == objects.nova(
        "SchedulerLimits",
        "1.0",
        numa_topology=objects.nova("NUMATopologyLimits", "1.1", **numa),
        vcpu=3,
        disk_gb=None,
        memory_mb=None,
    )


def test_allocations_are_null_without_a_claim() -> None:
    data = selection_primitive(Selection(None, "h", "n"))["nova_object.data"]
    assert data["allocation_request"] == "null"
    assert data["allocation_request_version"] is None
    # These cannot be null in Nova's object.
    assert "compute_node_uuid" not in data
    assert "cell_uuid" not in data


def test_legacy_dict() -> None:
    assert selection_dict(CHOSEN) == {"host": "h", "nodename": "n", "limits": {}}
    limited = Selection(None, "h", "n", limits=Limits(memory_mb=4096))
    assert selection_dict(limited)["limits"] == {"memory_mb": 4096}
