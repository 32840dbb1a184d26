"""Reports of hosts."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from gantt import errors
from gantt.model.forms.stats import read_stats
from gantt.model.hosts import HostStats
from tests.examples import examples
from tests.model.forms import objects
from tests.model.forms.documents import anything, mutated

CPU = {"arch": "x86_64", "topology": {"sockets": 1}}
POOL = {"vendor_id": "8086", "product_id": "1", "numa_node": None, "count": 3}
METRIC = {
    "name": "cpu.percent",
    "value": 0.35,
    "timestamp": "2026-01-01T00:00:00Z",
    "source": "virt",
}
COLUMNS: dict[str, Any] = {
    "id": 7,
    "uuid": objects.INSTANCE,
    "service_id": 3,
    "host": "h",
    "vcpus": 16,
    "memory_mb": 65536,
    "local_gb": 900,
    "vcpus_used": 2,
    "memory_mb_used": 512,
    "local_gb_used": 10,
    "hypervisor_type": "QEMU",
    "hypervisor_version": 8_002_000,
    "hypervisor_hostname": "n",
    "free_ram_mb": -5,
    "free_disk_gb": 890,
    "current_workload": 0,
    "running_vms": 1,
    "cpu_info": json.dumps(CPU),
    "disk_available_least": -1,
    "host_ip": "10.0.0.1",
    "supported_instances": json.dumps([["x86_64", "kvm", "hvm"]]),
    "metrics": json.dumps([METRIC]),
    "pci_stats": json.dumps([POOL]),
    "extra_resources": None,
    "stats": json.dumps({"num_instances": "1", "io_workload": 0, "uptime": "x"}),
    "numa_topology": json.dumps({"cells": []}),
    "cpu_allocation_ratio": 16.0,
    "ram_allocation_ratio": 0,
    "disk_allocation_ratio": None,
    "mapped": 1,
    "created_at": "2026-01-01T00:00:00Z",
    "deleted": 0,
}


def test_every_column_is_read() -> None:
    assert read_stats(COLUMNS, host="h") == HostStats(
        id=7,
        uuid=objects.INSTANCE,
        service_id=3,
        vcpus=16,
        memory_mb=65536,
        local_gb=900,
        vcpus_used=2,
        memory_mb_used=512,
        local_gb_used=10,
        hypervisor_type="QEMU",
        hypervisor_version=8_002_000,
        hypervisor_hostname="n",
        free_ram_mb=-5,
        free_disk_gb=890,
        current_workload=0,
        running_vms=1,
        cpu_info=CPU,
        disk_available_least=-1,
        host_ip="10.0.0.1",
        supported_instances=[["x86_64", "kvm", "hvm"]],
        metrics=[METRIC],
        pci_stats=[POOL],
        extra_resources=None,
        stats={"num_instances": "1", "io_workload": 0, "uptime": "x"},
        numa_topology={"cells": []},
        cpu_allocation_ratio=16.0,
        ram_allocation_ratio=0.0,
        disk_allocation_ratio=None,
        mapped=1,
    )


def test_json_columns_may_be_decoded() -> None:
    decoded = {
        name: json.loads(value)
        if isinstance(value, str) and value[0] in "[{"
        else value
        for name, value in COLUMNS.items()
    }
    assert read_stats(decoded) == read_stats(COLUMNS)


def test_omitted_fields_stay_unset() -> None:
    found = read_stats({"free_ram_mb": 100})
    assert found == HostStats(free_ram_mb=100)
    assert found.vcpus is UNSET


def test_object_field_names_map_to_columns() -> None:
    spec = objects.nova("HVSpec", "1.2", arch="x86_64", hv_type="kvm", vm_mode="hvm")
    pool = objects.nova(
        "PciDevicePool",
        "1.1",
        vendor_id="8086",
        product_id="1",
        numa_node=None,
        tags={"dev_type": "type-PF"},
        count=3,
    )
    node = objects.nova(
        "ComputeNode",
        "1.19",
        host="h",
        vcpus=4,
        supported_hv_specs=[spec],
        pci_device_pools=objects.nova("PciDevicePoolList", "1.1", objects=[pool]),
        a_new_field=1,
    )
    assert read_stats(node, host="h") == HostStats(
        comes_from_nova=True,
        vcpus=4,
        supported_instances=[["x86_64", "kvm", "hvm"]],
        pci_stats=[{**POOL, "dev_type": "type-PF"}],
    )


def test_percentages_are_fractions_in_columns_and_integers_in_objects() -> None:
    for percent in range(101):
        metric = objects.nova(
            "MonitorMetric", "1.1", name="cpu.percent", value=percent, source="virt"
        )
        metrics = objects.nova("MonitorMetricList", "1.1", objects=[metric])
        found = read_stats({"metrics": metrics}).metrics[0]["value"]
        assert 0 <= found <= 1
        assert int(found * 100) == percent
    metric = objects.nova("MonitorMetric", "1.1", name="cpu.frequency", value=2400)
    assert read_stats({"metrics": [metric]}).metrics[0]["value"] == 2400


def test_empty_text_in_a_json_column_is_null() -> None:
    assert read_stats({"cpu_info": ""}) == HostStats(cpu_info=None)


def test_native_value_round_trips_through_json() -> None:
    stats = HostStats(vcpus=3, traits=("HW_X",), instances=(objects.INSTANCE,))
    assert read_stats(json.loads(msgspec.json.encode(stats))) == stats
    assert read_stats(stats) is stats


@pytest.mark.parametrize(
    ("stats", "named"),
    [
        ({"vcpu": 1, "x": 2}, "stats has unknown fields: 'vcpu', 'x'"),
        ({"vcpus": "4"}, "stats.vcpus must be an integer, not '4'"),
        ({"vcpus": 4.0}, "stats.vcpus must be an integer, not 4.0"),
        ({"vcpus": None}, "stats.vcpus must be given, or left out, not null"),
        ({"memory_mb": -1}, "stats.memory_mb must be"),
        ({"memory_mb": 2**31}, "stats.memory_mb must be .*, not 2147483648"),
        ({"cpu_allocation_ratio": float("nan")}, "cpu_allocation_ratio must be"),
        ({"cpu_allocation_ratio": -1.0}, "cpu_allocation_ratio must be"),
        ({"cpu_info": "{"}, "stats.cpu_info must be JSON text"),
        ({"cpu_info": "[]"}, "stats.cpu_info must be an object, not a list of 0"),
        ({"cpu_info": "[" * 100_000}, "stats.cpu_info must be JSON text"),
        ({"extra_resources": "[" * 90 + "]" * 90}, "extra_resources is nested deeper"),
        ({"stats": {"num_instances": "many"}}, "stats.stats.num_instances must be"),
        ({"supported_instances": [["x"]]}, r"supported_instances.0 must be \[arch"),
        ({"metrics": [{"value": 1}]}, "stats.metrics.0.name is missing"),
        ({"metrics": [{"name": "a"}]}, "stats.metrics.0.value must be a number"),
        ({"metrics": [{"name": "a", "value": "1"}]}, "metrics.0.value must be"),
        ({"pci_stats": [{"vendor_id": "1"}]}, "pci_stats.0.count is missing"),
        ({"pci_stats": [], "pci_device_pools": []}, "pci_stats under both"),
        ({"host": "other"}, "stats.host is 'other', but the report is about 'h'"),
        ({"uuid": "node-1"}, "stats.uuid must be a UUID, not 'node-1'"),
        ([], "stats must be an object, not a list of 0"),
        (None, "stats must be an object, not null"),
    ],
)
def test_refusal_names_the_field_and_value(stats: Any, named: str) -> None:
    with pytest.raises(errors.Invalid, match=named):
        read_stats(stats, host="h")


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_faulty_reports_raise_only_gantt_errors(data: Any) -> None:
    stats = data.draw(mutated(COLUMNS) | anything())
    try:
        found = read_stats(stats)
    except errors.GanttError as error:
        assert error.message
    else:
        assert read_stats(json.loads(msgspec.json.encode(found))) == found
