"""PostgreSQL through psycopg 3.

Apart from the others for its sequences, its error states and its session settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import psycopg
from sqlalchemy import URL, Connection, Engine, Table, event, exc

from gantt import errors
from gantt.store import time_columns
from gantt.store.database.bulk import ArrayBulks
from gantt.store.database.dialect import (
    CONNECT_S,
    MAKE_IT,
    POOLED,
    PROBE_S,
    PROBES,
    READ_ONLY,
    UNKNOWN,
    Database,
    not_kept,
)
from gantt.store.database.psycopg_connection import (
    BoundedConnection,
    Pipeline,
    ServerSilent,
)
from gantt.store.interface import StoreOptions
from gantt.store.outcomes import DataError, DefiniteAbort, ForeignWrite

# In lower case, so that it needs no quotes in a shell, nor in SQL of others.
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_NO_DATABASE = re.compile(r'database ".*" does not exist')


class PostgresDatabase(Database):
    """READ COMMITTED, a row lock on the head, sequences advanced past given ids.

    ``?schema=gantt`` in its URL: all tables are in that schema, which ``db sync``
    makes."""

    own_place = "a schema of its own: add ?schema=gantt to the URL"
    has_pipeline = True
    begin_lightly = ("SET LOCAL synchronous_commit = off",)
    migrate: tuple[str, ...] = (
        "SET LOCAL idle_in_transaction_session_timeout = 0",  # no committer waits
        "SELECT pg_advisory_xact_lock(7163980911)",
    )
    snapshot = (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        "SET LOCAL idle_in_transaction_session_timeout = 0",
    )
    clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    session_id = "SELECT pg_backend_pid()"
    bulks = ArrayBulks
    to_time = staticmethod(time_columns.to_text)
    # nextval first: never go back to an id that another writer has taken.
    advance = (
        "SELECT setval(s, greatest(nextval(s), %s)) "
        "FROM (SELECT pg_get_serial_sequence(%s, 'id')::regclass AS s) AS t"
    )

    read_back = (
        "SELECT name, setting FROM pg_settings WHERE name IN ('synchronous_commit', "
        "'transaction_isolation', 'lock_timeout', "
        "'idle_in_transaction_session_timeout', 'search_path')"
    )

    # serialization failure, deadlock, lock not available, cancelled; a prepared
    # statement was dropped, or no longer fits an altered table
    _ABORTS = frozenset({"40001", "40P01", "55P03", "57014", "26000", "0A000"})
    # idle too long within a transaction, shutdowns: the server disconnects
    _ENDS = frozenset({"25P03", "57P01", "57P02", "57P03"})
    _FOREIGN = frozenset({"23505", "23503"})

    def __init__(self, url: URL, options: StoreOptions) -> None:
        schema = url.query.get("schema")
        if schema is not None and not _SCHEMA.fullmatch(str(schema)):
            raise errors.Refused(
                f"The schema {schema!r} in the URL of the database is no name of one: "
                "it has up to 63 lower-case letters, digits and _, such as gantt."
            )
        self._schema = schema
        super().__init__(url, options)
        if schema is not None:
            # IF NOT EXISTS would ask for the right to make one, even where it is there.
            self.migrate = (
                *self.migrate,
                f"DO $$ BEGIN IF to_regnamespace('{schema}') IS NULL THEN "
                f'CREATE SCHEMA "{schema}"; END IF; END $$',
            )

    _ADVICE: ClassVar[dict[str, str]] = {
        "3D000": MAKE_IT,
        "25006": READ_ONLY,
        "42P05": f"{POOLED}.",
        "53100": "its disk is full: make room; no write is half done.",
        "53300": "raise its max_connections, or lower max_pool_size and workers.",
    }

    def _make_engine(self, url: URL, **more: Any) -> Engine:
        # Waits for a server that is gone must end.
        given = {
            # The driver's default is two minutes.
            "connect_timeout": CONNECT_S,
            "keepalives_idle": self.silence_s,
            "keepalives_interval": PROBE_S,
            "keepalives_count": PROBES,
            "tcp_user_timeout": self._lost_ms,
            # That of a database in SQL_ASCII would be none, and all text bytes.
            "client_encoding": "utf8",
        }
        mine = {name: value for name, value in given.items() if name not in url.query}
        engine = super()._make_engine(url, connect_args=mine, **more)
        event.listen(engine, "do_connect", self._open)
        return engine

    def _open(self, _dialect: object, _record: object, args: Any, more: Any) -> Any:
        more.pop("schema", None)  # of ours, see ``settings``
        connection = BoundedConnection.connect(*args, **more)
        self.bound(connection, self.lost_s)
        return connection

    def bound(self, connection: Any, silence_s: float | None) -> None:
        if connection is not None:  # the pool may get back a closed one
            connection.silence_s = silence_s

    def is_silence(self, error: Exception) -> bool:
        return isinstance(error, ServerSilent)

    @property
    def _lost_ms(self) -> int:
        return 1000 * self.lost_s

    @property
    def _waits(self) -> dict[str, int]:
        return {
            "lock_timeout": int(self.options.lock_timeout_s * 1000),
            "idle_in_transaction_session_timeout": int(
                self.options.idle_timeout_s * 1000
            ),
        }

    def settings(self) -> tuple[str, ...]:
        # A client machine that vanishes with half of a batch sent leaves a server that
        # waits for the rest and is not idle: only TCP detects that, by default after
        # two hours, and the lock would be held so long.
        waits = {
            **self._waits,
            "tcp_keepalives_idle": self.silence_s,
            "tcp_keepalives_interval": PROBE_S,
            "tcp_keepalives_count": PROBES,
            "tcp_user_timeout": self._lost_ms,
        }
        set_all = [f"SET {name} = {value}" for name, value in waits.items()]
        if self._schema is not None:
            set_all.append(f'SET search_path = "{self._schema}"')
        return ("; ".join(["SET TIME ZONE 'UTC'", *set_all]),)

    def pipeline(self, connection: Any) -> Pipeline | None:
        # Old client libraries have none.
        return Pipeline(connection) if psycopg.Pipeline.is_supported() else None

    def pour(
        self, connection: Connection, table: Table, rows: Sequence[Sequence[Any]]
    ) -> None:
        # Several times as fast as any INSERT.
        driver: Any = connection.connection.driver_connection
        names = ", ".join(f'"{column.name}"' for column in table.c)
        text = f'COPY "{table.name}" ({names}) FROM STDIN'
        try:
            with driver.cursor() as cursor, cursor.copy(text) as copy:
                for row in rows:
                    copy.write_row(row)
        except psycopg.IntegrityError as error:
            raise exc.IntegrityError(text, None, error) from error
        except psycopg.Error as error:
            raise exc.DBAPIError(text, None, error) from error

    def warnings(self, found: Mapping[str, str]) -> list[str]:
        warnings = []
        path = found.get("search_path", UNKNOWN).strip('"')
        if self._schema is not None and path != self._schema:
            raise errors.StoreFailed(
                f"The database {self.url} reads tables in {path}, not in the schema "
                f"{self._schema}: {POOLED}."
            )
        value = found.get("synchronous_commit", UNKNOWN)
        if value not in ("on", "remote_apply"):
            warnings.append(
                f"synchronous_commit is {value}: a crash can lose answered writes"
            )
        wanted = {
            "transaction_isolation": "read committed",
            **{name: str(value) for name, value in self._waits.items()},
        }
        return warnings + not_kept(found, wanted)

    def advice(self, error: BaseException) -> str | None:
        state = getattr(error, "sqlstate", None)
        if state is None and _NO_DATABASE.search(str(error)):
            return MAKE_IT  # errors while connecting have no state
        return self._ADVICE.get(state or "")

    def is_lost(self, error: Exception) -> bool:
        # Errors of a lost connection have no state.
        state = getattr(error, "sqlstate", None)
        if state is None:
            lost = psycopg.OperationalError | psycopg.InterfaceError
            return isinstance(error, lost)
        return state.startswith("08") or state in self._ENDS

    def _meaning(self, error: Exception) -> type[Exception]:
        state = getattr(error, "sqlstate", None) or ""
        if state in self._ABORTS:
            return DefiniteAbort
        if state in self._FOREIGN:
            return ForeignWrite
        is_value = state.startswith(("22", "23")) or not state
        return DataError if is_value else errors.StoreFailed
