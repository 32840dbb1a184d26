"""The version document, which needs no authentication."""

from __future__ import annotations

from gantt.api.call import NOW, Call
from gantt.api.wire.microversion import MAX_VERSION, MIN_VERSION

_DOCUMENT = {
    "versions": [
        {
            "id": "v1.0",
            "max_version": MAX_VERSION,
            "min_version": MIN_VERSION,
            "status": "CURRENT",
            "links": [{"rel": "self", "href": ""}],
        }
    ]
}


def show(call: Call) -> None:
    """GET / - without policy, at any microversion."""
    call.reply(_DOCUMENT, modified_at=NOW)
