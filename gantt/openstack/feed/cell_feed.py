"""One cell: rounds of reading, in a thread of its own, and pauses when they fail.

A cell whose database is down or slow delays no other. What was known of its hosts
stays; how the cell is can be asked (``state``), and is logged when it changes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta

from msgspec import UNSET, Struct

from gantt.conf.feed_settings import FeedOptions
from gantt.errors import GanttError
from gantt.model.fleet import Cell
from gantt.openstack.feed.cell_mappings import CellMapping, open_cell
from gantt.openstack.feed.cell_reader import CellNews, CellReader
from gantt.openstack.feed.notes import Notes
from gantt.openstack.feed.nova_connection import NovaDatabase
from gantt.openstack.feed.row_times import micros
from gantt.openstack.feed.unreadable_rows import Unreadable

LOG = logging.getLogger(__name__)
# Rows of instances are counted once in so many rounds: there are many.
COUNT_EVERY = 12
# After so long without a reading, everything is read: that is less than what changed.
STALE = timedelta(minutes=10)
NOT_YET = "not read yet"
"""Its first round takes long."""
# How often it is passed on that a cell is still read.
TOLD_EVERY_S = 60.0

Deliver = Callable[["CellFeed", CellNews, float], None]


class CellState(Struct, frozen=True):
    """``failure``: why its database cannot be read; "": it can. ``read_at``: when it
    was read last by its own clock, in microseconds since the epoch; None: never."""

    uuid: str
    name: str
    disabled: bool
    failure: str
    read_at: int | None
    hosts: int


class CellFeed:
    """``mark`` passes on whether it is read; ``deliver`` what a round found, and the
    monotonic time at which the round began; ``seat``: held while the database is
    read."""

    def __init__(
        self,
        cell: CellMapping,
        options: FeedOptions,
        *,
        flavorid_of: Callable[[int], str | None],
        notes: Notes,
        deliver: Deliver,
        mark: Callable[[Cell], None],
        seat: AbstractContextManager[object],
    ) -> None:
        self.cell = cell
        self.notes = notes
        self._options = options
        self._database: NovaDatabase | None = None
        self.reader = CellReader(cell, options, flavorid_of)
        self.unreadable = Unreadable(f"cell {cell.name}")
        self._deliver = deliver
        self._mark = mark
        self._seat = seat
        self._since: datetime | None = None
        self._failure = ""
        self._marked: Cell | None = None
        self._read_at: int | None = None
        self._read_since = 0.0  # on the monotonic clock
        self._counts: Counter[str] = Counter()
        self._stop = threading.Event()
        self._wake = threading.Event()
        # Set once a first round has succeeded or failed.
        self.has_tried = threading.Event()
        self.turn = threading.Lock()
        # Held while it is told whether the cell is read.
        self._telling = threading.Lock()
        # Hosts whose instances are to be read: no more than the cell has.
        self._asked: set[str] = set()
        self._thread = threading.Thread(
            target=self._run, name=f"gantt-feed-{cell.name}", daemon=True
        )

    @property
    def database(self) -> NovaDatabase:
        """Opened when it is first needed, so that one that cannot be used fails the
        rounds of its cell alone. Raises Refused."""
        if self._database is None:
            self._database = open_cell(self.cell, self._options)
        return self._database

    @property
    def is_known(self) -> bool:
        """Whether it was read as a whole."""
        return self._read_at is not None

    @property
    def state(self) -> CellState:
        """How it is now."""
        return CellState(
            self.cell.uuid,
            self.cell.name,
            self.cell.disabled,
            self._failure,
            self._read_at,
            len(self.reader.places),
        )

    @property
    def described(self) -> Cell:
        """The cell as Gantt is to know it."""
        read_at = UNSET if self._read_at is None else self._read_at
        return Cell(self.cell.uuid, self.cell.disabled, bool(self._failure), read_at)

    @property
    def counts(self) -> Counter[str]:
        """What was done so far, by the names of ``Feed.counts``."""
        return self._counts

    @property
    def lag_s(self) -> float:
        """Seconds since it was read; 0: that was never."""
        return time.monotonic() - self._read_since if self.is_known else 0.0

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end; ``join`` waits for it."""
        self._stop.set()
        self._wake.set()

    def join(self) -> None:
        """Wait until it has ended, no longer than its database may take."""
        if self._thread.is_alive():
            self._thread.join(2 * self._options.feed_timeout + 1)
        if self._database is not None:
            self._database.close()

    def wait(self, until: float) -> None:
        """Wait for its first round until this monotonic time; one that takes longer
        is marked as not read, and goes on."""
        if self.has_tried.wait(max(0.0, until - time.monotonic())):
            return
        with self._telling:
            if not self.has_tried.is_set():
                self._failure = NOT_YET
                LOG.warning(
                    "cell %s is not read yet: its hosts stay as they were last known "
                    "until it is",
                    self.cell.name,
                )
        self._tell()

    def read_everything(self) -> None:
        """Let the next round read all rows, at once."""
        with self.turn:
            self._since = None
        self._wake.set()

    def _run(self) -> None:
        in_a_row = 0
        while not self._stop.is_set():
            began = time.monotonic()
            in_a_row = 0 if self._try() else in_a_row + 1
            pause = self._options.feed_interval * 2 ** min(in_a_row, 10)
            pause = min(
                pause, max(self._options.feed_retry, self._options.feed_interval)
            )
            self._wake.wait(max(0.0, began + pause - time.monotonic()))
            self._wake.clear()

    def _try(self) -> bool:
        """One round; whether it succeeded."""
        try:
            with self._seat, self.turn:
                self.round()
            self._read_waiting()
        except GanttError as error:
            self._failed(error.message)
        except Exception as error:
            LOG.exception("cell %s: this is a mistake of the feed", self.cell.name)
            self._failed(f"{type(error).__name__}: {error}")
        else:
            with self._telling:
                if self._failure:
                    again = "" if self._failure == NOT_YET else " again"
                    LOG.warning("cell %s is read%s", self.cell.name, again)
                self._failure = ""
                self.has_tried.set()
        self._tell()
        return not self._failure

    def _tell(self) -> None:
        """Pass on whether it is read, and now and then when it was."""
        with self._telling:
            now = self.described
            if self._stop.is_set() or not self._is_due(now):
                return
            try:
                self._mark(now)
                self._marked = now
            except GanttError as error:
                LOG.info("cell %s: its mark waits: %s", self.cell.name, error.message)

    def _is_due(self, now: Cell) -> bool:
        """Whether it differs by more than a moment from what was passed on last."""
        told = self._marked
        if told is None or told.unreadable != now.unreadable:
            return now.unreadable or now.read_at is not UNSET
        if told.read_at is UNSET or now.read_at is UNSET:
            return told.read_at is not now.read_at
        return abs(now.read_at - told.read_at) >= TOLD_EVERY_S * 1_000_000

    def round(self) -> None:
        """Read what is new and pass it on. Raises what either raises."""
        now = self.database.now()
        began = time.monotonic()
        since = self._since
        if since is not None and now - since > STALE:
            since = None
        counts = self._counts["cell_rounds"] % COUNT_EVERY == COUNT_EVERY - 1
        again = self.notes.names()
        found = self.reader.read(
            self.database, now, since, again, at=began, counts=counts
        )
        self._deliver(self, found, began)
        self.unreadable.tell(self.reader.unreadable)
        self._count(found)
        self._read_asked()
        self._since = found.since
        self._counts["cell_rounds"] += 1
        self._read_at, self._read_since = micros(now), began

    def _count(self, found: CellNews) -> None:
        counts = self._counts
        had_missed = counts["missed"] > 0
        for part in (found.nodes, found.instances):
            counts["rows"] += len(part.new)
            if part.again is not None:
                counts["reread"] += part.again.rows
                counts["missed"] += part.again.missed
        if counts["missed"] and not had_missed:
            LOG.warning(
                "cell %s: rows had changed without a time that says so: transactions "
                "in Nova's database take longer than feed_overlap, %g s, or clocks "
                "differ by more; gantt_feed_missed_total has their number",
                self.cell.name,
                self._options.feed_overlap,
            )

    def read_host(self, host: str) -> None:
        """Read the instances of a host and pass them on, and of those that others ask
        for meanwhile; where the database is being read, that thread does it next, and
        where it fails, the next round that does not. Raises what either raises."""
        self._asked.add(host)
        if not self._failure:
            self._read_waiting()

    def _read_waiting(self) -> None:
        """Read the hosts that are asked for, unless another thread has the turn, which
        then does. It looks again after its turn: one that was asked for between its
        last look and its end would wait for the next round."""
        while self._asked and self.turn.acquire(blocking=False):
            try:
                self._read_asked()
            finally:
                self.turn.release()

    def _read_asked(self) -> None:
        for host in tuple(self._asked):
            began = time.monotonic()
            self._asked.discard(host)
            try:
                found = self.reader.read_host(self.database, host)
                self._deliver(self, found, began)
            except BaseException:
                self._asked.add(host)
                raise

    def _failed(self, why: str) -> None:
        self._counts["cell_failures"] += 1
        with self._telling:
            if why != self._failure:
                LOG.error(
                    "cell %s is not read, its hosts stay as they were last known: %s",
                    self.cell.name,
                    why,
                )
            self._failure = why
            self.has_tried.set()
