"""What is particular to each dialect, as far as it shows without a server."""

from __future__ import annotations

import importlib
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gantt import errors
from gantt.store import StoreOptions, open_store, schema
from gantt.store.database import Database, open_database
from gantt.store.database.psycopg_connection import BoundedConnection
from gantt.store.outcomes import DataError, DefiniteAbort, ForeignWrite, UnknownOutcome
from tests.kinds import ON_SQLITE

# It ships no types.
pymysql: Any = importlib.import_module("pymysql")

POSTGRES = "postgresql+psycopg://gantt:secret@db.example/gantt"
NO_SPACE = "Error writing file './ddl.log' (Errcode: 28 \"No space left on device\")"
MARIADB = "mysql+pymysql://gantt:secret@db.example/gantt"


def _open(url: str) -> Database:
    return open_database(url, StoreOptions())


# URLs.


@pytest.mark.parametrize(
    ("given", "driver"),
    [
        ("postgresql://db/gantt", "psycopg"),
        ("postgresql+psycopg2://db/gantt", "psycopg"),
        ("mysql://db/gantt", "pymysql"),
        ("mariadb+pymysql://db/gantt", "pymysql"),
    ],
)
def test_old_driver_names_are_accepted_with_a_warning(
    given: str, driver: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert _open(given).engine.dialect.driver == driver
    assert driver in caplog.text


@pytest.mark.parametrize("url", [POSTGRES, MARIADB, "sqlite:////tmp/x.db"])
def test_a_correct_url_warns_of_nothing(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert "secret" not in _open(url).url
    assert not caplog.text


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("sqlite://", "memory://"),
        ("sqlite:///:memory:", "memory://"),
        ("memory://", "has no tables"),
        ("oracle://db/gantt", "not a database that Gantt knows"),
        ("memory:///x", "memory:// alone"),
        ("no url at all", "cannot be read"),
        ("", "sqlite:////absolute/path"),
        ("sqlite:/tmp/x.db", "sqlite:////tmp/x.db from the root"),
        ("sqlite:x.db", "sqlite:///x.db from the current"),
        ("sqlite://tmp/x.db", "names a host, 'tmp', and no file.*sqlite:////tmp/x.db"),
        ("/var/x.db", "named as sqlite:////var/x.db"),
        ("x.db", "named as sqlite:///x.db"),
        ("localhost:8778", "named as http://localhost:8778"),
        ("http:/localhost:8778", "named as http://localhost:8778"),
        ("sqllite:///x.db", "is not a database that Gantt knows.*sqlite:////"),
        ("mysql:/me:secret@db/gantt", "cannot be read"),
        ("postgresql://a:b:c/gantt", "cannot be read"),
    ],
)
def test_invalid_urls_are_refused(url: str, text: str) -> None:
    with pytest.raises(errors.Refused, match=text):
        _open(url)


def test_a_missing_driver_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pymysql", None)
    with pytest.raises(errors.Refused, match=r"pip install .*\[mysql\]"):
        _open(MARIADB)


# Locks.


def test_only_servers_lock_a_row() -> None:
    assert _open(POSTGRES).has_row_lock
    assert _open(MARIADB).has_row_lock
    assert not _open("sqlite:///x.db").has_row_lock


# Names.


def test_names_are_folded_as_the_collation_does() -> None:
    assert _open("sqlite:///x.db").fold("Näme ") == "Näme "
    assert _open(POSTGRES).fold("Name") == "Name"
    # Until the server has said more: see test_servers.
    assert _open(MARIADB).fold("NAME") == _open(MARIADB).fold("name")


# What errors mean.


def _sqlite(code: int) -> Exception:
    error = sqlite3.OperationalError("told so")
    error.sqlite_errorcode = code
    return error


def _postgres(state: str) -> Exception:
    return psycopg.errors.lookup(state)("told so")


def _mariadb(code: int) -> Exception:
    error: Exception = pymysql.err.OperationalError(code, "told so")
    return error


SQLITE = "sqlite:///x.db"
LOST = {
    POSTGRES: psycopg.OperationalError("server closed the connection unexpectedly"),
    MARIADB: pymysql.err.OperationalError(2013, "Lost connection during query"),
}
MEANINGS: list[tuple[str, Exception, type[Exception]]] = [
    (SQLITE, _sqlite(sqlite3.SQLITE_BUSY), DefiniteAbort),
    (SQLITE, _sqlite(sqlite3.SQLITE_LOCKED_SHAREDCACHE), DefiniteAbort),
    (SQLITE, _sqlite(sqlite3.SQLITE_CONSTRAINT_UNIQUE), ForeignWrite),
    (SQLITE, _sqlite(sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY), ForeignWrite),
    (SQLITE, _sqlite(sqlite3.SQLITE_CONSTRAINT_NOTNULL), DataError),
    (SQLITE, _sqlite(sqlite3.SQLITE_TOOBIG), DataError),
    (SQLITE, sqlite3.InterfaceError("cannot bind"), DataError),
    (SQLITE, OverflowError("too large"), DataError),
    (SQLITE, _sqlite(sqlite3.SQLITE_FULL), errors.StoreFailed),
    (SQLITE, _sqlite(sqlite3.SQLITE_READONLY_DBMOVED), errors.StoreFailed),
    (POSTGRES, _postgres("40001"), DefiniteAbort),
    (POSTGRES, _postgres("40P01"), DefiniteAbort),
    (POSTGRES, _postgres("26000"), DefiniteAbort),
    (POSTGRES, _postgres("0A000"), DefiniteAbort),
    (POSTGRES, _postgres("55P03"), DefiniteAbort),
    (POSTGRES, _postgres("25P03"), DefiniteAbort),
    (POSTGRES, _postgres("23505"), ForeignWrite),
    (POSTGRES, psycopg.DataError("NUL bytes"), DataError),
    (POSTGRES, _postgres("22003"), DataError),
    (POSTGRES, _postgres("53100"), errors.StoreFailed),
    (POSTGRES, LOST[POSTGRES], DefiniteAbort),
    (MARIADB, _mariadb(1205), DefiniteAbort),
    (MARIADB, _mariadb(1213), DefiniteAbort),
    (MARIADB, _mariadb(1062), ForeignWrite),
    (MARIADB, _mariadb(1264), DataError),
    (MARIADB, _mariadb(1021), errors.StoreFailed),
    (MARIADB, LOST[MARIADB], DefiniteAbort),
]


@pytest.mark.parametrize(("url", "error", "meaning"), MEANINGS)
def test_an_error_before_commit(
    url: str, error: Exception, meaning: type[Exception]
) -> None:
    found = _open(url).classify(error)
    assert type(found) is meaning
    assert str(error.args[-1]) in str(found)


@pytest.mark.parametrize(
    ("url", "error", "meaning"),
    [
        (POSTGRES, _postgres("40001"), DefiniteAbort),
        (POSTGRES, LOST[POSTGRES], UnknownOutcome),
        (POSTGRES, _postgres("57P01"), UnknownOutcome),
        (MARIADB, _mariadb(1213), DefiniteAbort),
        (MARIADB, LOST[MARIADB], UnknownOutcome),
        (MARIADB, _mariadb(1021), UnknownOutcome),
    ],
)
def test_an_error_during_commit(
    url: str, error: Exception, meaning: type[Exception]
) -> None:
    assert type(_open(url).classify_commit(error)) is meaning


@pytest.mark.parametrize(
    ("url", "error", "advice"),
    [
        (SQLITE, _sqlite(sqlite3.SQLITE_FULL), "disk is full: make room"),
        (POSTGRES, _postgres("53100"), "disk is full: make room"),
        (POSTGRES, _postgres("53300"), "max_pool_size"),
        (POSTGRES, _postgres("42P05"), "pool_mode = session"),
        (MARIADB, _mariadb(1021), "disk is full: make room"),
        (MARIADB, _mariadb(1114), "disk is full: make room"),
        (MARIADB, pymysql.err.OperationalError(3, NO_SPACE), "disk is full: make room"),
        (MARIADB, _mariadb(1040), "max_pool_size"),
        (MARIADB, _mariadb(2003), "is it running"),
    ],
)
def test_errors_come_with_advice(url: str, error: Exception, advice: str) -> None:
    assert advice in str(_open(url).failure(error))


def given_to_connect(url: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What the driver hears when ``url`` is connected to."""
    given: dict[str, object] = {}

    def connect(*_args: object, **more: object) -> None:
        given.update(more)
        raise psycopg.OperationalError("enough")

    monkeypatch.setattr(BoundedConnection, "connect", connect)
    with pytest.raises(errors.StoreFailed):
        _open(url).connect()
    return given


def test_waiting_for_a_connection_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for url, wanted in ((POSTGRES, "10"), (f"{POSTGRES}?connect_timeout=3", "3")):
        given = given_to_connect(url, monkeypatch)
        assert str(given["connect_timeout"]) == wanted


def test_a_full_disk_at_commit_is_reported_after_it_is_settled() -> None:
    outcome = _open(SQLITE).classify_commit(_sqlite(sqlite3.SQLITE_FULL))
    assert isinstance(outcome, UnknownOutcome)
    assert "disk is full: make room" in str(outcome.failure)


def test_a_lost_connection_at_commit_can_be_retried() -> None:
    outcome = _open(POSTGRES).classify_commit(LOST[POSTGRES])
    assert isinstance(outcome, UnknownOutcome)
    assert outcome.failure is None


# Settings.


AS_SET = {
    POSTGRES: {
        "synchronous_commit": "on",
        "transaction_isolation": "read committed",
        "lock_timeout": "10000",
        "idle_in_transaction_session_timeout": "5000",
    },
    MARIADB: {
        "innodb_flush_log_at_trx_commit": "1",
        "tx_isolation": "READ-COMMITTED",
        "innodb_lock_wait_timeout": "10",
        "idle_transaction_timeout": "5",
        "sql_mode": "STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO",
        "character_set_database": "utf8mb4",
        "wsrep_on": "ON",
        "wsrep_sync_wait": "1",
    },
    SQLITE: {
        "journal_mode": "wal",
        "synchronous": "2",
        "foreign_keys": "1",
        "busy_timeout": "10000",
    },
}


@pytest.mark.parametrize(
    ("url", "name", "value"),
    [
        (POSTGRES, "synchronous_commit", "off"),
        (POSTGRES, "transaction_isolation", "repeatable read"),
        (POSTGRES, "lock_timeout", "0"),
        (POSTGRES, "idle_in_transaction_session_timeout", "0"),
        (MARIADB, "innodb_flush_log_at_trx_commit", "2"),
        (MARIADB, "tx_isolation", "REPEATABLE-READ"),
        (MARIADB, "innodb_lock_wait_timeout", "50"),
        (MARIADB, "idle_transaction_timeout", None),
        (MARIADB, "character_set_database", "latin1"),
        (MARIADB, "wsrep_sync_wait", "0"),
        (MARIADB, "wsrep_sync_wait", None),
        (SQLITE, "journal_mode", "delete"),
        (SQLITE, "synchronous", "1"),
        (SQLITE, "foreign_keys", "0"),
        (SQLITE, "busy_timeout", "0"),
    ],
)
def test_a_setting_that_did_not_stick_is_logged_once(
    url: str, name: str, value: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    database = _open(url)
    found = dict(AS_SET[url])
    database.check_settings(found.items())
    assert not caplog.text
    del found[name]
    if value is not None:
        found[name] = value
    database.check_settings(found.items())
    database.check_settings(found.items())
    (told,) = caplog.records
    assert told.levelname == "WARNING"
    assert f" is {value or 'unknown'}" in told.message


def test_galera_without_sync_wait_is_warned_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = {**AS_SET[MARIADB], "wsrep_on": "OFF", "wsrep_sync_wait": "0"}
    _open(MARIADB).check_settings(found.items())
    assert not caplog.text


@pytest.mark.parametrize("mode", ["STRICT_ALL_TABLES", "NO_AUTO_VALUE_ON_ZERO", ""])
def test_a_server_without_strict_mode_is_refused(mode: str) -> None:
    with pytest.raises(errors.StoreFailed, match="did not keep the sql_mode"):
        _open(MARIADB).check_settings({**AS_SET[MARIADB], "sql_mode": mode}.items())


def test_keepalives_in_the_url_take_precedence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = given_to_connect(POSTGRES + "?keepalives_idle=77", monkeypatch)
    assert given["keepalives_idle"] == "77"
    assert (given["keepalives_count"], given["tcp_user_timeout"]) == (3, 11_000)


@ON_SQLITE
def test_an_sqlite_connection_is_durable_and_strict(store: Any) -> None:
    session = store._snapshot()
    assert session.one("PRAGMA synchronous")[0] == 2
    assert session.one("PRAGMA foreign_keys")[0] == 1
    assert session.one("PRAGMA journal_mode")[0] == "wal"
    session.discard()


def test_a_new_file_and_those_beside_it_are_private(tmp_path: Path) -> None:
    file = tmp_path / "books.db"
    with closing(open_store(f"sqlite:///{file}", StoreOptions(create=True))) as store:
        transaction = store.begin()
        transaction.rollback()
        rights = {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()}
    assert rights == dict.fromkeys(("books.db", "books.db-wal", "books.db-shm"), 0o600)


def test_a_file_that_every_user_can_read_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "books.db"
    schema.sync(f"sqlite:///{file}")
    open_store(f"sqlite:///{file}", StoreOptions()).close()
    assert "chmod" not in caplog.text
    file.chmod(0o644)
    open_store(f"sqlite:///{file}", StoreOptions()).close()
    assert f"chmod o-rwx {file}" in caplog.text
