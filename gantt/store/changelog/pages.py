"""Where a watcher stands in a log, and why it may not go on from there.

Apart from ``history`` because the store without SQL pages through its log as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from gantt.errors import Gone
from gantt.model.changes import Cursor, LogEntry
from gantt.store.interface import Page

PAGE = 100
"""Revisions that are read at once."""

_ADVICE = (
    "Load what you need anew, and watch from the cursor that a watch without 'since' "
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
    """Whether ``found`` is the place that ``after`` means."""
    return found.revision == after.revision and found.batch.startswith(after.batch)


def why_gone(
    after: Cursor, first: int | None, batch: str | None, *, begun_by: str = ""
) -> str:
    """Why no log goes on from ``after``: its ``first`` revision, and the ``batch`` of
    the row at that revision, if there is one, say. ``begun_by``: what began a history
    there; "": nothing did."""
    place = f"{after.revision}-{after.batch[:8]}" if after.batch else after.revision
    if first is not None and after.revision < first:
        if begun_by:
            return (
                f"The log was begun anew at revision {first} ({begun_by}): {place} "
                f"belongs to the history before. {_ADVICE}"
            )
        return (
            f"Revision {after.revision} is not in the log any more, which begins at "
            f"{first}: what is older was compacted away. {_ADVICE}"
        )
    if batch is None:
        return (
            f"The log has not come to revision {after.revision}: {place} belongs to "
            f"another history, as after a restored backup. {_ADVICE}"
        )
    return (
        f"The log has another batch at revision {after.revision} ({batch[:8]}): "
        f"{place} belongs to another history, as after a restored backup. {_ADVICE}"
    )
