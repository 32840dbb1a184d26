"""ImagePropertiesFilter: hosts that can run the image."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from gantt.errors import Invalid
from gantt.model.spec import RequestSpec
from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.image_properties import ImagePropertiesFilter
from tests.scheduler.filters.reading import check, passes, with_image
from tests.scheduler.fleets import Plain, Plan, a_host, fleets, request, specs

KVM = [["x86_64", "kvm", "hvm"]]
XEN = [["i686", "xen", "xen"], ["x86_64", "xen", "hvm"]]


@pytest.mark.parametrize(
    ("asked", "supported", "expected"),
    [
        ({}, None, True),
        ({"hw_disk_bus": "virtio"}, None, True),
        ({"hw_architecture": "x86_64"}, KVM, True),
        ({"hw_architecture": "aarch64"}, KVM, False),
        ({"hw_architecture": "x86_64"}, None, False),
        ({"hw_architecture": "x86_64"}, [], False),
        ({"hw_architecture": "x86_64"}, "x86_64", False),
        ({"hw_architecture": "x86_64"}, ["x86_64", {}], False),
        ({"img_hv_type": "kvm"}, KVM, True),
        ({"img_hv_type": "qemu"}, KVM, False),
        ({"hw_vm_mode": "hvm"}, KVM, True),
        ({"hw_vm_mode": "xen"}, KVM, False),
        # All of it in one triple.
        ({"hw_architecture": "x86_64", "hw_vm_mode": "hvm"}, XEN, True),
        ({"hw_architecture": "i686", "hw_vm_mode": "hvm"}, XEN, False),
        # Other names for the same.
        ({"hw_architecture": "amd64"}, KVM, True),
        ({"hw_architecture": "X86_64"}, KVM, True),
        ({"hw_architecture": "x86_64"}, [["amd64", "kvm", "hvm"]], True),
        ({"hw_architecture": "i386"}, XEN, True),
        ({"img_hv_type": "xapi"}, XEN, True),
        ({"hw_vm_mode": "pv"}, XEN, True),
        ({"hw_vm_mode": "hv"}, KVM, True),
        ({"hw_vm_mode": "baremetal"}, KVM, True),
        ({"img_hv_type": "QEMU"}, [["x86_64", "qemu", "hvm"]], True),
    ],
)
def test_triples(asked: dict[str, str], supported: Any, expected: bool) -> None:
    host = a_host(supported_instances=supported)
    assert passes(ImagePropertiesFilter(), host, with_image(**asked)) is expected


@pytest.mark.parametrize(
    ("version", "wanted", "expected"),
    [
        (6_002_000, ">=6.0", True),
        (6_002_000, ">= 6.2", True),
        (6_002_000, ">6.2", False),
        (6_002_000, "==6.2", True),
        (6_002_000, "!=6.2.0", False),
        (1_002_003, ">=1.0, <2.0", True),
        (1_002_003, "==1.2.3", True),
        (1_002_003, "<=1.2.2", False),
        (2_000_000, ">=1.0, <2.0", False),
        (6_010_000, ">6.9", True),
        # Not known.
        (None, ">=6.0", True),
        (0, ">=6.0", True),
    ],
)
def test_versions(version: int | None, wanted: str, expected: bool) -> None:
    host = a_host(supported_instances=KVM, hypervisor_version=version)
    asked = with_image(img_hv_type="kvm", img_hv_requested_version=wanted)
    assert passes(ImagePropertiesFilter(), host, asked) is expected


@pytest.mark.parametrize(
    ("cpu_info", "bits", "expected"),
    [
        ({"maxphysaddr": {"bits": 46}}, 42, True),
        ({"maxphysaddr": {"bits": 46}}, 46, True),
        ({"maxphysaddr": {"bits": 46}}, 52, False),
        ({"maxphysaddr": {"bits": 46}}, "52", False),
        ({}, 52, True),
        (None, 52, True),
        ({"maxphysaddr": {"bits": "wide"}}, 52, True),
        ('{"maxphysaddr": {"bits": 46}}', 52, False),
    ],
)
def test_widths(cpu_info: Any, bits: int | str, expected: bool) -> None:
    host = a_host(supported_instances=KVM, cpu_info=cpu_info)
    asked = with_image(img_hv_type="kvm", hw_maxphysaddr_bits=bits)
    assert passes(ImagePropertiesFilter(), host, asked) is expected


def test_version_or_width_alone_requires_nothing() -> None:
    host = a_host(hypervisor_version=1, cpu_info={"maxphysaddr": {"bits": 1}})
    asked = with_image(img_hv_requested_version=">=9.0", hw_maxphysaddr_bits=52)
    assert passes(ImagePropertiesFilter(), host, asked)


def test_default_architecture_applies_to_every_image() -> None:
    options: dict[str, Any] = {"image_properties_default_architecture": "aarch64"}
    host = a_host(supported_instances=KVM)
    assert not passes(ImagePropertiesFilter(), host, **options)
    assert not passes(ImagePropertiesFilter(), host, with_image(), **options)
    own = with_image(hw_architecture="x86_64")
    assert passes(ImagePropertiesFilter(), host, own, **options)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("img_hv_requested_version", "6.0"),
        ("img_hv_requested_version", ">= six"),
        ("img_hv_requested_version", ">=6.0,"),
        ("img_hv_requested_version", ""),
        ("hw_maxphysaddr_bits", "many"),
        ("hw_maxphysaddr_bits", [1]),
    ],
)
def test_invalid_value_is_named(name: str, value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        passes(ImagePropertiesFilter(), a_host(), with_image(**{name: value}))
    assert f"{name}={value!r}" in refused.value.message


NAMES = {"amd64": "x86_64", "hv": "hvm", "xapi": "xen"}


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    image = asked.spec.image
    properties = {} if image is None else image.properties
    wanted = [
        NAMES.get(properties[name], properties[name])
        for name in ("hw_architecture", "img_hv_type", "hw_vm_mode")
        if name in properties
    ]
    if not wanted:
        return True
    triples = [
        [NAMES.get(one, one) for one in triple]
        for triple in host.get("supported_instances") or ()
    ]
    if not any(all(one in triple for one in wanted) for triple in triples):
        return False
    number = host.get("hypervisor_version")
    if number:
        version = (number // 1_000_000, number // 1000 % 1000, number % 1000)
        needed = properties.get("img_hv_requested_version")
        if needed == ">=6.0" and version < (6, 0, 0):
            return False
        if needed == ">=1.2, <2.0" and not (1, 2, 0) <= version < (2, 0, 0):
            return False
    width = (host.get("cpu_info") or {}).get("maxphysaddr", {}).get("bits", 1000)
    return bool(properties.get("hw_maxphysaddr_bits", 0) <= width)


@given(fleets(), specs())
def test_mask_equals_the_rule_per_host(plan: Plan, spec: RequestSpec) -> None:
    check(ImagePropertiesFilter(), plan, request(spec), _reading)
