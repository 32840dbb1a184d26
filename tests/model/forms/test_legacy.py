"""The old pair of dicts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gantt import errors
from gantt.model.forms.spec import read_spec
from gantt.model.spec import Destination, Image, InstanceGroup, RequestSpec
from tests.examples import examples
from tests.model.forms import objects
from tests.model.forms.documents import mutated
from tests.model.forms.test_spec import FLAVOR

REQUEST_SPEC: dict[str, Any] = {
    "image": {
        "id": objects.IMAGE,
        "status": "active",
        "properties": {
            "architecture": "x86_64",
            "vm_mode": "hvm",
            "trait:HW_CPU_X86_AVX2": "required",
        },
    },
    "instance_properties": {
        "uuid": objects.INSTANCE,
        "project_id": "p",
        "user_id": "u",
        "availability_zone": "az",
        "numa_topology": None,
        "pci_requests": None,
        "memory_mb": 512,
        "display_name": "vm",
    },
    "instance_type": {**objects.FLAVOR_FIELDS, "rxtx_factor": 1.0, "disabled": False},
    "num_instances": 2,
}
FILTER_PROPERTIES: dict[str, Any] = {
    "ignore_hosts": ["x"],
    "force_hosts": None,
    "force_nodes": [],
    "retry": {"num_attempts": 1, "hosts": [["h1", "n1"], ("h2", "n2")]},
    "limits": {"memory_mb": 4096},
    "group_updated": True,
    "group_hosts": {"h3"},
    "group_policies": {"anti-affinity"},
    "group_members": {objects.MEMBER},
    "group_uuid": objects.GROUP,
    "scheduler_hints": {"same_host": objects.MEMBER, "different_host": ["a", "b"]},
    "requested_destination": objects.nova("Destination", "1.4", host="h"),
    "context": None,
}


def test_pair_is_equal_to_a_request() -> None:
    assert read_spec(REQUEST_SPEC, FILTER_PROPERTIES) == RequestSpec(
        flavor=FLAVOR,
        image=Image(
            id=objects.IMAGE,
            properties={
                "hw_architecture": "x86_64",
                "hw_vm_mode": "hvm",
                "traits_required": ["HW_CPU_X86_AVX2"],
            },
        ),
        num_instances=2,
        project_id="p",
        user_id="u",
        availability_zone="az",
        instance_uuid=objects.INSTANCE,
        ignore_hosts=("x",),
        retry_hosts=(("h1", "n1"), ("h2", "n2")),
        instance_group=InstanceGroup(
            uuid=objects.GROUP,
            policy="anti-affinity",
            members=frozenset({objects.MEMBER}),
            hosts=frozenset({"h3"}),
        ),
        scheduler_hints={
            "same_host": (objects.MEMBER,),
            "different_host": ("a", "b"),
        },
        requested_destination=Destination(host="h"),
    )


def test_request_spec_alone_is_sufficient() -> None:
    found = read_spec({"instance_type": objects.FLAVOR_FIELDS, "image": {}})
    assert found == RequestSpec(flavor=FLAVOR)


def test_pair_may_contain_objects() -> None:
    cell = objects.nova("InstanceNUMACell", "1.6", id=0, memory=512)
    topology = objects.nova("InstanceNUMATopology", "1.3", cells=[cell])
    pci = objects.nova("InstancePCIRequest", "1.4", count=2, alias_name="gpu")
    group = objects.nova("InstanceGroup", "1.11", uuid=objects.GROUP, policy="affinity")
    found = read_spec(
        {
            "instance_type": objects.flavor(),
            "instance_properties": objects.nova(
                "Instance",
                "2.8",
                uuid=objects.INSTANCE,
                numa_topology=topology,
                pci_requests=objects.nova("InstancePCIRequests", "1.1", requests=[pci]),
            ),
        },
        {"instance_group": group, "scheduler_hints": None},
    )
    assert found.flavor == FLAVOR
    assert found.instance_uuid == objects.INSTANCE
    assert found.numa_topology == topology
    assert found.pci_requests == ({"count": 2, "alias_name": "gpu"},)
    assert found.instance_group == InstanceGroup(uuid=objects.GROUP, policy="affinity")


@pytest.mark.parametrize(
    ("request_spec", "properties", "named"),
    [
        ({"image": {}}, {}, "request_spec.instance_type is missing"),
        ({"instance_type": {"vcpus": "1"}}, None, "instance_type.vcpus must be"),
        (
            {"instance_type": {}},
            {"retry": {"hosts": [["h"]]}},
            "hosts.0 must be a pair",
        ),
        ({"instance_type": {}}, {"force_hosts": "h"}, "force_hosts must be a list"),
        (
            {"instance_type": {}},
            {"group_updated": True, "group_policies": ["near"]},
            "filter_properties.group_policies must be one of",
        ),
        ({"instance_type": {}}, [1], "filter_properties must be an object"),
    ],
)
def test_refusal_names_the_field(
    request_spec: Any, properties: Any, named: str
) -> None:
    with pytest.raises(errors.Invalid, match=named):
        read_spec(request_spec, properties)


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_faulty_pairs_raise_only_gantt_errors(data: Any) -> None:
    request_spec = data.draw(mutated(REQUEST_SPEC))
    properties = data.draw(mutated(FILTER_PROPERTIES))
    try:
        read_spec(request_spec, properties)
    except errors.GanttError as error:
        assert error.message
