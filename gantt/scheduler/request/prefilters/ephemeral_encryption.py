"""Hosts that encrypt ephemeral disks."""

from __future__ import annotations

from gantt.model.spec import RequestSpec
from gantt.scheduler.request import settings
from gantt.scheduler.request.prefilters.additions import require
from gantt.scheduler.request.prefilters.context import Context

_TRAIT = "COMPUTE_EPHEMERAL_ENCRYPTION"


def ephemeral_encryption(spec: RequestSpec, context: Context) -> RequestSpec:  # noqa: ARG001
    """``hw:ephemeral_encryption``, and the format when one is asked. Raises Invalid."""
    if not settings.is_on(spec, "hw:ephemeral_encryption"):
        return spec
    wanted = settings.agreed(spec, "hw:ephemeral_encryption_format")
    if not wanted:
        return require(spec, _TRAIT)
    return require(spec, _TRAIT, f"{_TRAIT}_{wanted.upper()}")
