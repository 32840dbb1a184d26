"""Compares the columns with the tables: on demand, and by a fingerprint at start.

The fingerprint that a clean stop leaves shows the next start whether another program
wrote to the tables in between.
"""

from __future__ import annotations

import logging
from contextlib import suppress

from gantt.engine.clock import Clock
from gantt.engine.reading.log_tailer import LogTailer, load_state
from gantt.engine.reading.replica import Replica
from gantt.engine.reading.rest import REST_S
from gantt.errors import Busy, GanttError
from gantt.model.answers import Report
from gantt.model.changes import Cursor
from gantt.state import check
from gantt.state.state import State
from gantt.store.interface import Store
from gantt.store.memory_store import MemoryStore
from gantt.store.outcomes import CommitOutcome

LOG = logging.getLogger(__name__)
_ATTEMPTS = 3
_PIECE_S = 0.005
CHANGED_WHILE_STOPPED = "The tables are not as the last clean stop left them."


class Verifying:
    """Compares the columns with a snapshot of the tables, which the log brings to the
    same revision, in pieces.

    No lock of the database is held: a large fleet takes longer to load than a server
    lets any transaction idle. Nor do writes wait for more than a piece: what changes in
    between comes to both sides by the log, and is found there again.
    """

    def __init__(
        self, store: Store, replica: Replica, log_tailer: LogTailer, clock: Clock
    ) -> None:
        self._store, self._replica = store, replica
        self._log_tailer, self._clock = log_tailer, clock

    def verify(self) -> Report:
        """See GanttProtocol. Raises Busy, StoreFailed."""
        store = self._store
        for _ in range(_ATTEMPTS):
            tables = None if isinstance(store, MemoryStore) else load_state(store)
            self._log_tailer.look()
            pieces = _Pieces(store, self._replica, tables, self._clock)
            with suppress(_Lost), pieces:
                return _compared(store, pieces)
        raise Busy(
            "The tables could not be verified: more was written while they were loaded "
            "than the log keeps. Try again when there are fewer writes, or raise "
            "[gantt] log_length."
        )


class _Lost(Exception):
    """The columns were replaced, or the log does not lead to where they are."""


class _Pieces:
    """Holds ``turn`` while a piece is compared: no other thread changes the columns
    then, and nothing is assumed. ``tables`` None: the store has none."""

    def __init__(
        self, store: Store, replica: Replica, tables: State | None, clock: Clock
    ) -> None:
        self._store, self._replica, self._clock = store, replica, clock
        self.tables, self.live = tables, replica.state
        self._since = 0.0

    def __enter__(self) -> None:
        self._replica.turn.acquire()
        try:
            self._begin()
        except BaseException:
            self._replica.turn.release()
            raise

    def __exit__(self, *_: object) -> None:
        self._replica.turn.release()

    def pause(self) -> None:
        """Between two things that are compared: let others write. Raises _Lost."""
        if self._clock.monotonic() - self._since < _PIECE_S:
            return
        self._replica.turn.release()
        try:
            self._clock.sleep(REST_S)
        finally:
            self._replica.turn.acquire()
        self._begin()

    def _begin(self) -> None:
        self._since = self._clock.monotonic()
        if self._replica.state is not self.live:
            raise _Lost
        tables, end = self.tables, self.live.cursor
        if tables is None or tables.cursor == end:
            return
        if not _bring_up(tables, self._store, end):
            raise _Lost


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


def _compared(store: Store, piece: _Pieces) -> Report:
    live, tables = piece.live, piece.tables
    problems = check.problems(live, piece.pause)
    if tables is not None:
        problems += check.differences(live, tables, pause=piece.pause)
    if not compare_fingerprints(store, live):
        problems.append(CHANGED_WHILE_STOPPED)
    counts = dict(check.counts(live, piece.pause))
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
    except (GanttError, CommitOutcome) as error:
        LOG.warning("no fingerprint was left: %s", error)
