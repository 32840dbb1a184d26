"""One connection of the driver, with errors put into the store's own words.

It stands apart, below SQLAlchemy's Connection, because the gate sends few statements
many times: their texts are compiled once and rows go to the driver as tuples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gantt import errors
from gantt.store.database import Database, Statement
from gantt.store.outcomes import Outcome

Values = Sequence[Any]

# 64 rows of eight values stay below every database's limit of parameters.
_BLOCKS = (64, 16, 4, 1)


class Counter:
    """How many statements were sent; an executemany is one."""

    def __init__(self) -> None:
        self.statements = 0


class Session:
    """A connection for the use of one thread at a time."""

    def __init__(self, database: Database, counter: Counter) -> None:
        self._database = database
        self._counter = counter
        self._errors = database.driver_errors
        self._pooled = database.connect()
        driver: Any = self._pooled.dbapi_connection
        self._driver = driver
        self._cursor = self._driver.cursor()
        self.is_lost = False

    def execute(self, text: str, values: Values = ()) -> Any:
        """Send a statement; the cursor to fetch from. Raises an outcome."""
        self._counter.statements += 1
        try:
            self._cursor.execute(text, values)
        except self._errors as error:
            raise self._translated(error) from error
        return self._cursor

    def execute_many(self, text: str, rows: Sequence[Values]) -> int:
        """Send one statement for all rows; how many rows it touched."""
        self._counter.statements += 1
        try:
            self._cursor.executemany(text, rows)
        except self._errors as error:
            raise self._translated(error) from error
        return int(self._cursor.rowcount)

    def insert(self, statement: Statement, rows: Sequence[Values]) -> int:
        """Insert ``rows``; how many went in.

        Many rows to a statement, in blocks of few different sizes: SQLite gives up the
        interpreter's lock at every step, and other threads make it wait for it.
        """
        self._counter.statements += 1
        touched, start = 0, 0
        try:
            while left := len(rows) - start:
                size = next(size for size in _BLOCKS if size <= left)
                block = rows[start : start + size]
                self._cursor.execute(
                    statement.repeated(size), [v for row in block for v in row]
                )
                touched += int(self._cursor.rowcount)
                start += size
        except self._errors as error:
            raise self._translated(error) from error
        return touched

    def one(self, text: str, values: Values = ()) -> Any:
        """The first row of the answer, or None."""
        return self._fetched(self.execute(text, values).fetchone)

    def all(self, text: str, values: Values = ()) -> list[Any]:
        """All rows of the answer."""
        return list(self._fetched(self.execute(text, values).fetchall))

    def chunks(self, text: str, size: int) -> Iterator[Any]:
        """The rows of the answer, in lists of at most ``size``."""
        self._counter.statements += 1
        try:
            cursor = self._database.stream(self._driver)
            cursor.execute(text)
        except self._errors as error:
            raise self._translated(error) from error
        while chunk := self._fetched(lambda: cursor.fetchmany(size)):
            yield chunk
        cursor.close()

    def start(self, statements: Sequence[str]) -> None:
        """Open a transaction as the database wants it opened."""
        for statement in statements:
            self.execute(statement)

    def commit(self) -> None:
        """Raises DefiniteAbort, ForeignWrite, DataError or UnknownOutcome; then
        nothing is pending any more."""
        self._counter.statements += 1
        try:
            self._driver.commit()
        except self._errors as error:
            outcome = self._database.classify_commit(error)
            self.is_lost = self._database.is_lost(error)
            self.rollback()
            raise outcome from error
        except BaseException:
            self.discard()
            raise

    def rollback(self) -> None:
        """Forget what is pending; a connection that cannot do so is discarded."""
        if self.is_lost:
            self.discard()
            return
        try:
            self._driver.rollback()
        except Exception:  # whatever it is, this connection is of no more use
            self.discard()

    def set_autocommit(self) -> None:
        """From now on each statement is a transaction of its own."""
        self._database.set_autocommit(self._driver)

    def close(self) -> None:
        """Give the connection back to the pool."""
        if self.is_lost:
            self.discard()
        else:
            self._pooled.close()

    def discard(self) -> None:
        """Close the connection for good; whatever is pending is rolled back."""
        self.is_lost = True
        self._pooled.invalidate()

    def _fetched(self, fetch: Any) -> Any:
        try:
            return fetch()
        except self._errors as error:
            raise self._translated(error) from error

    def _translated(self, error: Exception) -> Exception:
        self.is_lost = self.is_lost or self._database.is_lost(error)
        return self._database.classify(error)


def as_failure(outcome: Outcome, url: str) -> errors.StoreFailed:
    """What an outcome means to somebody who was only reading."""
    return errors.StoreFailed(f"The database {url} did not answer: {outcome}")
