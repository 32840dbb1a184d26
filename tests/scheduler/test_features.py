"""Features that flavor or image ask for, as traits and amounts; PCI devices."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from gantt.errors import Invalid
from gantt.model.spec import ResourceGroup
from gantt.scheduler.request import requested_devices, settings
from tests.scheduler.test_shape import SIZES, a_spec, groups, required

Properties = dict[str, Any]
TIS, CRB = "COMPUTE_SECURITY_TPM_TIS", "COMPUTE_SECURITY_TPM_CRB"
V1, V2 = "COMPUTE_SECURITY_TPM_1_2", "COMPUTE_SECURITY_TPM_2_0"
STATELESS = {"hw_firmware_stateless": True, "hw_firmware_type": "uefi"}


@pytest.mark.parametrize(
    ("extra_specs", "properties", "traits"),
    [
        ({}, {}, set()),
        ({}, {"traits_required": ["CUSTOM_A", "CUSTOM_B"]}, {"CUSTOM_A", "CUSTOM_B"}),
        ({"hw:tpm_version": "2.0"}, {}, {V2, TIS}),
        ({"hw:tpm_version": "1.2", "hw:tpm_model": "tpm-tis"}, {}, {V1, TIS}),
        ({"hw:tpm_model": "tpm-crb"}, {"hw_tpm_version": "2.0"}, {V2, CRB}),
        ({"hw:tpm_version": "2.0"}, {"hw_tpm_version": "2.0"}, {V2, TIS}),
        (
            {"hw:pci_numa_affinity_policy": "socket"},
            {},
            {"COMPUTE_SOCKET_PCI_NUMA_AFFINITY"},
        ),
        ({"hw:pci_numa_affinity_policy": "required"}, {}, set()),
        ({"os:secure_boot": "required"}, {}, {"COMPUTE_SECURITY_UEFI_SECURE_BOOT"}),
        ({}, {"os_secure_boot": "required"}, {"COMPUTE_SECURITY_UEFI_SECURE_BOOT"}),
        ({"os:secure_boot": "optional"}, {}, set()),
        (
            {"hw:maxphysaddr_mode": "passthrough"},
            {},
            {"COMPUTE_ADDRESS_SPACE_PASSTHROUGH"},
        ),
        ({}, {"hw_maxphysaddr_mode": "emulate"}, {"COMPUTE_ADDRESS_SPACE_EMULATED"}),
        ({}, STATELESS, {"COMPUTE_SECURITY_STATELESS_FIRMWARE"}),
        ({}, {"hw_firmware_stateless": False}, set()),
        ({}, {"hw_firmware_stateless": None}, set()),
    ],
)
def test_traits(
    extra_specs: dict[str, str], properties: Properties, traits: set[str]
) -> None:
    main = groups(a_spec(extra_specs, properties))[""]
    assert required(main.traits) == traits
    assert main.resources == SIZES


@pytest.mark.parametrize(
    ("extra_specs", "properties", "trait"),
    [
        ({"hw:mem_encryption": "true"}, {}, "HW_CPU_X86_AMD_SEV"),
        ({}, {"hw_mem_encryption": True}, "HW_CPU_X86_AMD_SEV"),
        (
            {"hw:mem_encryption": "1", "hw:mem_encryption_model": "amd-sev-es"},
            {"hw_mem_encryption": "yes"},
            "HW_CPU_X86_AMD_SEV_ES",
        ),
        (
            {"hw:mem_encryption": "on"},
            {"hw_mem_encryption_model": "intel-tdx"},
            "HW_CPU_X86_INTEL_TDX",
        ),
    ],
)
def test_memory_encryption(
    extra_specs: dict[str, str], properties: Properties, trait: str
) -> None:
    main = groups(a_spec(extra_specs, properties))[""]
    assert main.resources == {**SIZES, "MEM_ENCRYPTION_CONTEXT": 1}
    assert required(main.traits) == {trait}


def test_no_memory_encryption() -> None:
    extra_specs = {"hw:mem_encryption": "false", "hw:mem_encryption_model": "amd-sev"}
    assert groups(a_spec(extra_specs))[""].resources == SIZES


def test_persistent_memory() -> None:
    main = groups(a_spec({"hw:pmem": "4GB, small-1,4GB"}))[""]
    assert main.resources == {
        **SIZES,
        "CUSTOM_PMEM_NAMESPACE_4GB": 2,
        "CUSTOM_PMEM_NAMESPACE_SMALL_1": 1,
    }


@pytest.mark.parametrize(
    ("extra_specs", "properties", "words"),
    [
        ({}, {"traits_required": "CUSTOM_A"}, "traits_required='CUSTOM_A'"),
        ({}, {"traits_required": [1]}, "traits_required=[1]"),
        ({"hw:mem_encryption": "maybe"}, {}, "hw:mem_encryption='maybe'"),
        ({}, {"hw_mem_encryption": 3}, "hw_mem_encryption=3"),
        (
            {"hw:mem_encryption": "true"},
            {"hw_mem_encryption": False},
            "hw_mem_encryption=False",
        ),
        (
            {"hw:mem_encryption": "true", "hw:mem_encryption_model": "rot13"},
            {},
            "hw:mem_encryption_model='rot13'",
        ),
        ({"hw:pmem": "a,,b"}, {}, "hw:pmem='a,,b'"),
        ({"hw:tpm_version": "3"}, {}, "hw:tpm_version='3'"),
        ({}, {"hw_tpm_version": "3"}, "image property hw_tpm_version='3'"),
        ({"hw:tpm_model": "tpm-crb"}, {}, "without hw:tpm_version"),
        ({"hw:tpm_version": "1.2", "hw:tpm_model": "tpm-crb"}, {}, "does not exist"),
        ({"hw:tpm_version": "1.2"}, {"hw_tpm_version": "2.0"}, "let them agree"),
        ({"os:secure_boot": "sure"}, {}, "os:secure_boot='sure'"),
        ({"hw:maxphysaddr_mode": "big"}, {}, "hw:maxphysaddr_mode='big'"),
        ({"hw:pci_numa_affinity_policy": "x"}, {}, "hw:pci_numa_affinity_policy='x'"),
        ({}, {"hw_firmware_stateless": True}, "needs hw_firmware_type=uefi"),
    ],
)
def test_invalid_features_are_refused(
    extra_specs: dict[str, str], properties: Properties, words: str
) -> None:
    with pytest.raises(Invalid) as caught:
        groups(a_spec(extra_specs, properties))
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((text, True) for text in (True, 1, "1", "t", "True", " on ", "y", "YES")),
        *((text, False) for text in (False, 0, "0", "f", "false", "Off", "n", "no")),
        ("", False),
    ],
)
def test_boolean_values(value: object, expected: bool) -> None:
    assert settings.truth("key", value) is expected


# ------------------------------------------------------------------------- PCI devices

PCI = {
    "request_id": "r1",
    "alias_name": "gpu",
    "count": 2,
    "spec": [{"vendor_id": "10de", "product_id": "1eb8"}],
}
MANAGED = "COMPUTE_MANAGED_PCI_DEVICE"


def device_groups(*requests: dict[str, Any]) -> tuple[ResourceGroup, ...]:
    spec = a_spec(pci_requests=requests)
    known = {"HW_GPU_API_VULKAN"}
    return requested_devices.with_groups(
        spec, (), known.__contains__
    ).requested_resources


def with_spec(**fields: Any) -> dict[str, Any]:
    return {**PCI, "count": 1, "spec": [fields]}


def test_each_flavor_device_has_a_group() -> None:
    assert device_groups(PCI) == tuple(
        ResourceGroup(suffix, {"CUSTOM_PCI_10DE_1EB8": 1}, frozenset({MANAGED}))
        for suffix in ("r1-0", "r1-1")
    )
    assert device_groups({**PCI, "count": 0}) == ()


def test_port_and_grouped_devices_get_no_group() -> None:
    assert device_groups({**PCI, "alias_name": None}) == ()
    mine = ResourceGroup("r1-1", {"VGPU": 1})
    spec = a_spec(pci_requests=(PCI,), requested_resources=(mine,))
    found = requested_devices.with_groups(spec, (), bool).requested_resources
    assert [group.requester_id for group in found] == ["r1-1", "r1-0"]
    whole = structs.replace(spec, requested_resources=found)
    assert requested_devices.with_groups(whole, (), bool) is whole


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("gpu.big", "CUSTOM_GPU_BIG"),
        ("CUSTOM_GPU", "CUSTOM_GPU"),
        ("pgpu", "PGPU"),
    ],
)
def test_device_resource_class(named: str, expected: str) -> None:
    (group,) = device_groups(with_spec(resource_class=named))
    assert group.resources == {expected: 1}


def test_device_traits() -> None:
    traits = "hw_gpu_api_vulkan, blue-ish,custom_x"
    (group,) = device_groups(with_spec(resource_class="g", traits=traits))
    assert group.required_traits == {
        MANAGED,
        "HW_GPU_API_VULKAN",
        "CUSTOM_BLUE_ISH",
        "CUSTOM_X",
    }


@pytest.mark.parametrize(("value", "is_required"), [("yes", True), ("no", False)])
def test_device_live_migration(value: str, is_required: bool) -> None:
    (group,) = device_groups(with_spec(resource_class="g", live_migratable=value))
    trait = "HW_PCI_LIVE_MIGRATABLE"
    assert (trait in group.required_traits) is is_required
    assert (trait in group.forbidden_traits) is not is_required


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({}, "count=None"),
        ({**PCI, "count": -1}, "count=-1"),
        ({**PCI, "count": 10**9}, "count=1000000000"),
        ({**PCI, "spec": {}}, r"spec=\[\], which no device"),
        ({**PCI, "spec": "x"}, "spec='x'"),
        ({**PCI, "spec": [1]}, "spec=\\[1\\]"),
        ({**PCI, "spec": [{}, {}]}, "2 specs"),
        ({**PCI, "request_id": None}, "request_id None"),
        (with_spec(vendor_id="8086"), "product_id"),
        (with_spec(resource_class="g", live_migratable="often"), "live_migratable"),
    ],
)
def test_invalid_devices_are_refused(entry: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        device_groups(entry)


ALIASES: tuple[dict[str, Any], ...] = (
    {"name": "gpu", "resource_class": "GPU", "numa_policy": "legacy"},
    {"name": "nic", "vendor_id": "8086", "product_id": "1572"},
    {"name": "any", "resource_class": "A"},
    {"name": "any", "resource_class": "B"},
)


def alias_groups(text: str, **fields: Any) -> dict[str | None, dict[str, int]]:
    spec = a_spec({"pci_passthrough:alias": text}, **fields)
    found = requested_devices.with_groups(spec, ALIASES, bool).requested_resources
    return {group.requester_id: group.resources for group in found}


def test_flavor_aliases() -> None:
    assert alias_groups("gpu:2, nic:1") == {
        "gpu-0": {"CUSTOM_GPU": 1},
        "gpu-1": {"CUSTOM_GPU": 1},
        "nic-0": {"CUSTOM_PCI_8086_1572": 1},
    }
    # Who wrote the flavor's devices down already knows them better.
    assert set(alias_groups("nic:1", pci_requests=(PCI,))) == {"r1-0", "r1-1"}
    port = {**PCI, "alias_name": None}
    assert set(alias_groups("nic:1", pci_requests=(port,))) == {"nic-0"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpu", "'gpu' is not NAME:COUNT"),
        ("gpu:x", "'gpu:x' is not NAME:COUNT"),
        ("gpu:1,", "'' is not NAME:COUNT"),
        ("tpu:1", "no alias 'tpu'"),
        ("gpu:99999", "more than 1024 devices"),
        ("any:1", "2 specs"),
    ],
)
def test_invalid_aliases_are_refused(text: str, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        alias_groups(text)
