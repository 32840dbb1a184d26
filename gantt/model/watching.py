"""Events of a watch: the log of changes, one event per revision.

Separate from ``changes``, which processes of one version exchange: events are for
external clients, so they contain names and plain fields.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from msgspec import Struct

from gantt.errors import Invalid
from gantt.model.changes import Cursor
from gantt.model.rows import Key

_CURSOR = re.compile(r"(\d{1,18})(?:-([0-9a-f-]{1,36}))?\Z", re.ASCII)


class RowChange(Struct, frozen=True):
    """One row as it is from this revision on; ``row`` None: it is gone.

    ``key`` names the row in ``table`` from its first event to its last; of a row that
    links two others it is the pair of their keys. ``row`` has the columns of the table.
    ``names``: what its ids refer to, as far as still known when the event is sent: a
    uuid or name under the column's name without ``_id``.
    """

    table: str
    key: Key
    row: dict[str, Any] | None
    names: dict[str, str] = {}


class Event(Struct, frozen=True):
    """One revision. ``id``: the cursor to go on from; ``kind``: the command that was
    carried out; ``at``: microseconds since the epoch, UTC; ``request_id`` "": none."""

    id: str
    revision: int
    kind: str
    at: int
    request_id: str
    changes: tuple[RowChange, ...]


class Events(Struct, frozen=True):
    """Events in the order of their revisions; ``cursor``: where to go on."""

    events: tuple[Event, ...]
    cursor: str


class Snapshot(Struct, frozen=True):
    """All rows as of one revision; ``cursor``: where to go on. ``pages``: rows, those
    that others refer to first; read or close it, the database waits."""

    revision: int
    cursor: str
    pages: Generator[tuple[RowChange, ...], None, None]


def place_of(cursor: Cursor) -> str:
    """``cursor`` as watchers name it; ``read_cursor`` reads it."""
    return str(cursor) if cursor.revision else "0"


def read_cursor(text: str | int) -> Cursor:
    """``REVISION`` or ``REVISION-BATCHPREFIX`` as a Cursor whose batch is the prefix.

    Raises Invalid.
    """
    found = _CURSOR.match(str(text))
    if found is None:
        raise Invalid(
            f"{str(text)[:80]!r} is not a position in the log: give a "
            "revision such as 120, or the id of an event, such as "
            "120-1a2b3c4d."
        )
    return Cursor(int(found[1]), found[2] or "")
