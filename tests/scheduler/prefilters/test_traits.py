"""Pre-filters that ask traits of the host itself, and those that refuse."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.errors import GanttError, Invalid
from gantt.model.spec import (
    Destination,
    Flavor,
    Image,
    RequestLevel,
    RequestSpec,
    ResourceGroup,
)
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request import prefilters
from gantt.scheduler.request.prefilters.context import PrefilterContext
from gantt.state.fleet_columns import Fleet
from tests.scheduler.fleets import a_host, fleet
from tests.scheduler.test_shape import ANYTHING, KEYS, PROPERTIES, VALUES

DISABLED = "COMPUTE_STATUS_DISABLED"
UNKNOWN = frozenset({"COMPUTE_IMAGE_TYPE_ODD", "COMPUTE_GRAPHICS_MODEL_ODD"})
ENCRYPTED = "COMPUTE_EPHEMERAL_ENCRYPTION"
SECRET = "COMPUTE_SECURITY_TPM_SECRET_SECURITY"
NO_FLEET = Fleet()


def applied(
    spec: RequestSpec,
    known: Fleet = NO_FLEET,
    *,
    is_remote: bool = False,
    **options: Any,
) -> RequestSpec:
    context = PrefilterContext(
        known,
        SchedulerOptions(**options),
        lambda name: name not in UNKNOWN,
        is_remote=is_remote,
    )
    return prefilters.apply(spec, context)


def added(
    spec: RequestSpec,
    known: Fleet = NO_FLEET,
    *,
    is_remote: bool = False,
    **options: Any,
) -> set[str]:
    found = applied(spec, known, is_remote=is_remote, **options)
    return {*found.request_level_params.root_required}


def a_spec(
    extra_specs: dict[str, str] | None = None,
    properties: dict[str, Any] | None = None,
    disk_format: str | None = None,
    **fields: Any,
) -> RequestSpec:
    return RequestSpec(
        flavor=Flavor(extra_specs=extra_specs or {}),
        image=Image(disk_format=disk_format, properties=properties or {}),
        **fields,
    )


def test_disabled_hosts_are_forbidden() -> None:
    spec = RequestSpec(image=None)
    found = applied(spec)
    assert found.request_level_params == RequestLevel(
        root_forbidden=frozenset({DISABLED})
    )
    assert found.requested_destination is None
    # The caller's own value is as it was.
    assert spec == RequestSpec()


def test_request_level_traits_are_kept() -> None:
    level = RequestLevel(frozenset({"A"}), frozenset({"B"}), (frozenset({"s"}),))
    spec = a_spec({"accel:device_profile": "p"}, request_level_params=level)
    assert applied(spec).request_level_params == RequestLevel(
        frozenset({"A", "COMPUTE_ACCELERATORS"}),
        frozenset({"B", DISABLED}),
        (frozenset({"s"}),),
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (a_spec(disk_format="qcow2"), {"COMPUTE_IMAGE_TYPE_QCOW2"}),
        (a_spec(disk_format="odd"), set()),
        (a_spec(disk_format="raw", is_bfv=True), set()),
        (a_spec(), set()),
        (RequestSpec(), set()),
    ],
)
def test_image_types(spec: RequestSpec, expected: set[str]) -> None:
    assert added(spec, query_placement_for_image_type_support=True) == expected
    assert added(spec) == set()


DEVICES = {
    "hw_cdrom_bus": ("sata", "COMPUTE_STORAGE_BUS_SATA"),
    "hw_disk_bus": ("virtio", "COMPUTE_STORAGE_BUS_VIRTIO"),
    "hw_video_model": ("qxl", "COMPUTE_GRAPHICS_MODEL_QXL"),
    "hw_vif_model": ("VirtualE1000", "COMPUTE_NET_VIF_MODEL_VIRTUALE1000"),
    "hw_architecture": ("x86-64", "HW_ARCH_X86_64"),
    "hw_emulation_architecture": ("aarch64", "COMPUTE_ARCH_AARCH64"),
    "hw_viommu_model": ("smmuv3", "COMPUTE_VIOMMU_SMMUV3"),
}


@pytest.mark.parametrize("name", DEVICES)
def test_devices_of_images(name: str) -> None:
    value, trait = DEVICES[name]
    spec = a_spec(properties={name: value, "os_type": "linux"})
    assert added(spec, image_metadata_prefilter=True) == {trait}
    assert added(spec) == set()


def test_device_without_a_trait_disables_image_traits() -> None:
    spec = a_spec(properties={"hw_disk_bus": "virtio", "hw_video_model": "odd"})
    assert added(spec, image_metadata_prefilter=True) == set()
    nothing = a_spec(properties={"hw_disk_bus": None})
    assert added(nothing, image_metadata_prefilter=True) == set()
    assert added(RequestSpec(), image_metadata_prefilter=True) == set()


@pytest.mark.parametrize(
    ("extra_specs", "properties", "expected"),
    [
        ({"accel:device_profile": "gpu"}, {}, {"COMPUTE_ACCELERATORS"}),
        ({"accel:device_profile": ""}, {}, set()),
        ({"hw:virtio_packed_ring": "true"}, {}, {"COMPUTE_NET_VIRTIO_PACKED"}),
        ({}, {"hw_virtio_packed_ring": True}, {"COMPUTE_NET_VIRTIO_PACKED"}),
        ({"hw:virtio_packed_ring": "0"}, {"hw_virtio_packed_ring": False}, set()),
        ({"hw:ephemeral_encryption": "yes"}, {}, {ENCRYPTED}),
        (
            {"hw:ephemeral_encryption": "yes"},
            {"hw_ephemeral_encryption_format": "luks"},
            {ENCRYPTED, f"{ENCRYPTED}_LUKS"},
        ),
        ({"hw:ephemeral_encryption_format": "luks"}, {}, set()),
        ({"hw:sound_model": "virtio"}, {}, {"COMPUTE_SOUND_MODEL_VIRTIO"}),
        ({}, {"hw_sound_model": "virtio"}, {"COMPUTE_SOUND_MODEL_VIRTIO"}),
        ({"hw:sound_model": "ich9"}, {}, set()),
        ({"hw:tpm_version": "2.0"}, {}, {f"{SECRET}_USER"}),
        ({}, {"hw_tpm_version": "1.2"}, {f"{SECRET}_USER"}),
        (
            {"hw:tpm_version": "2.0", "hw:tpm_secret_security": "host"},
            {},
            {f"{SECRET}_HOST"},
        ),
        (
            {"hw:tpm_version": "2.0", "hw:tpm_secret_security": "deployment"},
            {},
            {f"{SECRET}_DEPLOYMENT"},
        ),
        ({"hw:tpm_secret_security": "nobody"}, {}, set()),
    ],
)
def test_traits_of_features(
    extra_specs: dict[str, str], properties: dict[str, Any], expected: set[str]
) -> None:
    assert added(a_spec(extra_specs, properties)) == expected


@pytest.mark.parametrize(
    ("extra_specs", "properties", "words"),
    [
        (
            {"hw:virtio_packed_ring": "true"},
            {"hw_virtio_packed_ring": "false"},
            "hw:virtio_packed_ring='true'",
        ),
        ({"hw:ephemeral_encryption": "some"}, {}, "hw:ephemeral_encryption='some'"),
        (
            {"hw:sound_model": "virtio"},
            {"hw_sound_model": "usb"},
            "hw_sound_model='usb'",
        ),
        (
            {"hw:tpm_version": "2.0", "hw:tpm_secret_security": "me"},
            {},
            "hw:tpm_secret_security='me'",
        ),
        ({"hw:tpm_version": "2"}, {}, "hw:tpm_version='2'"),
    ],
)
def test_invalid_features_are_refused(
    extra_specs: dict[str, str], properties: dict[str, Any], words: str
) -> None:
    with pytest.raises(Invalid) as caught:
        applied(a_spec(extra_specs, properties))
    assert words in caught.value.message


# ------------------------------------------------------------- what Nova asks Neutron


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ({"remote_managed": "True"}, {"COMPUTE_REMOTE_MANAGED_PORTS"}),
        ({"remote_managed": "False"}, set()),
        ({"remote_managed": None}, set()),
        ({}, set()),
    ],
)
def test_remote_managed_ports(tag: dict[str, str], expected: set[str]) -> None:
    request = {"count": 1, "request_id": "r", "spec": [{"vendor_id": "1"}, tag]}
    assert added(RequestSpec(pci_requests=(request,))) == expected


# ------------------------------------------------------------------------------ owners


def computes(*versions: int | None) -> Fleet:
    hosts = [
        a_host(f"h{place}", service={"version": version})
        for place, version in enumerate(versions)
    ]
    other = a_host("other", service={"binary": "nova-conductor", "version": 1})
    return fleet([*hosts, other]).fleet


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ((), set()),
        ((72,), set()),
        ((73,), {"OWNER_NOVA"}),
        ((73, 80), {"OWNER_NOVA"}),
        ((80, 72), set()),
        ((80, None), set()),
    ],
)
def test_providers_are_marked_when_every_compute_marks_them(
    versions: tuple[int | None, ...], expected: set[str]
) -> None:
    assert added(RequestSpec(), computes(*versions), is_remote=True) == expected


@pytest.mark.parametrize("version", [72, 73, 80])
def test_hosts_of_the_books_here_need_no_mark(version: int) -> None:
    assert added(RequestSpec(), computes(version)) == set()


PCI = {
    "request_id": "r1",
    "alias_name": "gpu",
    "count": 1,
    "spec": [{"resource_class": "gpu"}],
}


def test_devices_are_marked_as_well() -> None:
    spec = RequestSpec(
        pci_requests=(PCI,),
        requested_resources=(ResourceGroup("port", {"VGPU": 1}, frozenset({"T"})),),
    )
    port, device = applied(
        spec, computes(73), pci_in_placement=True
    ).requested_resources
    assert port.required_traits == {"T"}
    assert device.requester_id == "r1-0"
    assert device.resources == {"CUSTOM_GPU": 1}
    assert device.required_traits == {"COMPUTE_MANAGED_PCI_DEVICE", "OWNER_NOVA"}
    assert applied(spec, computes(73)).requested_resources == spec.requested_resources


def test_requested_owner_trait_is_not_repeated() -> None:
    level = RequestLevel(root_required=frozenset({"OWNER_NOVA"}))
    spec = RequestSpec(request_level_params=level)
    assert added(spec, computes(73)) == {"OWNER_NOVA"}


# ----------------------------------------------------------------------- contradictions


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"force_hosts": ("H1",), "ignore_hosts": ("h1", "h2")}, "all of force_hosts"),
        (
            {"requested_destination": Destination("h1"), "ignore_hosts": ("H1",)},
            "h1 is in ignore_hosts",
        ),
        (
            {"requested_destination": Destination("h1"), "force_hosts": ("h2",)},
            "asks for host h1 and forces h2",
        ),
        (
            {"requested_destination": Destination(aggregates=(frozenset(),))},
            "an empty set",
        ),
    ],
)
def test_contradictory_hosts_are_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        applied(RequestSpec(**fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"force_hosts": ("h1", "h2"), "ignore_hosts": ("h1",)},
        {"requested_destination": Destination("h1"), "force_hosts": ("H1",)},
        {"requested_destination": Destination("h1"), "ignore_hosts": ("h2",)},
    ],
)
def test_consistent_hosts_are_accepted(fields: dict[str, Any]) -> None:
    applied(RequestSpec(**fields))


@given(
    extra_specs=st.dictionaries(
        st.sampled_from(
            (*KEYS, "hw:sound_model", "hw:virtio_packed_ring", "hw:tpm_secret_security")
        ),
        VALUES,
    ),
    properties=st.dictionaries(st.sampled_from((*PROPERTIES, *DEVICES)), ANYTHING),
    disk_format=st.none() | st.text(max_size=3),
)
def test_any_request_is_extended_or_refused(
    extra_specs: dict[str, str], properties: dict[str, Any], disk_format: str | None
) -> None:
    spec = a_spec(extra_specs, properties, disk_format)
    try:
        found = applied(
            spec,
            query_placement_for_image_type_support=True,
            image_metadata_prefilter=True,
            enable_isolated_aggregate_filtering=True,
        )
    except GanttError as refusal:
        assert len(refusal.message) > 20
    else:
        assert found.request_level_params.root_forbidden == {DISABLED}
        assert found.flavor is spec.flavor
