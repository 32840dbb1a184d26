"""What is needed of psycopg below its public interface: bounded waits, and batches that
leave in one piece.

Apart from the dialect because this is all that a release of psycopg can break. The
reasons why ``Connection.pipeline()`` is not used are in docs/adr/0006.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Generator, Sequence
from itertools import count
from types import TracebackType
from typing import Any, TypeVar
from uuid import uuid4

from psycopg import Connection, OperationalError
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

T = TypeVar("T")
_BEGIN = b"BEGIN ISOLATION LEVEL READ COMMITTED"
# The prepared statement is gone, or no longer fits its table.
_UNPREPARED = frozenset({"26000", "0A000"})


class ServerSilent(OperationalError):
    """The server has not answered for too long; the connection is closed."""


class BoundedConnection(Connection[Any]):
    """``silence_s``: how long a statement waits for its answer; None: no limit. A
    server that stands still goes on acknowledging TCP probes, so they do not tell."""

    silence_s: float | None = None

    def wait(self, gen: Any, *args: Any, **more: Any) -> Any:
        """Waits as the driver does, but not for ever. Raises ServerSilent, after which
        it is closed."""
        if self.silence_s is None:
            return super().wait(gen, *args, **more)
        try:
            return super().wait(_bounded(gen, self.silence_s), *args, **more)
        except ServerSilent:
            self.close()
            raise


def _bounded(steps: Generator[Any, Any, T], silence_s: float) -> Generator[Any, Any, T]:
    """The driver's steps, resumed every tenth of a second with 0: nothing is ready."""
    deadline = time.monotonic() + silence_s
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                raise ServerSilent(f"the server has said nothing for {silence_s:g} s")
            wanted = steps.send(ready)
    except StopIteration as end:
        found: T = end.value
        return found


class Sent:
    """A statement of a Pipeline; after its end, its result as a cursor has it."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self.text = ""
        self.values: list[bytes | None] = []
        self.result: Any = None

    def execute(self, text: str, values: Sequence[Any] = ()) -> None:
        """Queue it. ``values``: texts, integers, None; arrays as texts. Raises
        UnicodeError for a text that PostgreSQL cannot hold."""
        self.text = text
        self.values = [None if one is None else _encoded(one) for one in values]
        self._pipeline.queued.append(self)

    @property
    def rowcount(self) -> int:
        """How many rows it touched or returned."""
        return int(self.result.command_tuples or 0)

    @property
    def description(self) -> object:
        """None: it returns no rows."""
        return self.result.nfields or None

    def fetchall(self) -> list[Any]:
        """All rows, as Python values."""
        return self._pipeline.loaded(self.result)


class Pipeline:
    """What is executed on its cursors within ``with`` is carried out at its end, in a
    transaction. Raises the error of the first that fails; none after it is carried
    out."""

    def __init__(self, connection: Connection[Any]) -> None:
        """``connection``: not in use by any other thread."""
        self._connection = connection
        self._pq = connection.pgconn
        self._prepared: dict[str, bytes] = {}
        # psycopg's own setting, restored at the end; None: nothing is to be prepared.
        self._threshold: int | None = None
        # A pooled connection may have had another Pipeline with the same statements.
        self._names = (f"gantt_{uuid4().hex}_{n}".encode() for n in count())
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._pq.socket, selectors.EVENT_READ)
        self.queued: list[Sent] = []

    def cursor(self) -> Sent:
        """For one statement."""
        return Sent(self)

    def loaded(self, result: PGresult) -> list[Any]:
        """The rows of a result, converted as psycopg does."""
        reader = Transformer(self._connection)
        reader.set_pgresult(result)
        return reader.load_rows(0, result.ntuples, tuple)

    def leave(self) -> None:
        """Give the connection back as it was."""
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
        # At a rollback psycopg deallocates all if it prepared any by itself.
        if self._connection.prepare_threshold is not None:
            self._threshold = self._connection.prepare_threshold
            self._connection.prepare_threshold = None
        is_begun = self._pq.transaction_status != TransactionStatus.IDLE
        self._pq.enter_pipeline_mode()
        if not is_begun:
            self._pq.send_query_params(_BEGIN, None)
        new: dict[str, bytes] = {}
        for one in queued:
            self._send(one, new)
        self._pq.pipeline_sync()
        self._flush()
        results: list[PGresult] = []
        if not self._read(results):
            _raise_first(results)
            text = self._pq.get_error_message() or "the server has hung up"
            raise OperationalError(text)
        self._pq.exit_pipeline_mode()
        self._settle(queued, new, results if is_begun else results[1:])
        try:
            _raise_first(results)
        except Exception as error:
            if getattr(error, "sqlstate", None) in _UNPREPARED:
                self._prepared.clear()
            raise

    def _send(self, one: Sent, new: dict[str, bytes]) -> None:
        """Into the buffer of libpq, which writes to the socket beyond 8 KiB."""
        if self._threshold is None:  # poolers do not keep them
            self._pq.send_query_params(_numbered(one.text), one.values)
            return
        name = self._prepared.get(one.text) or new.get(one.text)
        if name is None:
            name = new[one.text] = next(self._names)
            self._pq.send_prepare(name, _numbered(one.text))
        self._pq.send_query_prepared(name, one.values)

    def _flush(self) -> None:
        """Write all of it. Answers are read meanwhile: the server may wait for that
        before it takes the rest."""
        both = selectors.EVENT_READ | selectors.EVENT_WRITE
        while self._pq.flush():
            self._ready.modify(self._pq.socket, both)
            if any(mask & selectors.EVENT_READ for _, mask in self._ready.select()):
                self._pq.consume_input()
        self._ready.modify(self._pq.socket, selectors.EVENT_READ)

    def _read(self, results: list[PGresult]) -> bool:
        """Add the result of each statement; whether all came, up to the Sync."""
        silence = 0
        while silence < 2:  # each result ends with one
            while self._pq.is_busy():
                self._ready.select()
                self._pq.consume_input()
            result = self._pq.get_result()
            silence = silence + 1 if result is None else 0
            if result is not None:
                if result.status == ExecStatus.PIPELINE_SYNC:
                    return True
                results.append(result)
        return False

    def _settle(
        self, queued: list[Sent], new: dict[str, bytes], results: list[PGresult]
    ) -> None:
        """Give the statements their results, and keep what was prepared, which outlives
        a transaction that fails."""
        answers = iter(results)
        for one in queued:
            name = new.pop(one.text, None)
            if name is not None and next(answers).status == ExecStatus.COMMAND_OK:
                self._prepared[one.text] = name
            one.result = next(answers)


def _raise_first(results: list[PGresult]) -> None:
    for result in results:
        if result.status == ExecStatus.FATAL_ERROR:
            raise error_from_result(result)


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
