"""Compares the columns with the tables: on demand, and by a fingerprint at start.

The fingerprint that a clean stop leaves shows the next start whether another program
wrote to the tables in between.
"""

from __future__ import annotations

import logging

from gantt.engine.reading.log_tailer import LogTailer, load_state
from gantt.engine.reading.replica import Replica
from gantt.errors import Busy, GanttError
from gantt.model.answers import Report
from gantt.model.changes import Cursor
from gantt.model.rows import ROW_TYPES
from gantt.state import check
from gantt.state.state import State
from gantt.store.interface import Store
from gantt.store.memory import MemoryStore
from gantt.store.outcomes import Outcome

LOG = logging.getLogger(__name__)
_ATTEMPTS = 3
CHANGED_WHILE_STOPPED = "The tables are not as the last clean stop left them."


def verify(store: Store, replica: Replica, log_tailer: LogTailer) -> Report:
    """Compare the columns with a snapshot of the tables, brought to the same revision
    by the log. Raises Busy, StoreFailed.

    No lock of the database is held: a large fleet takes longer to load than a server
    lets any transaction idle. The columns wait only while both are compared, and the
    committer outside that lock, so that other processes write on.
    """
    for _ in range(_ATTEMPTS):
        tables = None if isinstance(store, MemoryStore) else load_state(store)
        with replica.committer, replica.turn:
            log_tailer.apply_tail(store.tail(replica.state.cursor))
            # While this thread holds ``turn``, no other changes the columns.
            live = replica.state
            if tables is None or _bring_up(tables, store, live.cursor):
                return _compared(store, live, tables)
    raise Busy(
        "The tables could not be verified: more was written while they were loaded "
        "than the log keeps. Try again when there are fewer writes, or raise [gantt] "
        "log_length."
    )


def _bring_up(tables: State, store: Store, end: Cursor) -> bool:
    """Apply to ``tables`` what was committed since; whether they are at ``end``."""
    tail = store.tail(tables.cursor)
    if tail is None:
        return False
    for entry in tail:
        if entry.revision > end.revision:
            break  # committed after the columns were brought up
        tables.apply(entry.changes, Cursor(entry.revision, entry.batch))
    return tables.cursor == end


def _compared(store: Store, live: State, tables: State | None) -> Report:
    """``tables`` None: the store has none."""
    problems = check.problems(live)
    if tables is not None:
        problems += check.differences(live, tables)
    if not compare_fingerprints(store, live):
        problems.append(CHANGED_WHILE_STOPPED)
    counts = {table: sum(1 for _ in live.rows(table)) for table in ROW_TYPES}
    return Report(live.revision, counts, tuple(problems))


def compare_fingerprints(store: Store, state: State) -> bool:
    """Whether the tables are as the last clean stop left them; warns if not."""
    saved = store.saved_fingerprint()
    if saved is None or saved.revision != state.revision:
        return True
    found = store.fingerprint()
    if found.revision != saved.revision:  # another process has written meanwhile
        return True
    if (found.counts, found.generations) == (saved.counts, saved.generations):
        return True
    LOG.warning(
        "the tables changed while no Gantt was running (at revision "
        "%d: %s now, %s then). The changes are accepted; stop all "
        "other writers.",
        state.revision,
        found,
        saved,
    )
    return False


def leave_fingerprint(store: Store, revision: int) -> None:
    """Leave a fingerprint, if the log ends where we do; failing to is no failure."""
    try:
        found = store.fingerprint()
        if found.revision == revision:
            store.save_fingerprint(found)
    except (GanttError, Outcome) as error:
        LOG.warning("no fingerprint was left: %s", error)
