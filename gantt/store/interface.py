"""What the engine may ask of a store, whatever keeps the books behind it.

It stands apart so that the committer can be read, and tested, without SQL:
``MemoryStore`` and ``SqlStore`` implement the same two protocols.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager
from typing import Final, Protocol

from msgspec import Struct

from gantt.model.changes import Change, Cursor, LogEntry
from gantt.model.rows import Row
from gantt.model.selection import Asked
from gantt.model.usage_history import HistoryQuery, UsageRecord


class StoreOptions(Struct, frozen=True):
    """How to open a store.

    ``create``: make the tables, or bring them up to date, before opening.
    ``lock_timeout_s``: how long ``begin`` waits for the head lock.
    ``idle_timeout_s``: a writer that pauses so long within a transaction loses it
    (server databases). ``pool_size``: connections for readers.
    ``tail_limit``: who is further behind than so many revisions is told to reload.
    ``chunk``: rows per list while loading. ``named``: the options that name this
    database to ``gantt-manage``, for messages; None: its URL does.
    """

    create: bool = False
    lock_timeout_s: float = 10.0
    idle_timeout_s: float = 5.0
    pool_size: int = 8
    tail_limit: int = 50_000
    chunk: int = 5_000
    named: str | None = None


class Page(Struct, frozen=True):
    """``entries`` follow ``start`` without a gap, oldest first."""

    start: Cursor
    entries: Sequence[LogEntry]


class Lead(Struct, frozen=True):
    """Who leads the leader tasks (``holder`` "": nobody), and how often that was
    said."""

    holder: str = ""
    beat: int = 0


class Precondition(Struct, frozen=True):
    """What a batch leaves as it is and yet relies on: once it is written, the rows of
    ``table`` whose column ``by`` is among ``keys`` are exactly ``rows``, each the
    values of ``columns``; NULL counts as 0, or as what stands for it.

    It would hold if nobody else wrote; Placement moves no generation when it changes
    aggregates, names or parents.
    """

    table: str
    by: str
    columns: tuple[str, ...]
    keys: tuple[int | str, ...]
    rows: frozenset[tuple[int | str, ...]]


class Fingerprint(Struct, frozen=True):
    """Row counts by table and sums of generations, at one revision."""

    revision: int
    batch: str
    counts: dict[str, int]
    generations: dict[str, int]


DECISION_INSTANCES: Final = 16
"""Where decisions are limited, one for more instances counts as several: some are for
a thousand."""


class Trimmed(Struct, frozen=True):
    """Rows that went, and that are left."""

    dropped: int
    left: int


class SharedDecision(Struct, frozen=True):
    """A record of a decision, as any process finds it. ``number``: its own among those
    of ``process``. ``instance_uuids``: each between commas; ``instances``: how many it
    is for. ``record``: all of it, in a form that the engine understands."""

    process: str
    number: int
    at: int
    request_id: str
    project_id: str | None
    is_refused: bool
    instances: int
    instance_uuids: str
    record: bytes


Chunks = Generator[tuple[str, list[Row]], None, None]
"""Rows by table; close it where it is not exhausted."""


class Transaction(Protocol):
    """The head lock, held until ``commit`` or ``rollback``; used by one thread."""

    def now(self) -> int | None:
        """The database's clock in microseconds UTC; None where it has none."""

    def tail(self, after: Cursor) -> list[LogEntry] | None:
        """Entries after ``after``, oldest first, ``old`` of their changes None.

        None: the log does not continue ``after`` (history lost or compacted, or too
        far behind), so that everything must be loaded again.
        """

    def write(
        self, entries: Sequence[LogEntry], preconditions: Sequence[Precondition] = ()
    ) -> None:
        """The rows of all changes, and a log row per entry; once per transaction.
        ``preconditions`` are looked at after that.

        Raises ForeignWrite, DataError, DefiniteAbort, errors.StoreFailed; the
        caller then rolls back.
        """

    def commit(self) -> None:
        """Raises DefiniteAbort, UnknownOutcome; the transaction is over either way."""

    def rollback(self) -> None:
        """Forget what was written and give up the lock; never raises, may repeat."""


class UsageRows(Protocol):
    """The usage history under the head lock. Spans are ``since`` <= start < ``until``,
    in microseconds; methods raise outcomes, for whoever opened it to translate."""

    def now(self) -> int | None:
        """As ``Transaction.now``."""

    def first(self, period_s: int, since: int, until: int) -> int | None:
        """Where the first period of that length begins, of those in the span."""

    def last(self, period_s: int, since: int, until: int) -> int | None:
        """Where the last one begins."""

    def find(self, asked: HistoryQuery) -> list[UsageRecord]:
        """As ``Store.usage_history``."""

    def replace(
        self, period_s: int, start: int, records: Sequence[UsageRecord]
    ) -> None:
        """``records`` in place of whatever is there of the period from ``start`` on."""

    def drop(self, period_s: int, since: int, until: int) -> int:
        """Forget the periods in the span; how many records went."""


class SharedDecisions(Protocol):
    """The last decisions of all processes; used by any thread. What the machine or the
    server loses when it fails may be more than elsewhere: they are no books."""

    def add(self, rows: Sequence[SharedDecision]) -> int:
        """All that the database can hold; how many it cannot. Raises StoreFailed, and
        then some may be there."""

    def find(self, asked: Asked) -> list[SharedDecision]:
        """Those that may be meant, the latest first. Raises StoreFailed."""

    def trim(self, keep: int) -> Trimmed:
        """Drop all but the last ``keep``, of which one for more than
        DECISION_INSTANCES counts as several. Raises StoreFailed."""


class Store(Protocol):
    """Keeps rows and log. All methods but ``begin`` may be used by any thread."""

    @property
    def url(self) -> str:
        """Where the books are, the password hidden."""

    @property
    def statements(self) -> int:
        """SQL statements sent so far; one for all rows that go out together."""

    @property
    def decisions(self) -> SharedDecisions | None:
        """Where processes tell each other what they decided; None: there are none."""

    def fold(self, name: str) -> str:
        """What of ``name`` the database compares when it asks for uniqueness."""

    def as_kept(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        """The changes as the tables will give them back: some databases keep times and
        ratios less exactly than they were given."""

    def load(self) -> tuple[Cursor, Chunks]:
        """One consistent snapshot: its cursor, and chunks of rows by table in the
        order of ROW_TYPES. Exhaust or close the iterator. Raises StoreFailed."""

    def cursor(self) -> Cursor:
        """The end of the log, cheaply. Raises StoreFailed."""

    def stamp(self) -> int:
        """``at`` of the last entry of the log, 0 without one. Raises StoreFailed."""

    def tail(self, after: Cursor) -> list[LogEntry] | None:
        """As ``Transaction.tail``, without the lock."""

    def begin(self) -> Transaction:
        """Take the head lock. Raises DefiniteAbort when it cannot be had in time,
        errors.StoreFailed when the database cannot be reached or written."""

    def has_batch(self, end: Cursor) -> bool | None:
        """Whether the log bears the batch that ends, or would end, at ``end``, judged
        under the head lock. None: nobody can tell, because the log was compacted past
        that place, or begun anew. Raises as ``begin``."""

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the tables as they are. Raises errors.StoreFailed, as do
        the other methods from here on."""

    def saved_fingerprint(self) -> Fingerprint | None:
        """What ``save_fingerprint`` left, if anything."""

    def save_fingerprint(self, fingerprint: Fingerprint) -> None:
        """Leave a fingerprint for the next start."""

    def history(self, after: Cursor) -> Page:
        """A page of entries after ``after``, whose batch may be a prefix ("": any),
        ``old`` of their changes None; empty at the end of the log. Raises errors.Gone
        when the log does not continue ``after``."""

    def compact(self, keep: int) -> int:
        """Drop all but the last ``keep`` log rows (at least one); how many went."""

    def leader(self) -> Lead:
        """Who leads the leader_tasks."""

    def lead(self, holder: str, seen: Lead) -> Lead | None:
        """Lead as ``holder`` ("": nobody) if the row is still as it was ``seen``; the
        row from now on, or None when somebody else was faster."""

    def usage_history(self, asked: HistoryQuery) -> list[UsageRecord]:
        """What was asked for, the latest first."""

    def usage_rows(self) -> AbstractContextManager[UsageRows]:
        """The usage history under the head lock; all that is done within is kept, or
        nothing of it."""

    def close(self) -> None:
        """Let go of all connections; a second call does nothing."""
