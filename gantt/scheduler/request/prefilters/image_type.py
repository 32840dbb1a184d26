"""Hosts that can read the image's disk format."""

from __future__ import annotations

from gantt.model.spec import RequestSpec
from gantt.scheduler.request.prefilters.additions import require
from gantt.scheduler.request.prefilters.context import Context


def image_type(spec: RequestSpec, context: Context) -> RequestSpec:
    """The trait of the disk format; a format without a trait requires nothing."""
    if not context.options.query_placement_for_image_type_support or spec.is_bfv:
        return spec
    disk_format = spec.image.disk_format if spec.image else None
    if not disk_format:
        return spec
    trait = f"COMPUTE_IMAGE_TYPE_{disk_format.upper()}"
    return require(spec, trait) if context.knows_trait(trait) else spec
