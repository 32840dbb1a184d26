"""What the engine needs of a store.

Apart so that the committer can be read, and tested, without SQL: ``MemoryStore`` and
``SqlStore`` implement the same protocols.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from gantt.model.changes import Change, Cursor, LogEntry
from gantt.model.rows import Row
from gantt.model.selection import Asked as DecisionQuery
from gantt.model.shadow import ShadowQuery
from gantt.model.usage_history import HistoryQuery, UsageRecord

R = TypeVar("R")
Asked = TypeVar("Asked", contravariant=True)
Drop = TypeVar("Drop", contravariant=True)


class StoreOptions(Struct, frozen=True):
    """How to open a store.

    ``create``: create the tables, or bring them up to date, before opening.
    ``lock_timeout_s``: how long ``begin`` waits for the head lock.
    ``idle_timeout_s``: a writer that pauses so long within a transaction loses it
    (server databases). ``pool_size``: connections for readers; ``list_connections``:
    further ones, for long lists alone.
    ``tail_limit``: a process that is more revisions behind reloads. ``chunk``: rows per
    list while loading. ``named``: the options by which ``gantt-manage`` finds this
    database, for messages; None: its URL.
    """

    create: bool = False
    lock_timeout_s: float = 10.0
    idle_timeout_s: float = 5.0
    pool_size: int = 8
    list_connections: int = 2
    tail_limit: int = 50_000
    chunk: int = 5_000
    named: str | None = None


class Page(Struct, frozen=True):
    """``entries`` follow ``start`` without a gap, oldest first."""

    start: Cursor
    entries: Sequence[LogEntry]


LEADER_TASKS: Final = 1
FEEDS: Final = 2
"""What can be led."""


class Lead(Struct, frozen=True):
    """The leader (``holder`` "": none), and its heartbeats so far."""

    holder: str = ""
    beat: int = 0


class Precondition(Struct, frozen=True):
    """What a batch does not write and yet relies on: once it is written, the rows of
    ``table`` with column ``by`` in ``keys`` are exactly ``rows``, each the values of
    ``columns``; NULL counts as 0, or as its substitute.

    Only other programs can break it: Placement changes aggregates, names and parents
    without incrementing a generation.
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


RECORD_INSTANCES: Final = 16
"""Where records are limited, one for more instances counts as several: some are for a
thousand."""


class RecordPage(Struct, Generic[R], frozen=True):
    """Rows by their places, the latest first; ``is_whole``: no more would match."""

    rows: Mapping[tuple[Any, ...], R] = {}
    is_whole: bool = True


class Trimmed(Struct, frozen=True):
    """Rows that were dropped, and that are left."""

    dropped: int
    left: int


class SharedDecision(Struct, frozen=True):
    """A decision in the shared table. ``number``: unique within ``process``.
    ``instance_uuids``: each between commas; ``instances``: their number. ``record``:
    all of it, as the engine encodes it."""

    process: str
    number: int
    at: int
    request_id: str
    project_id: str | None
    is_refused: bool
    instances: int
    instance_uuids: str
    record: bytes


class ShadowRow(Struct, frozen=True):
    """A shadow record in its table. ``record``: all of it, as the engine encodes it."""

    at: int
    request_id: str
    instance_uuid: str | None
    verdict: str
    record: bytes


class Heartbeat(Struct, frozen=True):
    """When a host, by its id, was heard of last: microseconds by the clock of the
    process that wrote it."""

    host_id: int
    heard_at: int


class SideTable(Protocol[R, Asked, Drop]):
    """Rows of one kind beside the books: no revision, no log; used by any thread. If
    the machine or the server fails, the last second of them may be lost. All methods
    raise StoreFailed."""

    def append(self, rows: Sequence[R]) -> int:
        """Add all that the database can hold, in place of those of the same key; how
        many it cannot. After StoreFailed some may have been added."""

    def page(self, asked: Asked) -> RecordPage[R]:
        """Rows that may match, by their places, the latest first: at most the limit,
        and fewer of records for many instances."""

    def trim(self, drop: Drop) -> Trimmed:
        """Drop all records but the last so many, of which one for more than
        RECORD_INSTANCES counts as several; or the heartbeats of these hosts."""


class SideKind(Struct, Generic[R, Asked, Drop], frozen=True):
    """What lies beside the books, by the type of its rows, of a question and of what
    is dropped."""

    name: str


DECISIONS: Final = SideKind[SharedDecision, DecisionQuery, int]("decisions")
ADVICE: Final = SideKind[SharedDecision, DecisionQuery, int]("advice")
"""Decisions of processes whose name ends in ADVISING, which may need no token: they are
found with the others, and limited apart."""
ADVISING: Final = ":advice"
SHADOWS: Final = SideKind[ShadowRow, ShadowQuery, int]("shadows")
HEARTBEATS: Final = SideKind[Heartbeat, None, Collection[int]]("heartbeats")

Chunks = Generator[tuple[str, list[Row]], None, None]
"""Rows by table; close it where it is not exhausted."""
Progress: TypeAlias = Callable[[int, int], None]
"""Is told how many rows are done, and of how many, now and then."""


class Transaction(Protocol):
    """The head lock, held until ``commit`` or ``rollback``; used by one thread."""

    def now(self) -> int | None:
        """The database's clock in microseconds UTC; None where it has none."""

    def tail(self, after: Cursor) -> list[LogEntry] | None:
        """Entries after ``after``, oldest first, ``old`` of their changes None.

        None: the log does not continue ``after`` (history lost or compacted, or too
        far behind); everything must be loaded again.
        """

    def write(
        self, entries: Sequence[LogEntry], preconditions: Sequence[Precondition] = ()
    ) -> None:
        """Write all changes, and a log row per entry; once per transaction.
        ``preconditions`` are checked after that.

        Raises ForeignWrite, DataError, DefiniteAbort, errors.StoreFailed; the
        caller then rolls back.
        """

    def commit(self) -> None:
        """Raises DefiniteAbort, UnknownOutcome; the transaction is over either way."""

    def rollback(self) -> None:
        """Undo what was written and release the lock; never raises, may repeat."""


class UsageRows(Protocol):
    """The usage history under the head lock. Spans are ``since`` <= start < ``until``,
    in microseconds; methods raise outcomes, which ``Store.usage_rows`` translates."""

    def now(self) -> int | None:
        """The time of the store; see ``Transaction.now``."""

    def first(self, period_s: int, since: int, until: int) -> int | None:
        """The begin of the first period of that length in the span."""

    def last(self, period_s: int, since: int, until: int) -> int | None:
        """The begin of the last one."""

    def find(self, asked: HistoryQuery) -> list[UsageRecord]:
        """The records that were asked for; see ``Store.usage_history``."""

    def replace(
        self, period_s: int, start: int, records: Sequence[UsageRecord]
    ) -> None:
        """Replace all records of the period that begins at ``start``."""

    def drop(self, period_s: int, since: int, until: int) -> int:
        """Drop the periods in the span; how many records were dropped."""


class Store(Protocol):
    """Keeps rows and log. All methods but ``begin`` may be used by any thread."""

    @property
    def url(self) -> str:
        """The URL of the books, the password hidden."""

    @property
    def statements(self) -> int:
        """SQL statements sent so far; one for many rows counts once."""

    def beside(
        self, kind: SideKind[R, Asked, Drop]
    ) -> SideTable[R, Asked, Drop] | None:
        """The table of ``kind``; None: there is none."""

    def fold(self, name: str) -> str:
        """``name`` as the database compares it for uniqueness."""

    def as_kept(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        """The changes as the tables will return them: some databases store times and
        ratios less exactly."""

    def identity(self) -> str:
        """A uuid: which books these are. It survives every restart and is the same in
        a restored backup. Raises StoreFailed."""

    def load(self) -> tuple[Cursor, Chunks]:
        """One consistent snapshot: its cursor, and chunks of rows by table in the
        order of ROW_TYPES. Exhaust or close the iterator. Where the store was opened
        with a Progress, it is told. Raises StoreFailed."""

    def cursor(self) -> Cursor:
        """The end of the log, cheaply. Raises StoreFailed."""

    def cursor_at_once(self) -> Cursor | None:
        """What ``cursor`` answers, where neither a server nor a lock has to be waited
        for, and nothing fails; else None."""

    def now(self) -> int | None:
        """The time of ``Transaction.now``, without the lock. Raises StoreFailed."""

    def stamp(self) -> int:
        """``at`` of the last entry of the log, 0 without one. Raises StoreFailed."""

    def tail(self, after: Cursor) -> list[LogEntry] | None:
        """The entries of ``Transaction.tail``, without the lock."""

    def begin(self) -> Transaction:
        """Take the head lock. Raises DefiniteAbort if it is not free in time,
        errors.StoreFailed if the database cannot be reached or written."""

    def check_writable(self) -> None:
        """Raises StoreFailed where the database takes no writes, as a server that is
        read-only or a standby. Waits for no other writer."""

    def has_batch(self, end: Cursor) -> bool | None:
        """Whether the log has the batch that ends, or would end, at ``end``, judged
        under the head lock. None: unknown, because the log was compacted beyond that
        revision, or a new one was begun. Raises as ``begin``."""

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the tables as they are. Raises errors.StoreFailed, as do
        the other methods from here on."""

    def saved_fingerprint(self) -> Fingerprint | None:
        """The saved fingerprint, if any."""

    def save_fingerprint(self, fingerprint: Fingerprint) -> None:
        """Save a fingerprint for the next start."""

    def history(self, after: Cursor) -> Page:
        """A page of entries after ``after``, whose batch may be a prefix ("": any),
        ``old`` of their changes None; empty at the end of the log. Raises errors.Gone
        when the log does not continue ``after``."""

    def compact(self, keep: int) -> int:
        """Drop all but the last ``keep`` log rows (at least one); how many."""

    def leader(self, of: int = LEADER_TASKS) -> Lead:
        """The leader of the leader tasks, or of the feeds."""

    def lead(self, holder: str, seen: Lead, of: int = LEADER_TASKS) -> Lead | None:
        """Lead as ``holder`` ("": give up) if the row is still as ``seen``; the new
        row, or None if another process was faster."""

    def usage_history(self, asked: HistoryQuery) -> list[UsageRecord]:
        """Matching records, the latest first."""

    def usage_rows(self) -> AbstractContextManager[UsageRows]:
        """The usage history under the head lock, in one transaction."""

    def close(self) -> None:
        """Close all connections; a second call does nothing."""
