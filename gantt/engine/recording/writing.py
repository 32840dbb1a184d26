"""The thread that writes a record: files that begin with a snapshot, one after another.

A file begins with a snapshot of the tables at some revision, and goes on with what this
process applied after it. So a new file is begun while the last one still takes what
comes up to that revision; where there is no last one, that is dropped, and told.
"""

from __future__ import annotations

import contextlib
import logging
from contextlib import closing
from pathlib import Path
from typing import Final

from gantt import __version__
from gantt.engine.clock import Clock
from gantt.engine.reading.replica import Replica
from gantt.engine.recording.files import RecordFile, Written, trim
from gantt.engine.recording.lines import Lines, text
from gantt.engine.recording.options import RecordOptions
from gantt.engine.recording.snapshot import row_line, snapshot_of
from gantt.engine.recording.tape import Entry, Moved, Policed, Tape, begins
from gantt.engine.threads import Threads
from gantt.errors import GanttError
from gantt.model.changes import Cursor
from gantt.model.record import KIND, Closed, Dropped, Head, Line, Started
from gantt.store.interface import Chunks, Store

LOG = logging.getLogger(__name__)
PERIOD_S: Final = 1.0
"""Between two writes; a process that is killed loses the decisions of this time."""
_AGAIN_S: Final = 10.0
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
        self.later: list[Line] = []


class Writing:
    """``tape``: what to write. One thread does all of it. Raises StoreFailed."""

    def __init__(
        self,
        store: Store,
        replica: Replica,
        tape: Tape,
        options: RecordOptions,
        search_budget: int,
        *,
        process: str,
        clock: Clock,
        threads: Threads,
    ) -> None:
        self._store, self._replica, self._tape = store, replica, tape
        self._options, self._process, self._clock = options, process, clock
        self._directory = Path(options.record)
        self._lines = Lines(search_budget)
        self._number = self._lost = 0
        self._now: RecordFile | None = None
        self._next: _Next | None = None
        self._written, self._files, self._failures = Written(), 0, 0
        self._try_at = clock.monotonic()
        # Taken at once, so that no decision is before it; read by the thread.
        self._first: tuple[Cursor, Chunks] | None = snapshot_of(store, replica)
        self._place = tape.place
        self._turning = threads.lock()
        self._thread = threads.start(self._run, "gantt-record")

    def counts(self) -> dict[str, float]:
        """For metrics."""
        return {
            "recorded": self._lines.decisions,
            "recorded_bytes": self._written.size,
            "recorded_files": self._files,
            "recorded_failures": self._failures,
            "recorded_waiting_limit": self._options.record_backlog,
            "recorded_files_limit": self._options.record_files,
        }

    def close(self) -> None:
        """Write what waits, and end the file."""
        self._tape.end()
        self._thread.join()

    def flush(self) -> None:
        """Write what waits, and begin a file where that is due."""
        with self._turning:
            self._turn()

    # -- the thread ---------------------------------------------------------------

    def _run(self) -> None:
        self.flush()
        while self._tape.await_many(PERIOD_S):
            self.flush()
        self.flush()
        with contextlib.suppress(OSError):
            self._end(Closed())

    def _turn(self) -> None:
        if self._clock.monotonic() < self._try_at:
            self._drain()
            return
        try:
            self._drain()
            if self._tape.torn:
                self._start()
            elif self._next is None and self._is_full():
                self._begin(_FULL if self._now else _FIRST)
            self._drain()
            if self._now is not None:
                self._now.flush()
                self._now.hold()
        except _Early:
            pass  # the next turn takes another snapshot
        except (OSError, GanttError) as error:
            self._fail(str(error))
            LOG.warning(
                "decisions cannot be recorded in %s, and are not for %d s: %s",
                *(self._directory, _AGAIN_S, error),
            )
        except Exception as error:  # a defect here must not end the record in silence
            self._fail(repr(error))
            LOG.exception("recording decisions failed")

    def _is_full(self) -> bool:
        """Or that there is none."""
        file = self._now
        return file is None or file.size >= self._options.record_file_bytes

    # -- beginning a file ---------------------------------------------------------

    def _start(self) -> None:
        """Record again from now on, in a new file; all that waited is written."""
        with self._replica.lock:  # what was being noted at the tear is noted then
            self._first = None
        self._drain()
        self._give_up()
        self._end(Closed(goes_on=True))
        with self._replica.lock:
            self._place = self._replica.state.cursor
            why = self._tape.mend()
        try:
            self._begin(why)
        except BaseException:
            self._tape.tear(why)
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
            self._number += 1
            file = RecordFile(
                *(self._directory, self._process, self._number, self._written)
            )
            following = self._next = _Next(file, cursor)
            if cursor == place:
                self._pass(following)
            try:
                self._fill(following, chunks, why)
            except BaseException:
                self._give_up()
                raise
        self._files += 1
        trim(self._directory, self._options.record_files)
        following.is_whole = True
        self._switch()

    def _fill(self, following: _Next, chunks: Chunks, why: str) -> None:
        head = Head(
            kind=KIND,
            version=__version__,
            process=self._process,
            number=self._number,
            at=self._clock.now(),
            began=why,
            follows=self._now is not None,
        )
        file, cursor = following.file, following.cursor
        file.write(text([head]))
        for table, rows in chunks:
            if rows:
                file.write(text([row_line(table, rows)]))
            if len(following.later) < self._options.record_backlog:
                self._drain()
        file.write(text([Started(cursor.revision, cursor.batch)]))

    def _switch(self) -> None:
        """Write the new file from now on, if it is ready and its time has come."""
        following = self._next
        if following is None or not (following.is_whole and following.has_passed):
            return
        self._end(Closed(goes_on=True))
        self._now, self._next = following.file, None
        self._now.size = 0  # a snapshot may be longer than a file is to be
        if self._lost:
            lost, self._lost = self._lost, 0
            self._now.write(text([Dropped(lost, "before this file began")]))
        self._now.write(text(following.later))

    def _give_up(self) -> None:
        """Go on with the file before as if the new one had not been begun."""
        following, self._next = self._next, None
        if following is not None:
            following.file.discard()
            if self._now is not None and following.later:
                self._now.write(text(following.later))

    # -- writing ------------------------------------------------------------------

    def _drain(self) -> None:
        """Write what waits, each entry where it belongs."""
        waiting: list[Line] = []
        for entry in self._tape.take():
            following = self._next
            if self._now is None and (following is None or not following.has_passed):
                self._lose(entry)
            else:
                self._lines.add(entry, waiting)
            if isinstance(entry, Moved):
                self._place = entry.cursor
                if following is not None and not following.has_passed:
                    self._write(waiting)
                    self._look_for(following, entry.cursor)
            if len(waiting) >= _AT_ONCE:
                self._write(waiting)
        self._write(waiting)

    def _pass(self, following: _Next) -> None:
        """What comes now is after its snapshot, and decided by the policy in force."""
        following.has_passed = True
        self._lines.begin()
        if self._lines.policy is not None:
            following.later.append(self._lines.policy)

    def _look_for(self, following: _Next, place: Cursor) -> None:
        """Whether the snapshot of the new file is of this place."""
        if place == following.cursor:
            self._pass(following)
        elif place.revision > following.cursor.revision:
            self._tape.tear("the tables were not as the log had them")
        self._switch()

    def _write(self, waiting: list[Line]) -> None:
        if not waiting:
            return
        if self._next is not None and self._next.has_passed:
            self._next.later += waiting
        elif self._now is not None:
            self._now.write(text(waiting))
        waiting.clear()

    def _lose(self, entry: Entry) -> None:
        """It belongs to no file."""
        if isinstance(entry, Policed):
            self._lines.take_policy(entry)
        elif begins(entry):
            self._lost += 1
            self._tape.dropped += 1
        elif isinstance(entry, Dropped):
            self._lost += entry.decisions

    def _fail(self, why: str) -> None:
        """End what is there, and try again after a while."""
        self._failures += 1
        self._try_at = self._clock.monotonic() + _AGAIN_S
        self._tape.tear(f"recording failed: {why}")
        if self._next is not None:
            self._next.file.discard()
        with contextlib.suppress(OSError):
            self._end(Closed(goes_on=True))
        self._now = self._next = None

    def _end(self, line: Closed) -> None:
        """End the file that is written, if there is one."""
        file, self._now = self._now, None
        if file is not None:
            try:
                file.write(text([line]))
            finally:
                file.close()
