"""Require hosts that support the devices of the image."""

from __future__ import annotations

from typing import Final

from gantt.model.spec import RequestSpec
from gantt.scheduler.request.prefilters.additions import require
from gantt.scheduler.request.prefilters.context import Context

_PREFIXES: Final = {
    "hw_cdrom_bus": "COMPUTE_STORAGE_BUS_",
    "hw_disk_bus": "COMPUTE_STORAGE_BUS_",
    "hw_video_model": "COMPUTE_GRAPHICS_MODEL_",
    "hw_vif_model": "COMPUTE_NET_VIF_MODEL_",
    "hw_architecture": "HW_ARCH_",
    "hw_emulation_architecture": "COMPUTE_ARCH_",
    "hw_viommu_model": "COMPUTE_VIOMMU_",
}


def image_metadata(spec: RequestSpec, context: Context) -> RequestSpec:
    """The traits of all devices; none at all when one of them has no trait."""
    if not context.options.image_metadata_prefilter or spec.image is None:
        return spec
    properties = spec.image.properties
    traits = [
        prefix + str(properties[name]).upper().replace("-", "_")
        for name, prefix in _PREFIXES.items()
        if properties.get(name) is not None
    ]
    if not traits or not all(map(context.knows_trait, traits)):
        return spec
    return require(spec, *traits)
