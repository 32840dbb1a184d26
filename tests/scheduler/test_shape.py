"""Requests as questions: sizes, groups, places; what can never be had, by its key."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.errors import GanttError, Invalid, NoValidHost, UnknownName
from gantt.model.requests import CandidateRequest, Labels, RequestGroup
from gantt.model.spec import (
    Destination,
    Flavor,
    Image,
    RequestLevel,
    RequestSpec,
    ResourceGroup,
)
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request import shape
from gantt.state.fleet_columns import Fleet
from tests.scheduler.fleets import a_host, fleet

UNKNOWN = frozenset({"CUSTOM_NOBODY", "TYPO"})
AGGREGATES = (frozenset({"a1", "a2"}), frozenset({"a3"}))


def knows(name: str) -> bool:
    return name not in UNKNOWN


def a_spec(
    extra_specs: dict[str, str] | None = None,
    properties: dict[str, Any] | None = None,
    **fields: Any,
) -> RequestSpec:
    """4 vCPUs, 2048 MB, 20 + 5 GB and 1500 MB of swap."""
    flavor = Flavor(
        vcpus=4,
        memory_mb=2048,
        root_gb=20,
        ephemeral_gb=5,
        swap=1500,
        extra_specs=extra_specs or {},
    )
    image = None if properties is None else Image(properties=properties)
    return RequestSpec(flavor=flavor, image=image, **fields)


def asked(
    spec: RequestSpec, known: Fleet | None = None, **options: Any
) -> tuple[CandidateRequest, ...]:
    return shape.candidate_requests(
        spec, SchedulerOptions(**options), known or Fleet(), knows, knows
    )


def groups(spec: RequestSpec) -> dict[str, RequestGroup]:
    return {group.suffix: group for group in asked(spec)[0].groups}


def amounts(extra_specs: dict[str, str], **fields: Any) -> dict[str, int]:
    return groups(a_spec(extra_specs, **fields))[""].resources


def required(labels: Labels) -> set[str]:
    assert all(len(names) == 1 for names in labels.required)
    return {name for names in labels.required for name in names}


SIZES = {"VCPU": 4, "MEMORY_MB": 2048, "DISK_GB": 27}


def test_plain_flavor_requests_its_sizes() -> None:
    assert asked(a_spec()) == (CandidateRequest((RequestGroup(resources=SIZES),)),)


def test_volume_needs_no_root_disk() -> None:
    assert amounts({}, is_bfv=True) == {**SIZES, "DISK_GB": 7}


def test_zero_disk_is_not_requested() -> None:
    spec = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=1))
    assert groups(spec)[""].resources == {"VCPU": 1, "MEMORY_MB": 1}


@pytest.mark.parametrize(
    ("extra_specs", "expected"),
    [
        ({"resources:VCPU": "2"}, {**SIZES, "VCPU": 2}),
        ({"resources:MEMORY_MB": " 7 "}, {**SIZES, "MEMORY_MB": 7}),
        ({"resources:DISK_GB": "0"}, {"VCPU": 4, "MEMORY_MB": 2048}),
        ({"resources:CUSTOM_GOLD": "1"}, {**SIZES, "CUSTOM_GOLD": 1}),
        ({"resources:VGPU": "0"}, SIZES),
        ({"resources:PCPU": "4"}, {"PCPU": 4, "MEMORY_MB": 2048, "DISK_GB": 27}),
        # Zero of either takes the flavor's CPUs away, too.
        ({"resources:PCPU": "0"}, {"MEMORY_MB": 2048, "DISK_GB": 27}),
        # A class that any group names is not taken from the flavor.
        ({"resources1:VCPU": "4"}, {"MEMORY_MB": 2048, "DISK_GB": 27}),
        ({"resource:VCPU": "9", "resources-VCPU": "9"}, SIZES),
        ({f"resources{'x' * 65}:VCPU": "9"}, SIZES),
        # An unknown class that nothing is wanted of does no harm.
        ({"resources:CUSTOM_NOBODY": "0"}, SIZES),
    ],
)
def test_amounts(extra_specs: dict[str, str], expected: dict[str, int]) -> None:
    assert amounts(extra_specs) == expected


def test_suffixed_groups_and_their_policy() -> None:
    extra_specs = {
        "resources1:VGPU": "1",
        "trait1:CUSTOM_A": "required",
        "resources_NET-2:FPGA": "2",
        "trait_NET-2:CUSTOM_B": "forbidden",
        "trait:CUSTOM_C": "required",
        "trait:CUSTOM_D": "forbidden",
        "resources3:FPGA": "0",
        "group_policy": "isolate",
    }
    (request,) = asked(a_spec(extra_specs))
    assert request.isolate
    assert request.groups == (
        RequestGroup(
            resources=SIZES,
            traits=Labels((frozenset({"CUSTOM_C"}),), frozenset({"CUSTOM_D"})),
        ),
        RequestGroup("1", {"VGPU": 1}, Labels((frozenset({"CUSTOM_A"}),))),
        RequestGroup("_NET-2", {"FPGA": 2}, Labels((), frozenset({"CUSTOM_B"}))),
    )


def test_group_of_traits_alone_has_its_own_provider() -> None:
    found = groups(a_spec({"trait1:CUSTOM_A": "required"}))
    assert found["1"] == RequestGroup("1", {}, Labels((frozenset({"CUSTOM_A"}),)))


# ------------------------------------------------------------------- ports and devices

PORT = ResourceGroup("port", {"NET_BW_EGR_KILOBIT_PER_SEC": 10}, frozenset({"T"}))


def test_port_and_device_groups_need_no_policy() -> None:
    other = ResourceGroup("device", {"FPGA": 1}, forbidden_traits=frozenset({"U"}))
    spec = a_spec({"resources1:VGPU": "1"}, requested_resources=(PORT, other))
    (request,) = asked(spec)
    assert not request.isolate
    assert [group.suffix for group in request.groups] == ["", "1", "device", "port"]
    assert request.groups[3].resources == PORT.resources
    assert required(request.groups[3].traits) == {"T"}


def test_several_flavor_groups_need_a_policy() -> None:
    with pytest.raises(Invalid, match="group_policy=none"):
        asked(a_spec({"resources1:VGPU": "1", "resources2:VGPU": "1"}))


def test_unnumbered_group_joins_the_unsuffixed_one() -> None:
    group = ResourceGroup(
        None,
        {"VGPU": 1, "CUSTOM_GOLD": 2},
        frozenset({"T"}),
        aggregates=(frozenset({"a"}),),
        use_same_provider=False,
    )
    spec = a_spec({"resources:CUSTOM_GOLD": "1"}, requested_resources=(group,))
    main = groups(spec)[""]
    assert main.resources == {**SIZES, "VGPU": 1, "CUSTOM_GOLD": 3}
    assert required(main.traits) == {"T"}
    assert main.member_of == Labels((frozenset({"a"}),))


@pytest.mark.parametrize(
    ("extra_specs", "group", "words"),
    [
        ({}, ResourceGroup(None, {"VGPU": 1}), "no requester_id"),
        ({}, ResourceGroup("x"), "'x' asks for nothing"),
        ({}, ResourceGroup("x", {"VGPU": 0}), "'x' asks for nothing"),
        ({"resourcesx:VGPU": "1"}, ResourceGroup("x", {"VGPU": 1}), "called 'x'"),
        ({}, ResourceGroup("x", {"VGPU": -1, "FPGA": 1}), "-1 VGPU"),
    ],
)
def test_invalid_port_and_device_groups_are_refused(
    extra_specs: dict[str, str], group: ResourceGroup, words: str
) -> None:
    with pytest.raises(Invalid, match=words):
        asked(a_spec(extra_specs, requested_resources=(group,)))


# ------------------------------------------------------------------------------ places


def test_destination_applies_to_the_unsuffixed_group() -> None:
    destination = Destination(
        aggregates=AGGREGATES, forbidden_aggregates=frozenset({"a4"})
    )
    spec = a_spec(requested_destination=destination, requested_resources=(PORT,))
    found = groups(spec)
    assert found[""].member_of == Labels(AGGREGATES, frozenset({"a4"}))
    assert not found["port"].member_of


def test_request_level_parameters() -> None:
    level = RequestLevel(
        frozenset({"R2", "R1"}), frozenset({"F"}), (frozenset({"port"}),)
    )
    spec = a_spec(request_level_params=level, requested_resources=(PORT,))
    (request,) = asked(spec)
    assert request.root_traits == Labels(
        (frozenset({"R1"}), frozenset({"R2"})), frozenset({"F"})
    )
    assert request.same_subtrees == (frozenset({"port"}),)
    assert request.nested
    assert request.limit is None


KNOWN = fleet(
    [
        a_host("h1", uuid="u1"),
        a_host("H2", uuid="u2"),
        a_host("ironic", node="n1", uuid="u3"),
        a_host("ironic", node="n2", uuid="u4"),
        a_host("bare"),
        a_host("far", uuid="u5", service={"cell_uuid": "c2"}),
    ]
).fleet


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"requested_destination": Destination("h1")}, "u1"),
        ({"requested_destination": Destination("h1", "h1")}, "u1"),
        ({"requested_destination": Destination("ironic")}, None),
        ({"requested_destination": Destination("ironic", "n2")}, "u4"),
        ({"requested_destination": Destination(node="n1")}, "u3"),
        ({"requested_destination": Destination()}, None),
        ({"force_hosts": ("h1",)}, "u1"),
        ({"force_hosts": ("h2",)}, "u2"),
        ({"force_hosts": ("ironic",), "force_nodes": ("n1",)}, "u3"),
        ({"force_nodes": ("n2",)}, "u4"),
        ({"force_hosts": ("bare",)}, None),
        ({"requested_destination": Destination("far", cell_uuid="c2")}, "u5"),
        ({"requested_destination": Destination("h1", cell_uuid="c2")}, "u1"),
        (
            {
                "requested_destination": Destination(
                    "far", cell_uuid="c1", allow_cross_cell_move=True
                )
            },
            "u5",
        ),
    ],
)
def test_forced_host_is_its_tree(fields: dict[str, Any], expected: str | None) -> None:
    (request,) = asked(a_spec(**fields), KNOWN)
    assert request.groups[0].in_tree == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"requested_destination": Destination("h9")},
        {"requested_destination": Destination("h1", "n1")},
        {"requested_destination": Destination(node="n9")},
        {"requested_destination": Destination("far", cell_uuid="c1")},
        {"force_hosts": ("h9",)},
    ],
)
def test_unknown_host_matches_nothing(fields: dict[str, Any]) -> None:
    with pytest.raises(NoValidHost, match="No such host - host: .* node: "):
        asked(a_spec(**fields), KNOWN)


# -------------------------------------------------- nothing is asked of the host itself

NOTHING = {"resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}


def test_empty_request_is_refused() -> None:
    with pytest.raises(Invalid, match="no resources at all"):
        asked(a_spec({**NOTHING, "trait:CUSTOM_A": "required"}))


def test_forced_host_applies_to_port_groups() -> None:
    spec = a_spec(NOTHING, requested_resources=(PORT,), force_hosts=("h1",))
    (request,) = asked(spec, KNOWN)
    assert [group.suffix for group in request.groups] == ["port"]
    assert request.groups[0].in_tree == "u1"


def test_aggregate_applies_to_the_added_group() -> None:
    spec = a_spec(
        {**NOTHING, "trait:CUSTOM_A": "forbidden"},
        requested_resources=(PORT,),
        requested_destination=Destination(aggregates=AGGREGATES),
    )
    main = groups(spec)[""]
    assert main.resources == {}
    assert main.member_of == Labels(AGGREGATES)


def test_inexpressible_forbidden_aggregate_is_refused() -> None:
    spec = a_spec(
        NOTHING,
        requested_resources=(PORT,),
        requested_destination=Destination(forbidden_aggregates=frozenset({"a9"})),
    )
    with pytest.raises(Invalid, match="a9"):
        asked(spec)


# --------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("extra_specs", "words"),
    [
        ({"resources:VCPU": "many"}, "resources:VCPU='many'"),
        ({"resources:VCPU": "-1"}, "resources:VCPU='-1'"),
        ({"resources:VCPU": "1.5"}, "resources:VCPU='1.5'"),
        ({"resources:VCPU": ""}, "resources:VCPU=''"),
        ({"resources2:VGPU": "٣"}, "resources2:VGPU="),
        ({"resources:VGPU": "9" * 5000}, "resources:VGPU="),
        ({"trait:CUSTOM_A": "maybe"}, "trait:CUSTOM_A='maybe'"),
        ({"trait7:CUSTOM_A": "Required"}, "trait7:CUSTOM_A='Required'"),
        ({"group_policy": "apart"}, "group_policy='apart'"),
        ({"trait1:CUSTOM_A": "forbidden"}, "group 1 says only"),
    ],
)
def test_invalid_extra_specs_are_refused(
    extra_specs: dict[str, str], words: str
) -> None:
    with pytest.raises(Invalid) as caught:
        asked(a_spec(extra_specs))
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("extra_specs", "words"),
    [
        ({"resources:TYPO": "1"}, "extra spec resources:TYPO asks"),
        ({"resources1:CUSTOM_NOBODY": "1"}, "extra spec resources1:CUSTOM_NOBODY"),
        ({"trait:CUSTOM_NOBODY": "required"}, "extra spec trait:CUSTOM_NOBODY asks"),
        ({"trait:CUSTOM_NOBODY": "forbidden"}, "extra spec trait:CUSTOM_NOBODY asks"),
    ],
)
def test_unknown_names_are_refused(extra_specs: dict[str, str], words: str) -> None:
    with pytest.raises(UnknownName) as caught:
        asked(a_spec(extra_specs))
    assert words in caught.value.message


def test_unknown_names_of_port_groups_are_refused() -> None:
    with pytest.raises(UnknownName, match="the request asks for the resource class"):
        asked(a_spec(requested_resources=(ResourceGroup("x", {"TYPO": 1}),)))
    level = RequestLevel(root_required=frozenset({"TYPO"}))
    with pytest.raises(UnknownName, match="TYPO of the host itself"):
        asked(a_spec(request_level_params=level))


def test_trait_required_and_forbidden_is_refused() -> None:
    properties = {"traits_required": ["CUSTOM_A"]}
    with pytest.raises(Invalid, match="CUSTOM_A is both .* the unsuffixed group"):
        asked(a_spec({"trait:CUSTOM_A": "forbidden"}, properties))
    level = RequestLevel(frozenset({"A"}), frozenset({"A"}))
    with pytest.raises(Invalid, match="A is both .* of the host itself"):
        asked(a_spec(request_level_params=level))
    # One provider with it and one without can well be had.
    asked(a_spec({"trait1:A": "required", "trait:A": "forbidden"}))


def test_same_subtree_names_existing_groups() -> None:
    level = RequestLevel(same_subtree=(frozenset({"port", "gone"}),))
    with pytest.raises(Invalid, match="'gone'"):
        asked(a_spec(request_level_params=level, requested_resources=(PORT,)))


# -------------------------------------------------------------- hosts without inventory


@pytest.mark.parametrize(
    ("extra_specs", "expected"),
    [
        ({}, (4, 2048, 27 * 1024)),
        ({"resources:VCPU": "1", "resources:DISK_GB": "0"}, (1, 2048, 0)),
        ({"hw:cpu_policy": "dedicated"}, (4, 2048, 27 * 1024)),
        (
            {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0"},
            (4, 2048, 27 * 1024),
        ),
    ],
)
def test_amounts_without_inventories(
    extra_specs: dict[str, str], expected: tuple[int, int, int]
) -> None:
    found = shape.resources(a_spec(extra_specs), SchedulerOptions())
    assert tuple(found) == ("vcpus", "memory_mb", "disk_mb")
    assert tuple(found.values()) == expected


def test_classes_without_reports_are_refused() -> None:
    with pytest.raises(NoValidHost, match="1 VGPU in group 1"):
        shape.resources(a_spec({"resources1:VGPU": "1"}), SchedulerOptions())


# ----------------------------------------------------------------------------- anything

KEYS = (
    "resources:VCPU",
    "resources:PCPU",
    "resources1:VGPU",
    "resources2:CUSTOM_X",
    "trait:HW_CPU_HYPERTHREADING",
    "trait1:A",
    "traits:A",
    "group_policy",
    "hw:cpu_policy",
    "hw:cpu_thread_policy",
    "hw:emulator_threads_policy",
    "hw:cpu_dedicated_mask",
    "hw:cpu_realtime",
    "hw:cpu_realtime_mask",
    "hw:mem_encryption",
    "hw:mem_encryption_model",
    "hw:pmem",
    "hw:tpm_version",
    "hw:tpm_model",
    "hw:pci_numa_affinity_policy",
    "os:secure_boot",
    "hw:maxphysaddr_mode",
    "resources",
    "trait:",
    ":",
    "",
)
PROPERTIES = tuple(
    (
        "hw_cpu_policy hw_cpu_thread_policy hw_cpu_realtime_mask "
        "hw_mem_encryption hw_mem_encryption_model hw_firmware_type "
        "hw_firmware_stateless hw_tpm_version hw_tpm_model os_secure_boot "
        "hw_pci_numa_affinity_policy hw_maxphysaddr_mode traits_required"
    ).split()
)
VALUES = st.sampled_from(
    "0 1 4 5 -1 required forbidden none isolate require prefer share dedicated mixed "
    "shared true false 1.2 2.0 tpm-tis tpm-crb amd-sev socket uefi emulate ^0 0-1 0-9 "
    "1-0 ^0,^1 a,b , - ^ 3-".split()
) | st.text(max_size=8)
ANYTHING = VALUES | st.none() | st.booleans() | st.integers() | st.lists(VALUES)


@given(
    extra_specs=st.dictionaries(st.sampled_from(KEYS) | st.text(), VALUES),
    properties=st.none() | st.dictionaries(st.sampled_from(PROPERTIES), ANYTHING),
    vcpus=st.integers(-1, 8) | st.integers(),
    disk=st.integers(-1, 8),
)
def test_any_request_has_an_answer_or_a_reason(
    extra_specs: dict[str, str],
    properties: dict[str, Any] | None,
    vcpus: int,
    disk: int,
) -> None:
    image = None if properties is None else Image(properties=properties)
    flavor = Flavor(vcpus, 1, disk, swap=disk, extra_specs=extra_specs)
    spec = RequestSpec(flavor=flavor, image=image)
    try:
        questions = asked(spec)
    except GanttError as refusal:
        assert len(refusal.message) > 20
    else:
        assert 1 <= len(questions) <= 2
        for question in questions:
            assert question.groups
            for group in question.groups:
                assert all(amount > 0 for amount in group.resources.values())
                assert not required(group.traits) & group.traits.forbidden
    try:
        shape.resources(spec, SchedulerOptions())
        shape.required_traits(spec)
    except GanttError as refusal:
        assert refusal.message
