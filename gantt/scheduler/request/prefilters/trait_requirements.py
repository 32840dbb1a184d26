"""Pre-filters that require or forbid a trait of the host."""

from __future__ import annotations

from typing import Final

from msgspec import structs

from gantt.errors import Invalid
from gantt.model.spec import RequestSpec
from gantt.scheduler.request import requested_devices, settings
from gantt.scheduler.request.features import asks_tpm
from gantt.scheduler.request.prefilters.additions import forbid, require
from gantt.scheduler.request.prefilters.context import PrefilterContext

_DISABLED: Final = "COMPUTE_STATUS_DISABLED"
_DEVICE_TRAITS: Final = {
    "hw_cdrom_bus": "COMPUTE_STORAGE_BUS_",
    "hw_disk_bus": "COMPUTE_STORAGE_BUS_",
    "hw_video_model": "COMPUTE_GRAPHICS_MODEL_",
    "hw_vif_model": "COMPUTE_NET_VIF_MODEL_",
    "hw_architecture": "HW_ARCH_",
    "hw_emulation_architecture": "COMPUTE_ARCH_",
    "hw_viommu_model": "COMPUTE_VIOMMU_",
}
_ENCRYPTION: Final = "COMPUTE_EPHEMERAL_ENCRYPTION"
_TPM_POLICY: Final = "hw:tpm_secret_security"
_TPM_TRAITS: Final = {
    "user": "COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER",
    "host": "COMPUTE_SECURITY_TPM_SECRET_SECURITY_HOST",
    "deployment": "COMPUTE_SECURITY_TPM_SECRET_SECURITY_DEPLOYMENT",
}
_OWNER: Final = "OWNER_NOVA"
_MARKED_SINCE: Final = 73
"""The version of nova-compute that marks its providers."""


def image_type(spec: RequestSpec, context: PrefilterContext) -> RequestSpec:
    """The trait of the disk format; a format without a trait requires nothing."""
    if not context.options.query_placement_for_image_type_support or spec.is_bfv:
        return spec
    disk_format = spec.image.disk_format if spec.image else None
    if not disk_format:
        return spec
    trait = f"COMPUTE_IMAGE_TYPE_{disk_format.upper()}"
    return require(spec, trait) if context.knows_trait(trait) else spec


def compute_status(spec: RequestSpec, context: PrefilterContext) -> RequestSpec:  # noqa: ARG001
    """Exclude hosts that are marked as disabled."""
    return forbid(spec, _DISABLED)


def image_metadata(spec: RequestSpec, context: PrefilterContext) -> RequestSpec:
    """The traits of all devices; none at all when one of them has no trait."""
    if not context.options.image_metadata_prefilter or spec.image is None:
        return spec
    properties = spec.image.properties
    traits = [
        prefix + str(properties[name]).upper().replace("-", "_")
        for name, prefix in _DEVICE_TRAITS.items()
        if properties.get(name) is not None
    ]
    if not traits or not all(map(context.knows_trait, traits)):
        return spec
    return require(spec, *traits)


def accelerators(spec: RequestSpec, context: PrefilterContext) -> RequestSpec:  # noqa: ARG001
    """``accel:device_profile`` needs a host that handles accelerators."""
    if not spec.flavor.extra_specs.get("accel:device_profile"):
        return spec
    return require(spec, "COMPUTE_ACCELERATORS")


def packed_virtqueue(spec: RequestSpec, context: PrefilterContext) -> RequestSpec:  # noqa: ARG001
    """``hw:virtio_packed_ring`` of flavor or image. Raises Invalid."""
    if not settings.is_on(spec, "hw:virtio_packed_ring"):
        return spec
    return require(spec, "COMPUTE_NET_VIRTIO_PACKED")


def remote_managed_ports(spec: RequestSpec, context: PrefilterContext) -> RequestSpec:  # noqa: ARG001
    """Hosts that serve ports managed by another machine's agent (SmartNICs), for a PCI
    request for a device with the tag ``remote_managed``. Raises Invalid.

    Nova queries Neutron for the type of every port. Here it is known from the device
    that such a port needs, which is in the request.
    """
    if not any(
        requested_devices.is_remote_managed(wanted)
        for request in requested_devices.requests(spec)
        for wanted in request.wanted
    ):
        return spec
    return require(spec, "COMPUTE_REMOTE_MANAGED_PORTS")


def ephemeral_encryption(spec: RequestSpec, context: PrefilterContext) -> RequestSpec:  # noqa: ARG001
    """``hw:ephemeral_encryption``, and the format when one is asked. Raises Invalid."""
    if not settings.is_on(spec, "hw:ephemeral_encryption"):
        return spec
    wanted = settings.agreed(spec, "hw:ephemeral_encryption_format")
    if not wanted:
        return require(spec, _ENCRYPTION)
    return require(spec, _ENCRYPTION, f"{_ENCRYPTION}_{wanted.upper()}")


def sound_device(spec: RequestSpec, context: PrefilterContext) -> RequestSpec:  # noqa: ARG001
    """``hw:sound_model=virtio``. Raises Invalid when flavor and image differ."""
    if settings.agreed(spec, "hw:sound_model") != "virtio":
        return spec
    return require(spec, "COMPUTE_SOUND_MODEL_VIRTIO")


def tpm_secret(spec: RequestSpec, context: PrefilterContext) -> RequestSpec:  # noqa: ARG001
    """The policy of a request with a virtual TPM, "user" when it says none. Raises
    Invalid when there is no such policy."""
    if not asks_tpm(spec):
        return spec
    policy = spec.flavor.extra_specs.get(_TPM_POLICY, "user")
    if policy not in _TPM_TRAITS:
        raise Invalid(
            f"extra spec {_TPM_POLICY}={policy!r} is unknown: "
            f"give {' or '.join(_TPM_TRAITS)}"
        )
    return require(spec, _TPM_TRAITS[policy])


def nova_providers(spec: RequestSpec, context: PrefilterContext) -> RequestSpec:
    """Each PCI device, and at a remote Placement the host, must be marked as Nova's,
    once every nova-compute marks its own: other services may have providers there.

    Where the books are here, the host itself is not asked: a candidate is the provider
    of a host that is known, which may have none, or one that its reports made. Nova
    marks its own alone.
    """
    if _OWNER in spec.request_level_params.root_required:
        return spec
    oldest = context.fleet.services.oldest_compute
    if oldest is None or oldest < _MARKED_SINCE:
        return spec
    spec = _mark_devices(spec)
    return require(spec, _OWNER) if context.is_remote else spec


def _mark_devices(spec: RequestSpec) -> RequestSpec:
    if not (spec.pci_requests and spec.requested_resources):
        return spec
    mine = {
        suffix
        for request in requested_devices.requests(spec)
        for suffix in request.suffixes
    }
    groups = tuple(
        structs.replace(group, required_traits=group.required_traits | {_OWNER})
        if group.requester_id in mine
        else group
        for group in spec.requested_resources
    )
    return structs.replace(spec, requested_resources=groups)
