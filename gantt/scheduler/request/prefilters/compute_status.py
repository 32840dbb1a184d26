"""Disabled hosts take no instances."""

from __future__ import annotations

from typing import Final

from gantt.model.spec import RequestSpec
from gantt.scheduler.request.prefilters.given import Given, forbid

_DISABLED: Final = "COMPUTE_STATUS_DISABLED"


def compute_status(spec: RequestSpec, given: Given) -> RequestSpec:  # noqa: ARG001
    """Exclude hosts that are marked as disabled."""
    return forbid(spec, _DISABLED)
