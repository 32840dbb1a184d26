"""Features of an instance that only some hosts have, as traits and amounts.

One function per feature; each reads flavor and image and adds to the unsuffixed group,
as Nova does. Separate from ``shape`` because this list grows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, cast

from gantt.errors import Invalid
from gantt.model.spec import RequestSpec
from gantt.model.topology import Affinity
from gantt.scheduler.request import settings
from gantt.scheduler.request.request_draft import DraftGroup

MEMORY_ENCRYPTION_MODELS: Final = {
    "amd-sev": "HW_CPU_X86_AMD_SEV",
    "amd-sev-es": "HW_CPU_X86_AMD_SEV_ES",
    "intel-tdx": "HW_CPU_X86_INTEL_TDX",
}
TPM_VERSIONS: Final = {
    "1.2": "COMPUTE_SECURITY_TPM_1_2",
    "2.0": "COMPUTE_SECURITY_TPM_2_0",
}
TPM_MODELS: Final = {
    "tpm-tis": "COMPUTE_SECURITY_TPM_TIS",
    "tpm-crb": "COMPUTE_SECURITY_TPM_CRB",
}
AFFINITIES: Final = ("legacy", "preferred", "required", "socket")
ADDRESS_SPACES: Final = {
    "passthrough": "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
    "emulate": "COMPUTE_ADDRESS_SPACE_EMULATED",
}
_NOT_IN_NAMES = re.compile(r"[^A-Z0-9_]+")


def translate(spec: RequestSpec, part: DraftGroup) -> None:
    """Add every feature that flavor or image require. Raises Invalid."""
    for feature in _FEATURES:
        feature(spec, part)


def image_traits(spec: RequestSpec, part: DraftGroup) -> None:
    """The traits that an image requires. Raises Invalid."""
    names = spec.image.properties.get("traits_required") if spec.image else None
    if not names:
        return
    if not isinstance(names, list | tuple | set | frozenset) or not all(
        isinstance(name, str) for name in names
    ):
        raise Invalid(f"image property traits_required={names!r}: give a list of names")
    part.required.update(names)


def custom_name(text: str) -> str:
    """``text`` as the name of a custom class or trait."""
    return f"CUSTOM_{_NOT_IN_NAMES.sub('_', text.upper().removeprefix('CUSTOM_'))}"


def device_affinity(spec: RequestSpec) -> Affinity | None:
    """How near its cells the instance wants its devices; None: flavor and image do not
    say. Raises Invalid."""
    found = settings.agreed(spec, "hw:pci_numa_affinity_policy", AFFINITIES)
    return cast(Affinity | None, found)


def asks_tpm(spec: RequestSpec) -> bool:
    """Whether the instance gets a virtual TPM. Raises Invalid."""
    return settings.agreed(spec, "hw:tpm_version", TPM_VERSIONS) is not None


def _memory_encryption(spec: RequestSpec, part: DraftGroup) -> None:
    if settings.is_on(spec, "hw:mem_encryption"):
        model = settings.agreed(
            spec, "hw:mem_encryption_model", MEMORY_ENCRYPTION_MODELS
        )
        part.amounts["MEM_ENCRYPTION_CONTEXT"] = 1
        part.required.add(MEMORY_ENCRYPTION_MODELS[model or "amd-sev"])


def _persistent_memory(spec: RequestSpec, part: DraftGroup) -> None:
    labels = spec.flavor.extra_specs.get("hw:pmem")
    if not labels:
        return
    names = [label.strip() for label in labels.split(",")]
    if not all(names):
        raise Invalid(f"extra spec hw:pmem={labels!r} has an empty label: leave it out")
    for name in names:
        resource_class = custom_name(f"PMEM_NAMESPACE_{name}")
        part.amounts[resource_class] = names.count(name)


def _tpm(spec: RequestSpec, part: DraftGroup) -> None:
    version = settings.agreed(spec, "hw:tpm_version", TPM_VERSIONS)
    model = settings.agreed(spec, "hw:tpm_model", TPM_MODELS)
    if version is None:
        if model is not None:
            raise Invalid(f"hw:tpm_model={model} without hw:tpm_version: give both")
        return
    if version == "1.2" and model == "tpm-crb":
        raise Invalid(
            "hw:tpm_model=tpm-crb does not exist for hw:tpm_version=1.2: ask for 2.0, "
            "or for tpm-tis"
        )
    part.required |= {TPM_VERSIONS[version], TPM_MODELS[model or "tpm-tis"]}


def _socket_affinity(spec: RequestSpec, part: DraftGroup) -> None:
    if device_affinity(spec) == "socket":
        part.required.add("COMPUTE_SOCKET_PCI_NUMA_AFFINITY")


def _secure_boot(spec: RequestSpec, part: DraftGroup) -> None:
    allowed = ("disabled", "optional", "required")
    if settings.agreed(spec, "os:secure_boot", allowed) == "required":
        part.required.add("COMPUTE_SECURITY_UEFI_SECURE_BOOT")


def _address_space(spec: RequestSpec, part: DraftGroup) -> None:
    mode = settings.agreed(spec, "hw:maxphysaddr_mode", ADDRESS_SPACES)
    if mode is not None:
        part.required.add(ADDRESS_SPACES[mode])


def _stateless_firmware(spec: RequestSpec, part: DraftGroup) -> None:
    properties = spec.image.properties if spec.image else {}
    named = "hw_firmware_stateless"
    if not settings.truth(named, properties.get(named) or ""):
        return
    if properties.get("hw_firmware_type") != "uefi":
        raise Invalid(
            f"image property {named} needs hw_firmware_type=uefi, which is "
            f"{properties.get('hw_firmware_type')!r}: set it, or leave {named} out"
        )
    part.required.add("COMPUTE_SECURITY_STATELESS_FIRMWARE")


_FEATURES: Final[tuple[Callable[[RequestSpec, DraftGroup], None], ...]] = (
    _memory_encryption,
    _persistent_memory,
    _tpm,
    _socket_affinity,
    _secure_boot,
    _address_space,
    _stateless_firmware,
)
