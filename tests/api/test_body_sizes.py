"""The longest bodies that callers have reason to send fit into the default limit.

Nova requests at most 1,000 instances at once (``[osapi] max_limit``, apart from quotas
and ``max_instances``); a tree of 500 providers is a machine divided as far as possible.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from gantt.api.call import Call
from gantt.api.wire import bodies
from gantt.conf import ApiOptions
from gantt.model.forms.fleet import read_instances
from gantt.model.forms.stats import read_stats
from tests.api.door import client_for
from tests.model.forms.objects import flavor, full, nova

INSTANCES = 1_000
PROVIDERS = 500
CPUS, CELLS, DEVICES = 512, 8, 1_024


def uuids() -> Iterator[str]:
    return (f"00000000-0000-4000-8000-{number:012x}" for number in count())


def consumers(names: Iterator[str]) -> dict[str, Any]:
    """Each on three providers, as with NUMA and a device."""
    amounts = {
        "VCPU": 64,
        "MEMORY_MB": 262_144,
        "DISK_GB": 2_000,
        "CUSTOM_PCI_NVIDIA_A100_80GB": 4,
    }
    return {
        next(names): {
            "allocations": {
                next(names): {"generation": 12, "resources": amounts} for _ in range(3)
            },
            "project_id": next(names),
            "user_id": next(names),
            "consumer_generation": 12,
            "consumer_type": "INSTANCE",
        }
        for _ in range(INSTANCES)
    }


def inventories() -> dict[str, Any]:
    record = {
        "total": 1_048_576,
        "reserved": 1_024,
        "min_unit": 1,
        "max_unit": 1_048_576,
        "step_size": 1,
        "allocation_ratio": 16.0,
    }
    classes = ("VCPU", "PCPU", "MEMORY_MB", "CUSTOM_PCI_NVIDIA_A100_80GB")
    return {
        "resource_provider_generation": 12,
        "inventories": dict.fromkeys(classes, record),
    }


def many_allocations() -> Any:
    return consumers(uuids())


def reshaping() -> Any:
    names = uuids()
    tree = {next(names): inventories() for _ in range(PROVIDERS)}
    return {"inventories": tree, "allocations": consumers(names)}


def selection() -> Any:
    names = uuids()
    spec = full()
    hints = {"different_host": [next(names) for _ in range(INSTANCES)]}
    spec["nova_object.data"]["scheduler_hints"] = hints
    group = spec["nova_object.data"]["instance_group"]["nova_object.data"]
    group["members"] = [next(names) for _ in range(INSTANCES)]
    return {
        "request_spec": spec,
        "instance_uuids": [next(names) for _ in range(INSTANCES)],
    }


def host_report() -> Any:
    each = CPUS // CELLS
    cells = [
        nova(
            "NUMACell",
            "1.6",
            id=number,
            cpuset=list(range(number * each, (number + 1) * each)),
            pcpuset=list(range(number * each, (number + 1) * each)),
            siblings=[
                [cpu, cpu + each // 2]
                for cpu in range(number * each, number * each + each // 2)
            ],
            memory=1_048_576,
            cpu_usage=0,
            memory_usage=0,
            pinned_cpus=list(range(number * each, (number + 1) * each)),
            mempages=[
                nova("NUMAPagesTopology", "1.1", size_kb=size, total=1, used=0)
                for size in (4, 2_048, 1_048_576)
            ],
        )
        for number in range(CELLS)
    ]
    pools = [
        nova(
            "PciDevicePool",
            "1.1",
            product_id="20b5",
            vendor_id="10de",
            numa_node=number % CELLS,
            tags={"dev_type": "type-VF", "physical_network": "n" * 60},
            count=1,
        )
        for number in range(DEVICES)
    ]
    return {
        "vcpus": CPUS,
        "numa_topology": json.dumps(nova("NUMATopology", "1.2", cells=cells)),
        "pci_stats": json.dumps(
            nova(
                "PciDevicePoolList",
                "1.1",
                objects=pools,
            )
        ),
    }


def instances() -> Any:
    """A host's instances as Nova sends them, with their image properties."""
    names = uuids()
    properties = {f"image_hw_property_{number}": "v" * 16 for number in range(40)}
    return {
        "instances": [
            nova(
                "Instance",
                "2.8",
                uuid=next(names),
                host="h" * 60,
                project_id=next(names),
                flavor=flavor(),
                system_metadata=properties,
            )
            for _ in range(INSTANCES)
        ]
    }


BODIES = (many_allocations, reshaping, selection, host_report, instances)


@pytest.mark.parametrize("build", BODIES, ids=lambda build: build.__name__)
def test_longest_legitimate_bodies_are_accepted(build: Any) -> None:
    lengths: list[int] = []

    def read(call: Call) -> None:
        lengths.append(len(call.json_body()))
        call.no_content()

    raw = json.dumps(build()).encode()
    client = client_for(read, options=ApiOptions())
    headers = {"content-type": "application/json"}
    assert client("GET", "/thing", body=raw, headers=headers).status == 204
    assert lengths == [len(raw)]


def test_longest_bodies_are_accepted_by_the_api() -> None:
    """Else their sizes would say nothing."""
    raw = json.dumps(many_allocations()).encode()
    assert bodies.SET_MANY_ALLOCATIONS[39].decode(raw) is not None
    assert bodies.RESHAPE[39].decode(json.dumps(reshaping()).encode()) is not None
    assert len(read_instances(instances()["instances"])) == INSTANCES
    assert read_stats(host_report()).numa_topology


def test_default_limit_fits_the_longest_bodies() -> None:
    longest = max(len(json.dumps(build())) for build in BODIES)
    assert longest <= ApiOptions().max_body_bytes <= 3 * longest
