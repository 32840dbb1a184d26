"""Connections for small reads: a few, so that readers of a server do not queue.

Apart from the store, because borrowing a connection, and replacing a broken one, is the
same for every query. Each statement is a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

from gantt import errors
from gantt.model.changes import Cursor
from gantt.store.database import Database
from gantt.store.outcomes import Outcome
from gantt.store.session import Counter, Session, as_failure

T = TypeVar("T")


class Reader(Session):
    """A session and what it last saw: a hint belongs to its connection."""

    def __init__(self, database: Database, counter: Counter) -> None:
        super().__init__(database, counter)
        self.seen: tuple[int, Cursor] | None = None
        try:
            self.set_autocommit()  # which asks the server, on MariaDB
        except BaseException:
            self.discard()
            raise


class Readers:
    """At most ``options.pool_size`` connections, opened as they are needed."""

    def __init__(self, database: Database, counter: Counter) -> None:
        self._database = database
        self._counter = counter
        self._free: list[Reader] = []
        # Earlier queries may wait no longer for the database.
        self._limit_s = 2 * database.lost_s
        self._seats: SimpleQueue[None] = SimpleQueue()
        for _ in range(database.options.pool_size):
            self._seats.put(None)
        self.is_closed = False

    def read(self, query: Callable[[Reader], T]) -> T:
        """The result of ``query``, repeated once if the connection broke. Raises
        StoreFailed."""
        try:
            self._seats.get(timeout=self._limit_s)
        except Empty:
            raise errors.StoreFailed(
                f"All {self._database.options.pool_size} connections for readers of "
                f"{self._database.url} have been in use for {self._limit_s} s. Check "
                "whether it answers, and try again later."
            ) from None
        try:
            self._database.check_place()
            while (reader := self._taken()) is not None:
                try:
                    return self._ask(reader, query)
                except Outcome as outcome:
                    if not reader.is_lost or reader.is_silent:
                        raise as_failure(outcome, self._database.url) from outcome
            self.require_open()
            try:
                return self._ask(Reader(self._database, self._counter), query)
            except Outcome as outcome:
                raise as_failure(outcome, self._database.url) from outcome
        finally:
            self._seats.put(None)

    def require_open(self) -> None:
        """Raises StoreFailed once it is closed."""
        if self.is_closed:
            raise errors.StoreFailed(f"The store {self._database.url} is closed.")

    def close(self) -> None:
        """Close all connections, after the queries that are under way."""
        self.is_closed = True
        while (reader := self._taken()) is not None:
            reader.discard()

    def _taken(self) -> Reader | None:
        try:
            return self._free.pop()  # the one used last: its caches are warm
        except IndexError:
            return None

    def _ask(self, reader: Reader, query: Callable[[Reader], T]) -> T:
        """Its result; the connection returns to the others, unless it broke."""
        try:
            return query(reader)
        finally:
            if reader.is_lost:
                reader.discard()
            else:
                self._free.append(reader)
            if self.is_closed:
                self.close()
