"""Primitives of Nova objects as they are on the wire."""

from __future__ import annotations

from typing import Any

IMAGE = "11111111-1111-4111-8111-111111111111"
INSTANCE = "11111111-1111-4111-8111-111111111112"
CELL = "11111111-1111-4111-8111-111111111114"
GROUP = "11111111-1111-4111-8111-111111111115"
MEMBER = "11111111-1111-4111-8111-111111111116"

FLAVOR_FIELDS: dict[str, Any] = {
    "id": 1,
    "name": "m1",
    "memory_mb": 512,
    "vcpus": 2,
    "root_gb": 10,
    "ephemeral_gb": 1,
    "flavorid": "f1",
    "swap": 64,
    "extra_specs": {"hw:cpu_policy": "shared"},
}


def nova(kind: str, version: str, /, **data: Any) -> dict[str, Any]:
    """The primitive of an object with these fields set."""
    return {
        "nova_object.name": kind,
        "nova_object.namespace": "nova",
        "nova_object.version": version,
        "nova_object.data": data,
    }


def flavor(**fields: Any) -> dict[str, Any]:
    """The flavor of all requests here."""
    return nova("Flavor", "1.2", **{**FLAVOR_FIELDS, **fields})


def small(version: str = "1.15", /, **fields: Any) -> dict[str, Any]:
    """A request that has a flavor, and what is asked for."""
    return nova("RequestSpec", version, **{"flavor": flavor(), **fields})


def full() -> dict[str, Any]:
    """A request that uses every field that is kept."""
    properties = nova(
        "ImageMetaProps",
        "1.44",
        hw_architecture="x86_64",
        img_hv_type="qemu",
        traits_required=["HW_CPU_X86_AVX2"],
    )
    cell = nova("InstanceNUMACell", "1.6", id=0, cpuset=[0, 1], memory=512)
    pci = nova("InstancePCIRequest", "1.4", count=1, spec=[{"vendor_id": "8086"}])
    tried = nova("ComputeNode", "1.19", host="h1", hypervisor_hostname="n1")
    network = nova("NetworkRequest", "1.3", network_id="net", port_id=None)
    return small(
        image=nova(
            "ImageMeta", "1.8", id=IMAGE, disk_format="qcow2", properties=properties
        ),
        numa_topology=nova("InstanceNUMATopology", "1.3", cells=[cell]),
        pci_requests=nova(
            "InstancePCIRequests", "1.1", instance_uuid=INSTANCE, requests=[pci]
        ),
        project_id="p",
        user_id="u",
        availability_zone=None,
        num_instances=1,
        ignore_hosts=["x"],
        force_hosts=None,
        force_nodes=[],
        requested_destination=nova(
            "Destination",
            "1.4",
            host="h",
            node=None,
            cell=nova("CellMapping", "1.1", uuid=CELL),
            aggregates=["a,b", "c"],
            forbidden_aggregates=["z"],
        ),
        retry=nova(
            "SchedulerRetries",
            "1.1",
            hosts=nova("ComputeNodeList", "1.17", objects=[tried]),
        ),
        instance_group=nova(
            "InstanceGroup",
            "1.11",
            uuid=GROUP,
            policy="anti-affinity",
            _rules={"max_server_per_host": "2"},
            members=[MEMBER],
            hosts=["h3"],
        ),
        scheduler_hints={"same_host": [MEMBER], "query": ['["=", "$x", 1]']},
        instance_uuid=INSTANCE,
        is_bfv=False,
        requested_resources=[
            nova(
                "RequestGroup",
                "1.3",
                use_same_provider=True,
                resources={"VCPU": 1},
                required_traits=["T"],
                forbidden_traits=[],
                aggregates=[["a", "b"]],
                forbidden_aggregates=[],
                requester_id="r1",
                in_tree=None,
            )
        ],
        request_level_params=nova(
            "RequestLevelParams", "1.1", root_required=["T"], same_subtree=[["a", "b"]]
        ),
        requested_networks=nova("NetworkRequestList", "1.1", objects=[network]),
        network_metadata=nova("NetworkMetadata", "1.0", physnets=["p"], tunneled=True),
    )
