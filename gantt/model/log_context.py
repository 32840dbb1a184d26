"""What log lines about a request have beside their text.

Apart from those who log, as JSON and oslo.log's form have the same names for all.
"""

from __future__ import annotations

from collections.abc import Sequence


def request_context(
    request_id: str,
    user_id: str | None = None,
    project_id: str | None = None,
    instance_uuids: Sequence[str] | None = None,
) -> dict[str, str | None]:
    """The ``context`` of a record of the log; ``instance_uuid``: where it is one
    alone."""
    uuids = instance_uuids or ()
    return {
        "request_id": request_id or None,
        "user": user_id,
        "project": project_id,
        "instance_uuid": uuids[0] if len(uuids) == 1 else None,
    }
