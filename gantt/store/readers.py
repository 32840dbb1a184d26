"""Connections for small reads: a few, so that readers of a server do not queue.

Apart from the store, because borrowing a connection, and replacing a broken one, is the
same for every query. Each statement is a transaction of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
        self._seats = threading.BoundedSemaphore(database.options.pool_size)
        self.is_closed = False

    def read(self, query: Callable[[Reader], T]) -> T:
        """The result of ``query``, repeated once if the connection broke. Raises
        StoreFailed."""
        with self._seated():
            self._database.check_place()
            while (reader := self._taken()) is not None:
                try:
                    with self._returned(reader):
                        return query(reader)
                except Outcome as outcome:
                    if not reader.is_lost or reader.is_silent:
                        raise as_failure(outcome, self._database.url) from outcome
            self.require_open()
            try:
                reader = Reader(self._database, self._counter)
                with self._returned(reader):
                    return query(reader)
            except Outcome as outcome:
                raise as_failure(outcome, self._database.url) from outcome

    @contextmanager
    def _seated(self) -> Iterator[None]:
        """Hold one of the connections; wait no longer than earlier queries may."""
        limit_s = 2 * self._database.lost_s
        if not self._seats.acquire(timeout=limit_s):
            raise errors.StoreFailed(
                f"All {self._database.options.pool_size} connections for readers of "
                f"{self._database.url} have been in use for {limit_s} s. Check "
                "whether it answers, and try again later."
            )
        try:
            yield
        finally:
            self._seats.release()

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

    @contextmanager
    def _returned(self, reader: Reader) -> Iterator[None]:
        """Return it to the others at the end, unless it broke."""
        try:
            yield
        except BaseException:
            if reader.is_lost:
                reader.discard()
            raise
        finally:
            if not reader.is_lost:
                self._free.append(reader)
            if self.is_closed:
                self.close()
