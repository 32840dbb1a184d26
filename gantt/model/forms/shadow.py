"""Validates what is observed of Nova, passed in Python or over HTTP."""

from __future__ import annotations

from msgspec.structs import replace

from gantt.model.bounds import MAX_NAME
from gantt.model.forms import scalars, values
from gantt.model.shadow import ShadowEvent

_LATEST = 2**63 - 1


def checked(event: ShadowEvent) -> ShadowEvent:
    """``event`` with validated types. Raises Invalid, which names the field."""
    phase = event.phase
    if phase not in ("start", "end"):
        raise scalars.refusal("phase", "start or end", phase)
    at = event.at
    return replace(
        event,
        spec=values.spec(event.spec),
        request_id=scalars.text("request_id", event.request_id, MAX_NAME),
        at=None if at is None else scalars.whole("at", at, 0, _LATEST),
        instance_uuids=values.uuids("instance_uuids", event.instance_uuids),
    )
