"""PostgreSQL through psycopg 3.

Apart from the others for its sequences, its error states and its session settings.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar

from sqlalchemy import Connection, Table, exc

from gantt import errors
from gantt.store import times
from gantt.store.database.bulk import ArrayBulks
from gantt.store.database.dialect import POOLED, Database
from gantt.store.outcomes import DataError, DefiniteAbort, ForeignWrite


class PostgresDatabase(Database):
    """READ COMMITTED, a row lock on the head, sequences that must be told of ids."""

    migrate = ("SELECT pg_advisory_xact_lock(7163980911)",)
    snapshot = (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        "SET LOCAL idle_in_transaction_session_timeout = 0",
    )
    clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    bulks = ArrayBulks
    to_time = staticmethod(times.to_text)
    # nextval first: never back to an id that another writer has taken.
    advance = (
        "SELECT setval(s, greatest(nextval(s), %s)) "
        "FROM (SELECT pg_get_serial_sequence(%s, 'id')::regclass AS s) AS t"
    )

    # serialization failure, deadlock, lock not available, cancelled
    _ABORTS = frozenset({"40001", "40P01", "55P03", "57014"})
    # idle too long within a transaction, shutdowns: the server hangs up
    _ENDS = frozenset({"25P03", "57P01", "57P02", "57P03"})
    _FOREIGN = frozenset({"23505", "23503"})

    _ADVICE: ClassVar[dict[str, str]] = {
        "53100": "its disk is full: make room; nothing was half written.",
        "53300": "raise its max_connections, or lower max_pool_size and workers.",
    }

    def settings(self) -> tuple[str, ...]:
        lock_ms = int(self.options.lock_timeout_s * 1000)
        idle_ms = int(self.options.idle_timeout_s * 1000)
        return (
            "SET TIME ZONE 'UTC'",
            f"SET lock_timeout = {lock_ms}",
            f"SET idle_in_transaction_session_timeout = {idle_ms}",
        )

    def together(self, connection: Any) -> AbstractContextManager[object]:
        kind = self.engine.dialect.loaded_dbapi.Pipeline
        # An old client library has none, and another driver's may be made otherwise.
        if kind.is_supported() and all(hasattr(kind, name) for name in _INNER):
            return _pipeline(connection)
        return super().together(connection)

    def pour(
        self, connection: Connection, table: Table, rows: Sequence[Sequence[Any]]
    ) -> None:
        # Several times as fast as any INSERT.
        driver: Any = connection.connection.driver_connection
        names = ", ".join(f'"{column.name}"' for column in table.c)
        text = f'COPY "{table.name}" ({names}) FROM STDIN'
        errors_of = self.engine.dialect.loaded_dbapi
        try:
            with driver.cursor() as cursor, cursor.copy(text) as copy:
                for row in rows:
                    copy.write_row(row)
        except errors_of.IntegrityError as error:
            raise exc.IntegrityError(text, None, error) from error
        except errors_of.Error as error:
            raise exc.DBAPIError(text, None, error) from error

    def warnings(self, ask: Callable[[str], Any]) -> list[str]:
        found = []
        value = str(ask("SHOW synchronous_commit"))
        if value not in ("on", "remote_apply"):
            found.append(
                f"synchronous_commit is {value}: a crash can lose answered writes"
            )
        level = str(ask("SHOW transaction_isolation"))
        if level != "read committed":
            found.append(f"transaction_isolation is {level}: {POOLED}")
        idle = str(ask("SHOW idle_in_transaction_session_timeout"))
        if idle == "0":
            found.append(f"idle_in_transaction_session_timeout is {idle}: {POOLED}")
        return found

    def advice(self, error: BaseException) -> str | None:
        return self._ADVICE.get(getattr(error, "sqlstate", None) or "")

    def is_lost(self, error: Exception) -> bool:
        # The driver has nothing to say of the state of a server that it lost.
        state = getattr(error, "sqlstate", None)
        driver = self.engine.dialect.loaded_dbapi
        if state is None:
            return isinstance(error, driver.OperationalError | driver.InterfaceError)
        return state.startswith("08") or state in self._ENDS

    def _meaning(self, error: Exception) -> type[Exception]:
        state = getattr(error, "sqlstate", None) or ""
        if state in self._ABORTS:
            return DefiniteAbort
        if state in self._FOREIGN:
            return ForeignWrite
        is_value = state.startswith(("22", "23")) or not state
        return DataError if is_value else errors.StoreFailed


_INNER = ("_enqueue_sync", "_communicate_gen", "_sync_gen", "_fetch_gen", "_exit_gen")


@contextmanager
def _pipeline(connection: Any) -> Iterator[None]:
    """psycopg's pipeline, but that all of it leaves at its end, which is a Sync and
    nothing else, and before anything is waited for.

    At any message the server stops its clock for idle transactions, until a Sync: a
    writer that paused in between would keep the lock for ever. psycopg sends each
    statement by itself, waits for BEGIN, and may send a Flush after the Sync. It may
    also wait for answers while the socket has not yet taken in all of a large batch:
    then the server waits for the rest, and both do so for ever.
    """
    driver = importlib.import_module("psycopg")
    with connection.pipeline() as pipeline:
        communicate = pipeline._communicate_gen

        def keep() -> Iterator[Any]:
            """Into the buffer of the connection, which sends it when it is large."""
            while pipeline.command_queue:
                pipeline.command_queue.popleft()()
            yield from ()

        def end() -> Iterator[Any]:
            first = None
            pipeline._enqueue_sync()
            # After an error the rest is still to be sent and its results to be read;
            # what failed later did so because of what failed first.
            for step in (
                communicate(),
                driver.generators.send(connection.pgconn),
                pipeline._fetch_gen(flush=False),
            ):
                try:
                    yield from step
                except driver.Error as error:
                    first = first or error
            if first is not None:
                raise first

        pipeline._communicate_gen = pipeline._sync_gen = keep
        pipeline._exit_gen = end
        yield
