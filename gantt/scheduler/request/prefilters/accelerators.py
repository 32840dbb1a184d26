"""Hosts with accelerators, for flavors with a device profile."""

from __future__ import annotations

from gantt.model.spec import RequestSpec
from gantt.scheduler.request.prefilters.additions import require
from gantt.scheduler.request.prefilters.context import Context


def accelerators(spec: RequestSpec, context: Context) -> RequestSpec:  # noqa: ARG001
    """``accel:device_profile`` needs a host that handles accelerators."""
    if not spec.flavor.extra_specs.get("accel:device_profile"):
        return spec
    return require(spec, "COMPUTE_ACCELERATORS")
