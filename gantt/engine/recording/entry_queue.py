"""What a process applied and decided, in that order, until a thread writes it.

All of it is noted under the state lock, so that the order is that of the State; noting
is little more than an append. What waits is packed, and the thread is woken before it
is much, so that the next decisions use the same memory again while the caches have it.
The garbage collector does not track entries, since those that wait would make it run
more often. Where the thread does not keep up, decisions are left out and counted, and
if changes alone are too many, a gap is made: the record starts again from a new
snapshot.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from typing import Final, TypeAlias

import msgspec
from msgspec import Raw, Struct

from gantt.engine.recording.request_forms import CommonRequest
from gantt.engine.threads import Condition
from gantt.model.changes import Change, Cursor
from gantt.model.facts import as_told
from gantt.model.record import Dropped, Paused, Settled
from gantt.model.rows import FACTS
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.options import SchedulerOptions

_ENCODE_INTO: Final = msgspec.json.Encoder().encode_into
_SLACK: Final = 2
"""Changes may wait so many times as long as decisions: without them a file ends."""
MANY: Final = 384
"""Entries that wake the thread, of some 130 claims: more of them take the caches from
the next decisions, and with fewer the thread begins too often."""


class ChangesEntry(Struct, frozen=True, gc=False):
    """These changes were applied: ``rows``, as the line will have them."""

    cursor: Cursor
    rows: Raw
    count: int


class PolicyEntry(Struct, frozen=True, gc=False):
    """Decisions are by these options from here on."""

    options: SchedulerOptions
    has_plugins: bool


class DecisionStart(Struct, frozen=True, gc=False):
    """A decision begins, on a request of ``kind``. ``held``: by host id."""

    number: int
    now: int
    seed: int
    source: str
    kind: CommonRequest
    instance_uuids: tuple[str, ...] | None
    request_id: str
    instance_uuid: str | None
    held: Mapping[int, HeldHost]


class DecisionEntry(Struct, frozen=True, gc=False):
    """A decision, with its packed choices and how many hosts were feasible;
    ``failure``: there is none. ``asked``: its beginning, where nothing else was noted
    since; None: that is in the queue."""

    number: int
    asked: DecisionStart | None
    choices: bytes = b""
    feasible: int = 0
    failure: str | None = None
    is_left: bool = False


Entry: TypeAlias = (
    ChangesEntry
    | PolicyEntry
    | DecisionStart
    | Paused
    | DecisionEntry
    | Settled
    | Dropped
)


def begins(entry: Entry) -> bool:
    """Whether a decision begins with it."""
    if isinstance(entry, DecisionEntry):
        return entry.asked is not None
    return isinstance(entry, DecisionStart)


class EntryQueue:
    """At most ``most`` decisions and changed rows wait, and some more changes.
    ``place``: what was applied last. ``gap``: why nothing is noted; "": all is.
    ``many``: tells the thread that ``MANY`` entries wait."""

    def __init__(self, most: int, place: Cursor, many: Condition) -> None:
        self._most = most
        self._many, self._is_over = many, False
        self._entries: deque[Entry] = deque()
        self._rows = bytearray()  # used again: to let it grow takes microseconds
        self._noted = self._taken = 0
        self.place = place
        self.gap = ""
        self.dropped = self.skipped = 0

    @property
    def waiting(self) -> int:
        """Decisions and changed rows that wait."""
        return self._noted - self._taken

    def has_room(self) -> bool:
        """Whether one more decision is noted."""
        return not self.gap and self._noted - self._taken < self._most

    def moved(self, changes: Collection[Change], cursor: Cursor) -> None:
        """Note changes, as they are applied."""
        self.place = cursor
        if self.gap:
            return
        if self.waiting > _SLACK * self._most:
            self.break_off("more was written than could be recorded")
            return
        try:
            parts = [(one.table, one.key, one.new) for one in changes]
            if FACTS in [one[0] for one in parts]:
                told = map(as_told, changes)
                parts = [(one.table, one.key, one.new) for one in told]
            _ENCODE_INTO(parts, self._rows)
        except Exception as error:  # the books go on without a record
            self.break_off(f"changed rows cannot be written as JSON: {error!r}")
            return
        self._append(ChangesEntry(cursor, Raw(bytes(self._rows)), len(changes)))
        self._noted += len(changes)

    def note(self, entry: Entry) -> bool:
        """Note what else happens; False: the record has a gap, and a decision that
        would have begun with it is left out."""
        if self.gap:
            if begins(entry):
                self.drop()
            return False
        self._append(entry)
        return True

    def _append(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._noted += 1
        if len(self._entries) == MANY:
            with self._many:
                self._many.notify_all()

    def await_many(self, timeout_s: float) -> bool:
        """Return when ``MANY`` entries wait, or in time; False: there will be none."""
        with self._many:
            self._many.wait_for(
                lambda: self._is_over or len(self._entries) >= MANY, timeout_s
            )
        return not self._is_over

    def end(self) -> None:
        """Wake what waits: nothing more is noted."""
        with self._many:
            self._is_over = True
            self._many.notify_all()

    def break_off(self, why: str) -> None:
        """Note nothing from here on."""
        self.gap = why

    def refuse(self, why: str) -> None:
        """A decision is left out, for a reason of its own."""
        self.dropped += 1
        self.note(Dropped(1, why))

    def drop(self) -> None:
        """A decision is left out, which the files will tell."""
        self.dropped += 1
        self.skipped += 1

    def mend(self) -> str:
        """Note again, from the present place on; why there was a gap. Under the state
        lock, when all that was noted before has been taken."""
        gap, self.gap = self.gap, ""
        return gap

    def take(self) -> Iterator[Entry]:
        """What waits, the oldest first, with the number of decisions that were left out
        before; by one thread alone."""
        if self.skipped:
            skipped, self.skipped = self.skipped, 0
            yield Dropped(skipped, "more was decided than could be recorded")
        for _ in range(len(self._entries)):
            entry = self._entries.popleft()
            self._taken += 1
            if isinstance(entry, ChangesEntry):
                self._taken += entry.count
            yield entry
