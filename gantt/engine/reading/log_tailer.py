"""Keeps the columns up to date with what other processes commit.

Separate from the committer, because readers keep up without any lock of the database.
"""

from __future__ import annotations

import gc
import logging
import math
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import msgspec

from gantt.engine.clock import Clock
from gantt.engine.options import EngineOptions
from gantt.engine.reading.admission import AdmissionControl
from gantt.engine.reading.lost_history import lost
from gantt.engine.reading.outage import Outage
from gantt.engine.reading.replica import Replica
from gantt.engine.threads import Threads
from gantt.errors import GanttError, Refused, StoreFailed
from gantt.model.changes import Cursor, LogEntry
from gantt.state.column import NO_ROW
from gantt.state.fleet_columns import JOURNAL_LENGTH, Journal
from gantt.state.state import State
from gantt.store.interface import Store

LOG = logging.getLogger(__name__)
_SILENT_S = 1.0
_CURRENT_S = 1.0


def load_state(store: Store, kept_changes: int = JOURNAL_LENGTH) -> State:
    """A State built from one snapshot of the tables, which remembers that many changes
    of hosts.

    Raises StoreFailed, and Refused for rows that cannot be read or do not fit together.
    """
    state = State(store.fold)
    with _without_collections():
        _load(state, store)
    if (row := state.providers.cyclic_row()) != NO_ROW:
        raise Refused(
            f"The parents of the provider {state.providers.uuids[row]} in {store.url} "
            "form a cycle: the database is damaged. Restore a backup, or correct "
            "parent_provider_id."
        )
    state.fleet.journal = Journal(kept_changes)
    return state


@contextmanager
def _without_collections() -> Iterator[None]:
    """All that is made meanwhile stays: a quarter of the time would go into looking for
    garbage in it."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _load(state: State, store: Store) -> None:
    cursor, chunks = store.load()
    with closing(chunks):
        for table, rows in chunks:
            try:
                state.load(table, rows)
            except KeyError as missing:
                raise Refused(
                    f"A row of {table} in {store.url} refers to the id {missing}, "
                    "which does not exist: the database is damaged. Restore a "
                    "backup, or correct the row."
                ) from missing
            except (msgspec.MsgspecError, OverflowError, ValueError) as error:
                raise Refused(
                    f"A row of {table} in {store.url} cannot be read ({error}): the "
                    "database is damaged. Restore a backup, or correct the row."
                ) from error
    state.apply((), cursor)


class LogTailer:
    """Brings a Replica up to the end of the log."""

    def __init__(
        self,
        store: Store,
        replica: Replica,
        options: EngineOptions,
        *,
        clock: Clock,
        threads: Threads,
    ) -> None:
        self._store = store
        self.outage = Outage("the database", clock, threads)
        # For all callers of this process, of the committer too.
        self.admission = AdmissionControl(options, threads)
        self._replica = replica
        self._clock = clock
        self._bound_s: float | None = None
        self.keep_fresh(options)
        self._kept_changes = options.scheduler.kept_changes
        # Loading may have taken longer than any bound: the first reader queries.
        self._asked_at = -math.inf
        self._asking = threads.lock()
        # When the store was last queried, and its answer or error.
        self._answer: tuple[float, Cursor | StoreFailed] = (-math.inf, Cursor())
        # When the current query was sent.
        self._asking_since: float | None = None
        # The last answer of the store, and when the first query since was sent.
        self._latest = replica.state.cursor
        self._unanswered_since: float | None = None
        # The position that the log was found not to continue, if any.
        self._stranded: Cursor | None = None
        self.reloads = self.lost_revisions = 0

    def keep_fresh(self, options: EngineOptions) -> None:
        """Keep reads as fresh as ``options`` say from now on."""
        is_bounded = options.freshness == "bounded"
        self._bound_s = options.bound_ms / 1000 if is_bounded else None

    def freshen(self) -> None:
        """Make the columns as fresh as the options say. Raises StoreFailed."""
        if self._bound_s is None or self.age_s() > self._bound_s:
            self.look()

    def look(self) -> None:
        """Catch up with the end of the log as it is now. Raises StoreFailed."""
        durable = self._replica.durable
        came_at = self._clock.monotonic()
        try:
            end = self._end_since(came_at)
            if end.revision < durable or not self._covers(end):
                self._catch_up(end, is_lost=end.revision < durable)
        except StoreFailed as failure:
            self.outage.failed("read", failure)
            raise
        self._asked_at = max(self._asked_at, came_at)
        self.outage.succeeded("read")

    def check_writable(self) -> None:
        """Raises StoreFailed where the database takes no writes."""
        self._store.check_writable()

    def is_fresh(self) -> bool:
        """Whether the columns are as fresh as the options say, where that can be told
        without waiting."""
        came_at = self._clock.monotonic()
        if self._bound_s is not None and came_at - self._asked_at <= self._bound_s:
            return True
        end = self._store.cursor_at_once()
        if end is None or end.revision < self._replica.durable or not self._covers(end):
            return False
        self._asked_at = max(self._asked_at, came_at)
        self._answered(end)
        self.outage.succeeded("read")
        return True

    def is_current(self) -> bool:
        """Whether the columns lack nothing that was committed more than a second ago,
        as far as that can be told without waiting."""
        is_known = self.age_s() <= _CURRENT_S and not self.outage.is_on("read")
        return is_known or self.is_fresh()

    def is_away(self) -> bool:
        """Whether the database is away now, which is logged then."""
        if not self.outage.is_on("read"):
            with suppress(GanttError):
                self.look()
        return self.outage.is_on()

    def caught_up(self, asked_at: float) -> None:
        """The columns have what was committed before ``asked_at``: the committer has
        read the end of the log; under ``turn``."""
        self._asked_at = max(self._asked_at, asked_at)
        self._answered(self._replica.state.cursor)

    def age_s(self) -> float:
        """For how long the columns may lack what others have committed."""
        return self._clock.monotonic() - self._asked_at

    def _end_since(self, came_at: float) -> Cursor:
        """The end of the log, queried after ``came_at`` by this caller or by another
        while this one waited. Raises StoreFailed; if the database was silent for long,
        in all waiting callers: each would wait as long again."""
        if not self._asking.acquire(blocking=False):
            self._wait_to_ask(came_at)
        try:
            asked_at, end = self._answer
            if asked_at <= came_at:
                asked_at, end = self._answer = self._asked()
        finally:
            self._asking.release()
        if isinstance(end, StoreFailed):
            raise StoreFailed(end.message) from end
        return end

    def _wait_to_ask(self, came_at: float) -> None:
        """Take ``asking``. A waiting caller occupies a thread that others need, and a
        stalled server may be silent for hours."""
        since = self._asking_since
        waited_s = 0.0 if since is None else came_at - since
        if not self.admission.await_turn(
            lambda timeout_s: self._asking.acquire(timeout=timeout_s), waited_s
        ):
            raise StoreFailed(
                f"The database {self._store.url} does not answer, and the "
                "maximum number of requests are already waiting for it. "
                "Check that it is running, and try again later."
            )

    def _asked(self) -> tuple[float, Cursor | StoreFailed]:
        """When the store was queried, and the end of the log, or the error; under
        ``asking``. Raises StoreFailed if that took no time."""
        end: Cursor | StoreFailed
        asked_at = self._asking_since = self._clock.monotonic()
        if self._unanswered_since is None:
            self._unanswered_since = asked_at
        try:
            end = self._store.cursor()
            self._answered(end)
        except StoreFailed as failure:
            if self._clock.monotonic() - asked_at < _SILENT_S:
                raise
            end = failure
        finally:
            self._asking_since = None
        return asked_at, end

    def _answered(self, end: Cursor) -> None:
        self._latest, self._unanswered_since = end, None

    def counts(self) -> dict[str, float]:
        """For metrics."""
        return {
            "reads_turned_away": self.admission.turned_away,
            "reloads": self.reloads,
            "lost_revisions": self.lost_revisions,
        }

    def lag(self) -> int:
        """How many revisions the columns are behind the last answer of the store."""
        return max(0, self._latest.revision - self._replica.durable)

    def silence_s(self) -> float:
        """For how many seconds the store has not answered; 0: it answers."""
        since = self._unanswered_since
        return 0.0 if since is None else max(0.0, self._clock.monotonic() - since)

    def _catch_up(self, end: Cursor, *, is_lost: bool) -> None:
        """Catch up with ``end``, unless another thread has done so meanwhile."""
        turn = self._replica.turn
        if not self.admission.await_turn(
            lambda timeout_s: turn.acquire(timeout=timeout_s)
        ):
            raise StoreFailed(
                "The columns are locked: the database does not answer a "
                "write, tables are being loaded, or a verify compares them "
                "with the tables; the maximum number of requests are already "
                "waiting. Try again later."
            )
        try:
            if is_lost or not self._covers(end):
                self.apply_tail(self._store.tail(self._replica.state.cursor))
        finally:
            turn.release()

    def apply_tail(self, tail: list[LogEntry] | None) -> None:
        """Apply a tail of the log, or start over where it does not continue ours.

        Under ``turn``, with nothing assumed.
        """
        if tail is None:
            known = self._replica.state.cursor
            if self._stranded != known:  # once: every caller meanwhile tries again
                self._tell_lost(known)
            self._stranded = known
            self.reload()
        elif tail:
            self._replica.follow(tail)

    def _tell_lost(self, known: Cursor) -> None:
        gone = lost(self._store, tuple(self._replica.remembered))
        if gone is None:
            LOG.warning(
                "the log does not continue revision %s: reloading all tables", known
            )
            return
        self.lost_revisions += gone.revisions
        LOG.error(
            "the log does not continue revision %s: %s. The database lost history, as "
            "after a failover to a server that lagged, or a restored backup: reloading "
            "all tables. Run gantt audit: what hosts run may no longer be claimed.",
            known,
            gone,
        )

    def reload(self) -> None:
        """Load everything under a new epoch; under ``turn``, with nothing assumed."""
        store, kept = self._store, self._kept_changes
        self._replica.reload(lambda: (load_state(store, kept), store.stamp()))
        self.reloads += 1
        self._stranded = None

    def _covers(self, end: Cursor) -> bool:
        known = self._replica.state.cursor
        return known == end or known.revision > end.revision
