"""The thread that writes a record: files that begin with a snapshot, one after another.

A file begins with a snapshot of the tables at some revision, and goes on with what this
process applied after it. So a new file is begun while the last one still takes what
comes up to that revision; where there is no last one, that is dropped, and told.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from gantt.engine.clock import Clock
from gantt.engine.options import RecordOptions
from gantt.engine.reading.replica import Replica
from gantt.engine.recording.entry_queue import (
    ChangesEntry,
    Entry,
    EntryQueue,
    PolicyEntry,
    begins,
)
from gantt.engine.recording.line_counts import Account, LineBatch, LineTally
from gantt.engine.recording.record_files import RecordFile, Removed, trim
from gantt.engine.recording.record_lines import RecordLines, text
from gantt.engine.recording.snapshot_lines import row_line, snapshot_of
from gantt.engine.threads import Threads
from gantt.errors import GanttError
from gantt.model.changes import Cursor
from gantt.model.record import KIND, Closed, Dropped, Head, Started
from gantt.store.interface import Chunks, Store
from gantt.version import __version__

LOG = logging.getLogger(__name__)
PERIOD_S: Final = 1.0
"""Between two writes; a process that is killed loses the decisions of this time."""
_AGAIN_S: Final = 10.0
_CANNOT: Final = "decisions cannot be recorded in %s, and are not for %d s: %s"
_AT_ONCE: Final = 512
_FIRST: Final = "the process began"
_FULL: Final = "the file before was full"


class _Early(Exception):
    """The snapshot is older than what was applied last: take another one."""


class _Next:
    """A file that is being begun. ``cursor``: of its snapshot, which ``is_whole`` once
    it is written; ``has_passed``: what comes now is after it; ``later``: that."""

    def __init__(self, file: RecordFile, cursor: Cursor) -> None:
        self.file, self.cursor = file, cursor
        self.has_passed = self.is_whole = False
        self.later = LineBatch()

    def fill(self, head: Head, chunks: Chunks, rest: Callable[[], None]) -> None:
        """Write the snapshot, with a rest after each chunk. Raises OSError,
        StoreFailed."""
        file, cursor = self.file, self.cursor
        file.write(text([head]))
        for table, rows in chunks:
            if rows:
                file.write(text([row_line(table, rows)]))
            rest()
        file.write(text([Started(cursor.revision, cursor.batch)]))
        self.is_whole = True


class Writing:
    """``queue``: what to write. One thread does all of it. Raises StoreFailed."""

    def __init__(
        self,
        store: Store,
        replica: Replica,
        queue: EntryQueue,
        options: RecordOptions,
        search_budget: int,
        *,
        process: str,
        clock: Clock,
        threads: Threads,
    ) -> None:
        self._store, self._replica, self._queue = store, replica, queue
        self._options, self._process, self._clock = options, process, clock
        self._directory = Path(options.record)
        self._lines = RecordLines(search_budget)
        self._account, self._waiting = Account(queue), LineBatch()
        self._failures = 0
        self._now: RecordFile | None = None
        self._next: _Next | None = None
        self._try_at = clock.monotonic()
        # Taken at once, so that no decision is before it; read by the thread.
        self._first: tuple[Cursor, Chunks] | None = snapshot_of(store, replica)
        self._place = queue.place
        self._turning = threads.lock()
        self._thread = threads.start(self._run, "gantt-record")

    def counts(self) -> dict[str, float]:
        """For metrics."""
        return self._account.counts() | {
            "recorded_failures": self._failures,
            "recorded_waiting_limit": self._options.record_backlog,
            "recorded_files_limit": self._options.record_files,
        }

    def close(self) -> None:
        """Write what waits, and end the file."""
        self._queue.end()
        self._thread.join()

    def flush(self) -> None:
        """Write what waits, and begin a file where that is due."""
        with self._turning:
            self._turn()

    # -- the thread ---------------------------------------------------------------

    def _run(self) -> None:
        self.flush()
        while self._queue.await_many(PERIOD_S):
            self.flush()
        self.flush()
        with contextlib.suppress(OSError):
            self._give_up()
            self._end(Closed())

    def _turn(self) -> None:
        if self._clock.monotonic() < self._try_at:
            self._drain()
            return
        try:
            self._go_on()
        except _Early:
            pass  # the next turn takes another snapshot
        except Removed as error:
            self._now = None
            self._queue.break_off(str(error))  # the next turn begins a new file
            LOG.warning("%s: decisions are recorded in a new file", error)
        except (OSError, GanttError) as error:
            self._fail(str(error))
            LOG.warning(_CANNOT, self._directory, _AGAIN_S, error)
        except Exception as error:  # a defect here must not end the record in silence
            self._fail(repr(error))
            LOG.exception("recording decisions failed")

    def _go_on(self) -> None:
        """Raises _Early, OSError, GanttError."""
        self._drain()
        if self._queue.gap:
            self._start()
        elif self._next is None and self._is_full():
            self._begin(_FULL if self._now else _FIRST)
        self._drain()
        if self._now is not None:
            self._now.flush()
            self._now.hold()

    def _is_full(self) -> bool:
        """Or that there is none."""
        file = self._now
        return file is None or file.is_full(self._options.record_file_bytes)

    # -- beginning a file ---------------------------------------------------------

    def _start(self) -> None:
        """Record again from now on, in a new file; all that waited is written."""
        with self._replica.lock:  # what was being noted at the gap is noted then
            self._first = None
        self._drain()
        self._give_up()
        self._end(Closed(goes_on=True))
        with self._replica.lock:
            self._place = self._replica.state.cursor
            why = self._queue.mend()
        try:
            self._begin(why)
        except BaseException:
            self._queue.break_off(why)
            raise

    def _begin(self, why: str) -> None:
        """A file with a snapshot, which takes what comes after the snapshot. Raises
        _Early, OSError, GanttError: then the file before takes all."""
        replica, place = self._replica, self._place
        replica.wait_beyond(place.revision - 1, replica.epoch, 1.0)
        first, self._first = self._first, None
        cursor, chunks = first or snapshot_of(self._store, replica)
        with closing(chunks):
            if cursor.revision < place.revision:
                raise _Early
            file = RecordFile(self._directory, self._process, self._account)
            following = self._next = _Next(file, cursor)
            if cursor == place:
                self._pass(following)
            try:
                following.fill(self._head(why, file.number), chunks, self._rest)
            except BaseException:
                self._give_up()
                raise
        self._switch()
        trim(self._directory, self._options.record_files)

    def _head(self, why: str, number: int) -> Head:
        return Head(
            kind=KIND,
            version=__version__,
            process=self._process,
            number=number,
            at=self._clock.now(),
            began=why,
            follows=self._now is not None,
        )

    def _rest(self) -> None:
        """Write what waits while a snapshot is written, unless that is much."""
        following = self._next
        if following and len(following.later.lines) < self._options.record_backlog:
            self._drain()

    def _switch(self) -> None:
        """Write the new file from now on, if it is ready and its time has come."""
        following = self._next
        if following is None or not (following.is_whole and following.has_passed):
            return
        self._end(Closed(goes_on=True))
        file = following.file
        file.begin()
        self._now, self._next = file, None
        later = following.later
        if lost := self._account.take_lost():
            later.lines.insert(0, Dropped(lost, "before this file began"))
            later.tally.dropped += lost
        file.take(later)

    def _give_up(self) -> None:
        """Go on with the file before as if the new one had not been begun."""
        following, self._next = self._next, None
        if following is not None:
            following.file.discard()
            if self._now is None:
                self._account.lose(following.later.tally)
            else:
                self._now.take(following.later)

    # -- writing ------------------------------------------------------------------

    def _drain(self) -> None:
        """Write what waits, each entry where it belongs."""
        add, waiting = self._lines.add, self._waiting
        for entry in self._queue.take():
            following = self._next
            if self._now is None and (following is None or not following.has_passed):
                self._lose(entry)
            else:
                add(entry, waiting.lines)
                if isinstance(entry, Dropped):
                    waiting.tally.dropped += entry.decisions
            if isinstance(entry, ChangesEntry):
                self._place = entry.cursor
                if following is not None and not following.has_passed:
                    self._write()
                    self._look_for(following, entry.cursor)
            if len(waiting.lines) >= _AT_ONCE:
                self._write()
        self._write()

    def _pass(self, following: _Next) -> None:
        """What comes now is after its snapshot, and decided by the policy in force."""
        following.has_passed = True
        self._lines.begin()
        if self._lines.policy is not None:
            following.later.lines.append(self._lines.policy)

    def _look_for(self, following: _Next, place: Cursor) -> None:
        """Whether the snapshot of the new file is of this place."""
        if place == following.cursor:
            self._pass(following)
        elif place.revision > following.cursor.revision:
            self._queue.break_off("the tables were not as the log had them")
        self._switch()

    def _write(self) -> None:
        waiting = self._waiting
        waiting.count(self._lines.decisions)
        if not waiting.lines:
            return
        if self._next is not None and self._next.has_passed:
            waiting.hand_to(self._next.later)
        elif self._now is not None:
            self._now.write(*waiting.take())

    def _lose(self, entry: Entry) -> None:
        """It belongs to no file."""
        if isinstance(entry, PolicyEntry):
            self._lines.take_policy(entry)
        elif begins(entry):
            self._account.lose(LineTally(decisions=1))
        elif isinstance(entry, Dropped):
            self._account.lose(LineTally(dropped=entry.decisions))

    def _fail(self, why: str) -> None:
        """End what is there, and try again after a while."""
        self._failures += 1
        self._try_at = self._clock.monotonic() + _AGAIN_S
        self._queue.break_off(f"recording failed: {why}")
        with contextlib.suppress(OSError):
            self._end(Closed(goes_on=True))
        self._give_up()
        self._account.lose(self._waiting.clear(self._lines.decisions))

    def _end(self, line: Closed) -> None:
        """End the file that is written, if there is one."""
        file, self._now = self._now, None
        if file is not None:
            file.close(text([line]))
