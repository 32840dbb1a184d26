"""What is published next: revisions, or a marker and a snapshot.

Decided from what the topic ends with and what the log still has, so that nothing needs
to be remembered: a publisher that starts goes on where the last one was, whatever that
one was doing. It does no I/O of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from msgspec import Struct
from msgspec.structs import replace

from gantt.errors import Gone, Invalid
from gantt.model.watching import Event, Snapshot, read_cursor
from gantt.stream.changes.change_topic import ChangeLog, ChangeTopic
from gantt.stream.changes.messages import (
    Begin,
    End,
    Revision,
    decode,
    encode,
    revision_messages,
    rows_messages,
)

Clock = Callable[[], int]


class TransactionLimits(Struct, frozen=True):
    """``messages`` in one transaction, and how many bytes of them, unless one revision
    has more; ``message_bytes``: of one message, unless one row has more.
    ``snapshot_s``: seconds until another snapshot is published; 0: none is, but where
    revisions are missing."""

    messages: int = 500
    transaction_bytes: int = 4 * 1024 * 1024
    message_bytes: int = 900_000
    snapshot_s: int = 86_400


class TopicEnd(Struct, frozen=True):
    """Where the topic ends: at ``cursor``. ``gap``: why a snapshot must be next; "":
    the log continues. ``base_at``: as in messages; 0: nothing was published yet."""

    cursor: str = "0"
    gap: str = ""
    base_at: int = 0

    @property
    def revision(self) -> int:
        return read_cursor(self.cursor).revision


def place_after(last: bytes | None, books: str) -> TopicEnd:
    """Where to go on behind ``last``, as ``ChangeTopic.open`` returns it."""
    if last is None:
        return TopicEnd()
    if not last:
        return TopicEnd(gap="What preceded is no longer in the topic.")
    try:
        message = decode(last)
    except Invalid as error:
        return TopicEnd(gap=error.message)
    if message.books != books:
        return TopicEnd(
            gap=f"What precedes are changes of other books, {message.books}."
        )
    match message:
        case Revision(part=part, parts=parts) if part == parts:
            return TopicEnd(message.id, base_at=message.base_at)
        case End():
            return TopicEnd(message.id, base_at=message.base_at)
    return TopicEnd(gap=f"What precedes, {message.id}, was published in part only.")


class Publisher:
    """Publishes what follows the end of the topic, a step at a time; one thread.
    ``now``: microseconds since the epoch."""

    def __init__(
        self,
        log: ChangeLog,
        topic: ChangeTopic,
        limits: TransactionLimits,
        now: Clock = lambda: time.time_ns() // 1000,
    ) -> None:
        self._log = log
        self._topic = topic
        self._limits = limits
        self._now = now
        self._books = ""
        self._place: TopicEnd | None = None
        self.revisions = 0
        self.snapshots = 0

    @property
    def reached(self) -> int | None:
        """The last revision on the topic; None: not known."""
        return None if self._place is None else self._place.revision

    def step(self, wait_s: float) -> None:
        """Publish what is next, at most one transaction or one snapshot; wait for it at
        most ``wait_s``. Raises Fenced, Unavailable; then call ``close``."""
        place = self._place
        if place is None:
            self._books = self._log.identity()
            place = place_after(self._topic.open(self._books), self._books)
            self._place = place
        try:
            if place.gap or self._is_snapshot_due(place):
                self._publish_snapshot(place)
            else:
                events = self._gather(place.cursor, wait_s)
                self._publish(events)
        except Gone as gone:
            if self._log.identity() == self._books:
                self._place = replace(place, gap=gone.message)
            else:  # another database is in its place
                self.close()

    def close(self) -> None:
        """Forget what the topic ends with; the next step reads it."""
        self._place = None
        self._topic.close()

    def _is_snapshot_due(self, place: TopicEnd) -> bool:
        age_s = (self._now() - place.base_at) // 1_000_000
        return bool(self._limits.snapshot_s and place.base_at) and (
            age_s >= self._limits.snapshot_s
        )

    def _gather(self, cursor: str, wait_s: float) -> list[Event]:
        """Events after ``cursor``, as many as one transaction may have. Raises Gone."""
        found: list[Event] = []
        while len(found) < self._limits.messages:
            try:
                page = self._log.events(cursor, wait_s=wait_s)
            except Gone:
                if found:
                    break  # the next step finds it again
                raise
            if not page.events:
                break
            found += page.events
            cursor, wait_s = page.cursor, 0.0
        return found

    def _publish(self, events: list[Event]) -> None:
        if not events or self._place is None:
            return
        base_at = self._place.base_at or self._now()
        messages = (
            revision_messages(
                event,
                books=self._books,
                base_at=base_at,
                most_bytes=self._limits.message_bytes,
            )
            for event in events
        )
        done = 0
        for batch in transactions(messages, self._limits):
            self._topic.publish([message for group in batch for message in group])
            done += len(batch)
            self.revisions += len(batch)
            self._place = TopicEnd(events[done - 1].id, base_at=base_at)

    def _publish_snapshot(self, place: TopicEnd) -> None:
        """Raises Gone when a snapshot that was only due has turned out necessary."""
        snapshot = self._log.snapshot()
        with closing(snapshot.pages):
            if not place.gap:
                self._catch_up(snapshot.revision)
            reason = place.gap or "A snapshot is due, for readers that begin here."
            base_at = self._now()
            messages = self._snapshot_messages(snapshot, reason, base_at)
            for batch in transactions(((one,) for one in messages), self._limits):
                self._topic.publish([message for (message,) in batch])
        self._place = TopicEnd(snapshot.cursor, base_at=base_at)
        self.snapshots += 1

    def _catch_up(self, revision: int) -> None:
        """Publish all up to ``revision``: a snapshot must not take their place."""
        while self._place is not None and self._place.revision < revision:
            found = self._gather(self._place.cursor, 0.0)
            events = [one for one in found if one.revision <= revision]
            if not events:
                return
            self._publish(events)

    def _snapshot_messages(
        self, snapshot: Snapshot, reason: str, base_at: int
    ) -> Iterator[bytes]:
        books, cursor, revision = self._books, snapshot.cursor, snapshot.revision
        yield encode(Begin(books, cursor, revision, reason))
        most_bytes, rows = self._limits.message_bytes, 0
        for page in snapshot.pages:
            rows += len(page)
            yield from rows_messages(
                page, books=books, cursor=cursor, most_bytes=most_bytes
            )
        yield encode(End(books, cursor, revision, rows, base_at))


def transactions(
    groups: Iterable[tuple[bytes, ...]], limits: TransactionLimits
) -> Iterator[list[tuple[bytes, ...]]]:
    """``groups`` of messages in order, in lists within ``limits``; a group is never
    divided, so that one which exceeds them is alone."""
    batch: list[tuple[bytes, ...]] = []
    count = size = 0
    for group in groups:
        more = sum(map(len, group))
        is_full = (
            count + len(group) > limits.messages
            or size + more > limits.transaction_bytes
        )
        if batch and is_full:
            yield batch
            batch, count, size = [], 0, 0
        batch.append(group)
        count, size = count + len(group), size + more
    if batch:
        yield batch
