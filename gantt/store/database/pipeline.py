"""Statements that go to PostgreSQL in one piece, and are waited for once.

Apart from psycopg's own pipeline, below which this stands, on its ``pq``, because a
committer waits under a lock that everybody wants: here a statement costs a tenth, and
it is certain what leaves when. At any message the server stops its clock for idle
transactions, until a Sync: a writer that paused in between would keep the lock for
ever. So everything leaves at the end, a Sync being the last of it and nothing else.
"""

from __future__ import annotations

import selectors
from collections.abc import Sequence
from itertools import count
from types import TracebackType
from typing import Any
from uuid import uuid4

_BEGIN = b"BEGIN ISOLATION LEVEL READ COMMITTED"
# Whatever was prepared is gone, or no longer what it was.
_UNPREPARED = frozenset({"26000", "0A000"})


class Sent:
    """A statement of a Pipeline: after its end, what a cursor has of its result."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self.text = ""
        self.values: list[bytes | None] = []
        self.result: Any = None

    def execute(self, text: str, values: Sequence[Any] = ()) -> None:
        """Have it sent. ``values``: texts, whole numbers, None; arrays as texts.
        Raises UnicodeError for what is no text."""
        self.text = text
        self.values = [None if one is None else _encoded(one) for one in values]
        self._pipeline.queued.append(self)

    @property
    def rowcount(self) -> int:
        """How many rows it touched, or gave."""
        return int(self.result.command_tuples or 0)

    @property
    def description(self) -> object:
        """None: it gives no rows."""
        return self.result.nfields or None

    def fetchall(self) -> list[Any]:
        """All rows, as Python values."""
        return self._pipeline.loaded(self.result)


class Pipeline:
    """What is executed on its cursors within ``with`` is carried out at its end, in a
    transaction. Raises the error of the first that fails; none after it is carried
    out."""

    def __init__(self, driver: Any, connection: Any) -> None:
        """``driver``: psycopg, and a connection of it that is not in use."""
        self._driver = driver
        self._connection = connection
        self._pq = connection.pgconn
        self._prepared: dict[str, bytes] = {}
        # When psycopg would have prepared by itself; None: nothing is to be prepared.
        self._threshold: int | None = None
        # The connection may have had, or get, another that prepares the same.
        self._names = (f"gantt_{uuid4().hex}_{n}".encode() for n in count())
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._pq.socket, selectors.EVENT_READ)
        self.queued: list[Sent] = []

    def cursor(self) -> Sent:
        """For one statement."""
        return Sent(self)

    def loaded(self, result: Any) -> list[Any]:
        """The rows of a result, as psycopg reads their types."""
        reader = self._driver.adapt.Transformer(self._connection)
        reader.set_pgresult(result)
        rows: list[Any] = reader.load_rows(0, result.ntuples, tuple)
        return rows

    def leave(self) -> None:
        """Let others have the connection as it was, if it still is."""
        self._ready.close()
        if self._threshold is not None:
            self._connection.prepare_threshold = self._threshold

    def __enter__(self) -> None:
        self.queued = []

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        queued, self.queued = self.queued, []
        if kind is None and queued:
            self._carry_out(queued)

    def _carry_out(self, queued: list[Sent]) -> None:
        # What psycopg had prepared itself it would have the server forget at the next
        # rollback, and with it whatever we had.
        if self._connection.prepare_threshold is not None:
            self._threshold = self._connection.prepare_threshold
            self._connection.prepare_threshold = None
        status = self._driver.pq.TransactionStatus
        is_begun = self._pq.transaction_status != status.IDLE
        self._pq.enter_pipeline_mode()
        if not is_begun:
            self._pq.send_query_params(_BEGIN, None)
        new: dict[str, bytes] = {}
        for one in queued:
            self._send(one, new)
        self._pq.pipeline_sync()
        self._flush()
        results: list[Any] = []
        if not self._read(results):
            self._raise_first(results)
            told = self._pq.get_error_message() or "the server has hung up"
            raise self._driver.OperationalError(told)
        self._pq.exit_pipeline_mode()
        self._settle(queued, new, results if is_begun else results[1:])
        self._raise_first(results)

    def _send(self, one: Sent, new: dict[str, bytes]) -> None:
        """Into the buffer of the connection, which the socket gets when it is large."""
        if self._threshold is None:  # poolers do not keep them
            self._pq.send_query_params(_numbered(one.text), one.values)
            return
        name = self._prepared.get(one.text) or new.get(one.text)
        if name is None:
            name = new[one.text] = next(self._names)
            self._pq.send_prepare(name, _numbered(one.text))
        self._pq.send_query_prepared(name, one.values)

    def _flush(self) -> None:
        """All of it goes out. What comes in meanwhile is read: the server may wait for
        that before it takes the rest."""
        both = selectors.EVENT_READ | selectors.EVENT_WRITE
        while self._pq.flush():
            self._ready.modify(self._pq.socket, both)
            if any(mask & selectors.EVENT_READ for _, mask in self._ready.select()):
                self._pq.consume_input()
        self._ready.modify(self._pq.socket, selectors.EVENT_READ)

    def _read(self, results: list[Any]) -> bool:
        """Add the result of each statement; whether all came, up to the Sync."""
        kinds, silence = self._driver.pq.ExecStatus, 0
        while silence < 2:  # each result ends with one
            while self._pq.is_busy():
                self._ready.select()
                self._pq.consume_input()
            result = self._pq.get_result()
            silence = silence + 1 if result is None else 0
            if result is not None:
                if result.status == kinds.PIPELINE_SYNC:
                    return True
                results.append(result)
        return False

    def _settle(
        self, queued: list[Sent], new: dict[str, bytes], results: list[Any]
    ) -> None:
        """Tell the statements their results, and keep what was prepared, which outlives
        a transaction that fails."""
        kinds, told = self._driver.pq.ExecStatus, iter(results)
        for one in queued:
            name = new.pop(one.text, None)
            if name is not None and next(told).status == kinds.COMMAND_OK:
                self._prepared[one.text] = name
            one.result = next(told)

    def _raise_first(self, results: list[Any]) -> None:
        for result in results:
            if result.status == self._driver.pq.ExecStatus.FATAL_ERROR:
                error = self._driver.errors.error_from_result(result)
                if error.sqlstate in _UNPREPARED:
                    self._prepared.clear()
                raise error


def _encoded(value: object) -> bytes:
    found = str(value).encode()
    if b"\0" in found:  # where the library would take it to end
        raise UnicodeError("PostgreSQL holds no text with a NUL (0x00) in it")
    return found


def _numbered(text: str) -> bytes:
    """The parameters of a statement as the server counts them."""
    first, *others = text.split("%s")
    numbered = first + "".join(f"${n}{part}" for n, part in enumerate(others, 1))
    return numbered.replace("%%", "%").encode()
