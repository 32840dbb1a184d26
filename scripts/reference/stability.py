"""What of the library and of HTTP may still change, from the table of operations."""

from __future__ import annotations

from gantt.model.operations import OPERATIONS
from scripts.reference.markdown import table


def preview() -> str:
    """A row for each operation that is a preview."""
    rows = [
        (f"`{one.at}`", f"`{one.name}`" if one.name else "")
        for one in OPERATIONS
        if one.is_preview
    ]
    return "\n".join(table(("over HTTP", "in the library"), rows))
