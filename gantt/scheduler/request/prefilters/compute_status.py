"""Disabled hosts take no instances."""

from __future__ import annotations

from typing import Final

from gantt.model.spec import RequestSpec
from gantt.scheduler.request.prefilters.additions import forbid
from gantt.scheduler.request.prefilters.context import Context

_DISABLED: Final = "COMPUTE_STATUS_DISABLED"


def compute_status(spec: RequestSpec, context: Context) -> RequestSpec:  # noqa: ARG001
    """Exclude hosts that are marked as disabled."""
    return forbid(spec, _DISABLED)
