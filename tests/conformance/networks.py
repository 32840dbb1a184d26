"""The worlds of networks and devices that OpenStack Placement's suite asks about.

Apart from ``tests.conformance.worlds`` because their trees are three floors deep and
take up as much room as all the others.
"""

from __future__ import annotations

from gantt.model.commands import Inventory
from gantt.model.names import SHARES_VIA_AGGREGATE
from tests.conformance.world import Claim, Node, World, amount, amounts

EGRESS = "NET_BW_EGR_KILOBIT_PER_SEC"
INGRESS = "NET_BW_IGR_KILOBIT_PER_SEC"
PACKETS = "NET_PACKET_RATE_KILOPACKET_PER_SEC"
NORMAL = "CUSTOM_VNIC_TYPE_NORMAL"
DIRECT = "CUSTOM_VNIC_TYPE_DIRECT"
DIRECT_TYPES = (DIRECT, "CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL", "CUSTOM_VNIC_TYPE_MACVTAP")


# ------------------------------------------- a host of NUMA nodes, and one of many NICs


def _cell(
    number: int, memory: Inventory, traits: tuple[str, ...], *devices: Node
) -> Node:
    return Node(
        f"numa{number}",
        {"VCPU": amount(4), "MEMORY_MB": memory},
        ("HW_NUMA_ROOT", *traits),
        children=devices,
    )


def _device(name: str, rc: str, total: int, *traits: str) -> Node:
    return Node(name, {rc: amount(total)}, traits)


def _nic(number: int, *functions: tuple[int, int]) -> Node:
    """A NIC; each of its physical functions is on a network and has some VFs."""
    return Node(
        f"nic{number}",
        traits=("CUSTOM_HW_NIC_ROOT",),
        children=tuple(
            _device(f"pf{number}_{index}", "CUSTOM_VF", total, f"CUSTOM_PHYSNET{net}")
            for index, (net, total) in enumerate(functions, 1)
        ),
    )


_SHARED_DISK = Node(
    "ss1", {"DISK_GB": amount(2000)}, (SHARES_VIA_AGGREGATE,), ("aggA",)
)

_NUMA_HOST = Node(
    "cn1",
    traits=("COMPUTE_VOLUME_MULTI_ATTACH",),
    groups=("aggA",),
    children=(
        _cell(
            0,
            amount(2048, min_unit=512, step_size=256),
            (),
            _device("fpga0", "FPGA", 1),
            _device("pgpu0", "VGPU", 8),
        ),
        _cell(
            1,
            amount(2048, min_unit=256, max_unit=1024),
            ("CUSTOM_FOO",),
            _device("fpga1_0", "FPGA", 1),
            _device("fpga1_1", "FPGA", 1),
        ),
        Node(
            "sriov_agent",
            traits=(DIRECT,),
            children=(
                _device("esn1", EGRESS, 10000, "CUSTOM_PHYSNET1"),
                _device("esn2", EGRESS, 20000, "CUSTOM_PHYSNET2"),
            ),
        ),
        Node(
            "ovs_agent",
            traits=(NORMAL,),
            children=(_device("br_int", EGRESS, 1000, "CUSTOM_PHYSNET0"),),
        ),
    ),
)

_NIC_HOST = Node(
    "cn2",
    {
        "VCPU": amount(8),
        "MEMORY_MB": amount(2048, min_unit=1024, step_size=128),
        "DISK_GB": amount(1000),
    },
    ("CUSTOM_FOO",),
    ("aggA",),
    (
        _nic(1, (1, 4), (2, 4)),
        _nic(2, (1, 2), (2, 2), (1, 2), (2, 2)),
        _nic(3, (1, 8)),
    ),
)

_IN_USE = (Claim("numa0", {"VCPU": 2}), Claim("cn2", {"VCPU": 3}))

NUMA_NETWORKS = World(roots=(_SHARED_DISK, _NUMA_HOST, _NIC_HOST), claims=_IN_USE)

# The same hosts two floors below one grandparent.
DEEP_NUMA_NETWORKS = World(
    roots=(
        Node(
            "gp1",
            children=(
                Node("p1", children=(_NUMA_HOST,)),
                Node("p2", children=(_NIC_HOST,)),
            ),
        ),
        _SHARED_DISK,
    ),
    claims=_IN_USE,
)


# ----------------------------- hosts whose agents offer bandwidth on network segments


def _bandwidth(name: str, kilobits: int, *traits: str) -> Node:
    return Node(name, {EGRESS: amount(kilobits), INGRESS: amount(kilobits)}, traits)


def _host(
    number: int,
    segments: tuple[str, ...],
    *,
    bridge_kilobits: int = 5000,
    function_kilobits: int = 10000,
) -> Node:
    """A host with a bridge and a physical function on each of ``segments``."""
    host = f"compute{number}"
    bridges = tuple(
        _bandwidth(
            f"{host}:br_ex{index if index > 1 else ''}",
            bridge_kilobits,
            NORMAL,
            f"CUSTOM_PHYSNET_{segment}",
        )
        for index, segment in enumerate(segments, 1)
    )
    functions = tuple(
        _bandwidth(
            f"{host}:pf{index}",
            function_kilobits,
            *DIRECT_TYPES,
            f"CUSTOM_PHYSNET_{segment}",
        )
        for index, segment in enumerate(segments)
    )
    return Node(
        host,
        amounts(VCPU=8, MEMORY_MB=4096, DISK_GB=500),
        children=(
            Node(f"{host}:ovs_agent", {PACKETS: amount(1000)}, (NORMAL,), (), bridges),
            Node(f"{host}:sriov_agent", {}, DIRECT_TYPES, (), functions),
        ),
    )


SEGMENTS = World(
    roots=(
        _host(0, ("OTHER",)),
        _host(1, ("MSN_S1",)),
        _host(2, ("MSN_S2",)),
        _host(3, ("MSN_S1", "MSN_S2"), bridge_kilobits=1000, function_kilobits=1000),
    ),
    variable=str,
)
