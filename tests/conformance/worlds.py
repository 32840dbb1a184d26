"""The worlds that OpenStack Placement's suite asks about.

Their numbers and structure are part of the suite: its answers follow from them. The
names of the constants say what each is about.
"""

from __future__ import annotations

from gantt.model.names import SHARES_VIA_AGGREGATE
from tests.conformance.world import Claim, Node, World, amount, amounts, upper

EMPTY = World()

# One provider that three consumers of two users share.
ALLOCATIONS = World(
    roots=(
        Node(
            "rp",
            {
                "DISK_GB": amount(2048, step_size=10, min_unit=10, max_unit=1000),
                "VCPU": amount(10),
            },
        ),
    ),
    claims=(
        Claim("rp", {"DISK_GB": 1000}, "CONSUMER_0", "PROJECT_ID", "USER_ID"),
        Claim("rp", {"VCPU": 6}, "CONSUMER_ID", "PROJECT_ID", "USER_ID"),
        Claim(
            "rp",
            {"DISK_GB": 20, "VCPU": 1},
            "ALT_CONSUMER_ID",
            "PROJECT_ID",
            "ALT_USER_ID",
        ),
    ),
    spare=("ALT_USER_ID", "ALT_RP_UUID", "ALT_RP_NAME"),
    fixed={"rp": ("RP_UUID", "RP_NAME")},
)

# Three hosts with disks of their own, and three empty aggregates.
LOCAL_DISKS = World(
    roots=tuple(
        Node(
            f"cn{number}",
            amounts(VCPU=24, MEMORY_MB=128 * 1024, DISK_GB=2000),
        )
        for number in (1, 2, 3)
    ),
    spare=("AGGA_UUID", "AGGB_UUID", "AGGC_UUID"),
)


def _shared_disk(name: str, group: str) -> Node:
    return Node(
        name,
        {"DISK_GB": amount(2000, reserved=100)},
        (SHARES_VIA_AGGREGATE,),
        (group,),
    )


def _host_with_functions(number: int, disk: int, traits: tuple[str, ...]) -> Node:
    """A host whose two NUMA nodes have a physical function each."""
    inventories = {
        "VCPU": amount(24, allocation_ratio=16.0),
        "MEMORY_MB": amount(128 * 1024, allocation_ratio=1.5),
    }
    if disk:
        inventories["DISK_GB"] = amount(disk, reserved=100)
    cells = tuple(
        Node(
            f"numa{number}_{cell}",
            children=(Node(f"pf{number}_{cell}", {"SRIOV_NET_VF": amount(8)}),),
        )
        for cell in (1, 2)
    )
    return Node(f"cn{number}", inventories, traits, ("agg",), cells)


# Two hosts, one of them without a disk, and two shared disks for both.
SHARED_DISKS = World(
    roots=(
        _host_with_functions(1, 0, ("HW_CPU_X86_SSE", "HW_CPU_X86_SSE2")),
        _host_with_functions(2, 2000, ()),
        _shared_disk("ss", "agg"),
        _shared_disk("ss2", "agg"),
    ),
)


def _cell(name: str, *groups: str) -> Node:
    return Node(name, {"VCPU": amount(24, allocation_ratio=16.0)}, (), groups)


# Hosts with nothing but NUMA nodes; one of these reaches a shared disk of its own.
NUMA_AGGREGATES = World(
    roots=(
        Node(
            "cn1",
            groups=("aggA",),
            children=(_cell("numa1_1", "aggC"), _cell("numa1_2")),
        ),
        Node(
            "cn2",
            groups=("aggA", "aggB"),
            children=(_cell("numa2_1"), _cell("numa2_2")),
        ),
        _shared_disk("ss1", "aggA"),
        _shared_disk("ss2", "aggC"),
    ),
)

# Three hosts and three sharing providers, each with something that others lack.
GRANULAR = World(
    roots=(
        Node(
            "cn_left",
            amounts(
                VCPU=8,
                MEMORY_MB=4096,
                DISK_GB=500,
                VGPU=8,
                SRIOV_NET_VF=8,
                CUSTOM_NET_MBPS=4000,
            ),
            (
                "HW_CPU_X86_AVX",
                "HW_CPU_X86_AVX2",
                "HW_GPU_API_DXVA",
                "HW_NIC_DCB_PFC",
                "CUSTOM_FOO",
            ),
            ("aggA",),
        ),
        Node(
            "cn_middle",
            amounts(VCPU=8, MEMORY_MB=4096, SRIOV_NET_VF=8, CUSTOM_NET_MBPS=4000),
            (
                "HW_CPU_X86_AVX",
                "HW_CPU_X86_AVX2",
                "HW_CPU_X86_SSE",
                "HW_NIC_ACCEL_TLS",
            ),
            ("aggA", "aggB"),
        ),
        Node(
            "cn_right",
            {
                "VCPU": amount(8),
                "MEMORY_MB": amount(4096),
                "DISK_GB": amount(500),
                "VGPU": amount(8, max_unit=2),
            },
            ("HW_CPU_X86_MMX", "HW_GPU_API_DXVA", "CUSTOM_DISK_SSD"),
            ("aggB", "aggC"),
        ),
        Node(
            "shr_disk_1",
            {"DISK_GB": amount(1000)},
            (SHARES_VIA_AGGREGATE, "CUSTOM_DISK_SSD"),
            ("aggA",),
        ),
        Node(
            "shr_disk_2",
            {"DISK_GB": amount(1000)},
            (SHARES_VIA_AGGREGATE,),
            ("aggA", "aggB"),
        ),
        Node(
            "shr_net",
            amounts(SRIOV_NET_VF=16, CUSTOM_NET_MBPS=40000),
            (SHARES_VIA_AGGREGATE,),
            ("aggC",),
        ),
    ),
    variable=upper,
)
