"""The position of a watcher in a log, and why it cannot continue from there.

Apart from ``history`` because stores without SQL page through their logs as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from gantt.errors import Gone
from gantt.model.changes import Cursor, LogEntry
from gantt.store.interface import Page

PAGE = 100
"""Revisions that are read at once."""

_ADVICE = (
    "Load what you need again, and watch from the cursor that a watch without 'since' "
    "begins with."
)


def page_of(log: Sequence[LogEntry], after: Cursor) -> Page:
    """The page of a whole ``log`` that follows ``after``. Raises Gone."""
    first = log[0].revision if log else None
    if after.revision == 0 and first in (None, 1):
        return Page(Cursor(), log[:PAGE])
    place = len(log) if first is None else after.revision - first
    found = log[place] if 0 <= place < len(log) else None
    if found is None or not is_at(after, Cursor(found.revision, found.batch)):
        raise Gone(why_gone(after, first, found.batch if found else None))
    start = Cursor(found.revision, found.batch)
    return Page(start, log[place + 1 : place + 1 + PAGE])


def is_at(after: Cursor, found: Cursor) -> bool:
    """Whether ``after``, whose batch may be a prefix, means ``found``."""
    return found.revision == after.revision and found.batch.startswith(after.batch)


def why_gone(
    after: Cursor, first: int | None, batch: str | None, *, begun_by: str = ""
) -> str:
    """Why a log does not continue ``after``. ``first``: its first revision; ``batch``:
    of its row at that of ``after``, if any; ``begun_by``: the kind of ``first`` if it
    began a new history, else ""."""
    place = f"{after.revision}-{after.batch[:8]}" if after.batch else after.revision
    if first is not None and after.revision < first:
        if begun_by:
            return (
                f"A new log was begun at revision {first} ({begun_by}): {place} "
                f"belongs to the history before. {_ADVICE}"
            )
        return (
            f"Revision {after.revision} is no longer in the log, which begins at "
            f"{first}: older revisions were compacted. {_ADVICE}"
        )
    if batch is None:
        return (
            f"The log has not reached revision {after.revision}: {place} belongs to "
            f"another history, as after a restored backup. {_ADVICE}"
        )
    return (
        f"The log has another batch at revision {after.revision} ({batch[:8]}): "
        f"{place} belongs to another history, as after a restored backup. {_ADVICE}"
    )
