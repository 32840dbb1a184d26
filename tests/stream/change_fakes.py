"""A topic with transactions and a log, in memory, for tests of the publisher."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import msgspec

from gantt.errors import Gone, Unavailable
from gantt.model.watching import Event, Events, RowChange, Snapshot
from gantt.stream.changes.change_topic import Fenced
from gantt.stream.changes.messages import Message, decode

BOOKS = "b0000000-0000-0000-0000-000000000000"


class Broker:
    """What committed readers see. ``failing``: how many transactions still succeed
    until one fails; ``is_kept``: whether the one that fails is committed after all."""

    def __init__(self) -> None:
        self.committed: list[bytes] = []
        self.transactions: list[int] = []
        self.epoch = 0
        self.failing: int | None = None
        self.is_kept = False

    def messages(self) -> list[Message]:
        return [decode(one) for one in self.committed]


class Producer:
    """One connection to ``broker``; implements ChangeTopic."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.epoch: int | None = None

    def open(self, identity: str) -> bytes | None:
        del identity  # all of them share one
        self.broker.epoch += 1
        self.epoch = self.broker.epoch
        return self.broker.committed[-1] if self.broker.committed else None

    def publish(self, messages: Sequence[bytes]) -> None:
        broker = self.broker
        if self.epoch != broker.epoch:
            raise Fenced
        if broker.failing == 0:
            broker.failing = None
            if broker.is_kept:
                broker.committed += messages
            raise Unavailable("The broker does not answer.")
        if broker.failing is not None:
            broker.failing -= 1
        broker.committed += messages
        broker.transactions.append(len(messages))

    def close(self) -> None:
        self.epoch = None


class Books:
    """A log of ``rows`` rows, and the table that it leads to; implements Log."""

    def __init__(self, *, page: int = 3, batch: str = "aaaaaaaa") -> None:
        self.page = page
        self.batch = batch
        self.books = BOOKS
        self.leads = True
        self.first = 1
        self.log: list[Event] = []
        self.table: dict[int, int] = {}

    @property
    def revision(self) -> int:
        return self.log[-1].revision if self.log else 0

    @property
    def cursor(self) -> str:
        return self.log[-1].id if self.log else "0"

    def identity(self) -> str:
        return self.books

    def write(self, count: int = 1, *, rows: int = 1) -> None:
        """``count`` revisions, each of which writes ``rows`` rows anew."""
        for _ in range(count):
            revision = self.revision + 1
            changes = []
            for key in range(rows):
                self.table[key] = revision
                changes.append(RowChange("t", key, {"id": key, "value": revision}))
            place = f"{revision}-{self.batch}"
            self.log.append(Event(place, revision, "Write", 7, "", tuple(changes)))

    def compact(self, keep: int) -> None:
        self.first = max(1, self.revision - keep + 1)

    def events(self, since: str | int | None = None, *, wait_s: float = 0.0) -> Events:
        del wait_s  # tests are one thread
        place = int(str(since).partition("-")[0])
        at = next((one for one in self.log if one.revision == place), None)
        is_start = place == 0 and self.first == 1
        is_there = at is not None and at.id == since and place >= self.first
        if not is_start and not is_there:
            raise Gone(f"{since} is not in the log.")
        found = tuple(self.log[place : place + self.page])
        return Events(found, found[-1].id if found else str(since))

    def snapshot(self) -> Snapshot:
        rows = [
            RowChange("t", key, {"id": key, "value": value})
            for key, value in self.table.items()
        ]

        def pages() -> Generator[tuple[RowChange, ...], None, None]:
            for start in range(0, len(rows), self.page):
                yield tuple(rows[start : start + self.page])

        return Snapshot(self.revision, self.cursor, pages())


def shown(event: Event) -> object:
    """``event`` as ``gantt watch -o json`` prints it."""
    return msgspec.json.decode(msgspec.json.encode(event))
