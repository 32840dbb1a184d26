"""Require hosts that support packed virtqueues."""

from __future__ import annotations

from gantt.model.spec import RequestSpec
from gantt.scheduler.request import settings
from gantt.scheduler.request.prefilters.additions import require
from gantt.scheduler.request.prefilters.context import Context


def packed_virtqueue(spec: RequestSpec, context: Context) -> RequestSpec:  # noqa: ARG001
    """``hw:virtio_packed_ring`` of flavor or image. Raises Invalid."""
    if not settings.is_on(spec, "hw:virtio_packed_ring"):
        return spec
    return require(spec, "COMPUTE_NET_VIRTIO_PACKED")
