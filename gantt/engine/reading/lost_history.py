"""How much of what this process knew the log no longer has.

After a failover to a server that lagged, or a restored backup, clients hold answers
whose writes are gone. Separate from the tailer, which only has to start over: this is
for the operator, who has to find out what was lost.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from gantt.errors import Gone, StoreFailed
from gantt.model.changes import Cursor
from gantt.store.interface import Store

REMEMBERED: Final = 4_096
"""The last batches of which a process knows where they ended."""


class Lost(Struct, frozen=True):
    """``revisions``: how many were known and are gone; ``is_least``: that many or more;
    ``last``: the last known one that the log still has, None: not known."""

    revisions: int
    last: Cursor | None
    is_least: bool = False

    def __str__(self) -> str:
        least = "at least " if self.is_least else ""
        verb = "revision is" if self.revisions == 1 else "revisions are"
        still = "" if self.last is None else f"; it still has revision {self.last}"
        return f"{least}{self.revisions} acknowledged {verb} gone{still}"


def lost(store: Store, remembered: Sequence[Cursor]) -> Lost | None:
    """``remembered``: ends of batches, oldest first, at least one. None: nothing is
    known to be lost, the log was only compacted or went on too far."""
    known = remembered[-1]
    try:
        if not _is_of_another(store, known):
            return None
        at = bisect_left(remembered, True, key=lambda one: _is_of_another(store, one))
    except StoreFailed:
        return None
    if at == 0:
        least = known.revision - remembered[0].revision + 1
        return Lost(least, None, is_least=True)
    last = remembered[at - 1]
    return Lost(known.revision - last.revision, last)


def _is_of_another(store: Store, known: Cursor) -> bool:
    """Whether the log has another history, or none, at that revision; not where it was
    compacted beyond it."""
    if _goes_on(store, known):
        return False
    any_batch = Cursor(known.revision, "")
    return _goes_on(store, any_batch) or store.cursor().revision < known.revision


def _goes_on(store: Store, cursor: Cursor) -> bool:
    try:
        store.history(cursor)
    except Gone:
        return False
    return True
