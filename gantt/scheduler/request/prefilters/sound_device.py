"""Hosts that can give a virtio sound device; the older models are everywhere."""

from __future__ import annotations

from gantt.model.spec import RequestSpec
from gantt.scheduler.request import settings
from gantt.scheduler.request.prefilters.additions import require
from gantt.scheduler.request.prefilters.context import Context


def sound_device(spec: RequestSpec, context: Context) -> RequestSpec:  # noqa: ARG001
    """``hw:sound_model=virtio``. Raises Invalid when flavor and image differ."""
    if settings.agreed(spec, "hw:sound_model") != "virtio":
        return spec
    return require(spec, "COMPUTE_SOUND_MODEL_VIRTIO")
