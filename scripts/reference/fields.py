"""Who may send which field of a body, from the table that the service judges by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gantt.api.access.fields import FIELDS, HINTS, VERDICTS
from scripts.reference.markdown import cell, table


def page() -> str:
    """A row for each struct and verdict, and one for the hints."""
    rows = [row for name, fields in FIELDS.items() for row in _rows(name, fields)]
    rows += _rows("scheduler_hints", HINTS)
    return "\n".join(table(("in", "fields", "who may send them"), rows)) + "\n"


def _rows(name: str, fields: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for verdict in dict.fromkeys(fields.values()):
        those = ", ".join(f"`{one}`" for one in fields if fields[one] == verdict)
        yield f"`{name}`", those, cell(VERDICTS[verdict])
