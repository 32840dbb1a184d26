"""What only a server does: disconnect, deadlock, fold names, store less exactly."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.errors import DuplicateName, Refused, StoreFailed
from gantt.model import rows
from gantt.model.changes import Change, Cursor
from gantt.model.commands import (
    ConsumerAllocations,
    CreateProvider,
    CreateResourceClass,
    Inventory,
)
from gantt.model.selection import Asked
from gantt.store import StoreOptions, open_store, schema
from gantt.store.database import Statement, open_database
from gantt.store.database.dialect import POOLED
from gantt.store.interface import DECISIONS, SharedDecision
from gantt.store.outcomes import CommitOutcome, DefiniteAbort, UnknownOutcome
from gantt.store.session import Counter, Session
from gantt.store.sql_store import SqlStore
from tests.databases import Databases, DatabaseServer, execute
from tests.engine.conftest import opened
from tests.kinds import SERVER_KINDS
from tests.store import books
from tests.waiting import until

ON_MARIADB = pytest.mark.parametrize(
    "kind",
    [pytest.param("mariadb", marks=pytest.mark.server("mariadb"))],
    indirect=True,
)
ON_POSTGRESQL = pytest.mark.parametrize(
    "kind",
    [pytest.param("postgresql", marks=pytest.mark.server("postgresql"))],
    indirect=True,
)
TRAIT = books.made(rows.TRAITS, books.name_row(50, "CUSTOM_LATE"))


@pytest.fixture(params=SERVER_KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Which server the test runs on."""
    return str(request.param)


@pytest.fixture
def server(kind: str, databases: Databases) -> DatabaseServer:
    return databases.server(kind)


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    store = open_store(url, StoreOptions(lock_timeout_s=20, idle_timeout_s=1))
    assert isinstance(store, SqlStore)
    yield store
    store.close()


def entries(store: SqlStore) -> list[rows.Row]:
    return books.contents(store).get(rows.TRAITS, [])


def test_a_missing_database_is_refused(server: DatabaseServer) -> None:
    with pytest.raises(Refused, match=r"nowhere.*CREATE DATABASE.*correct its name"):
        open_store(server.url("nowhere"), StoreOptions(create=True))


def write_once(store: SqlStore, batch: str = "b") -> None:
    transaction = store.begin()
    try:
        revision = store.cursor().revision + 1
        transaction.write([books.entry(Cursor(revision, batch), TRAIT)])
        transaction.commit()
    finally:
        transaction.rollback()


def test_session_settings(
    kind: str, store: SqlStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.fingerprint()  # reads a snapshot, which may take its time
    session = Session(store._database, Counter())
    wanted: dict[str, object] = {
        "postgresql": {
            "SHOW transaction_isolation": "read committed",
            "SHOW idle_in_transaction_session_timeout": "1s",
            "SHOW lock_timeout": "20s",
            "SHOW timezone": "UTC",
            "SHOW tcp_keepalives_idle": "1",
            "SHOW tcp_user_timeout": "7000",
        },
        "mariadb": {
            "SELECT @@tx_isolation": "READ-COMMITTED",
            "SELECT @@idle_transaction_timeout": 1,
            "SELECT @@innodb_lock_wait_timeout": 20,
            "SELECT @@time_zone": "+00:00",
            "SELECT @@wsrep_sync_wait": 1,
        },
    }[kind]  # type: ignore[assignment]
    assert {query: session.one(query)[0] for query in wanted} == wanted
    assert not caplog.text
    session.execute(
        "SET SESSION idle_in_transaction_session_timeout = 0"
        if kind == "postgresql"
        else "SET SESSION idle_transaction_timeout = 0"
    )
    store._database.check_settings(session.all(store._database.read_back))
    (told,) = caplog.records
    assert told.message.endswith(POOLED)
    session.discard()


def test_settings_that_lose_writes_are_logged_once(
    kind: str, url: str, server: DatabaseServer, caplog: pytest.LogCaptureFixture
) -> None:
    risky, safe = {
        "postgresql": (
            f"ALTER DATABASE {url.rpartition('/')[2]} SET synchronous_commit = off",
            "SELECT 1",
        ),
        "mariadb": (
            "SET GLOBAL innodb_flush_log_at_trx_commit = 2",
            "SET GLOBAL innodb_flush_log_at_trx_commit = 1",
        ),
    }[kind]
    store = open_store(url)
    assert isinstance(store, SqlStore)
    assert not caplog.text
    server.execute(risky)
    try:
        # Also of connections that come later, to another server, perhaps. The pool
        # has three from before.
        for _ in range(5):
            Session(store._database, Counter()).discard()
        assert caplog.text.count("a crash can lose answered writes") == 1
        caplog.clear()
        open_store(url).close()
    finally:
        server.execute(safe)
        store.close()
    assert caplog.text.count("a crash can lose answered writes") == 1


def test_the_clock_of_the_server_counts_microseconds(store: SqlStore) -> None:
    transaction = store.begin()
    found = [transaction.now() or 0 for _ in range(20)]
    transaction.rollback()
    assert abs(found[0] / 1e6 - time.time()) < 60
    assert found == sorted(found)
    assert any(now % 1_000_000 for now in found)


def test_a_writer_paused_before_the_commit_loses_the_lock(store: SqlStore) -> None:
    """A message that a driver sends late can stop the server's clock."""
    paused = store.begin()
    paused.write([books.entry(Cursor(1, "b"), TRAIT)])
    time.sleep(1.6)
    with pytest.raises((DefiniteAbort, UnknownOutcome)):
        paused.commit()
    assert store.has_batch(Cursor(1, "b")) is False
    write_once(store)
    assert len(entries(store)) == 1


@pytest.mark.parametrize(
    "kind",
    [pytest.param("postgresql", marks=pytest.mark.server("postgresql"))],
    indirect=True,
)
def test_old_client_libraries_work_without_pipelines(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psycopg.Pipeline, "is_supported", lambda: False)
    write_once(store)
    assert len(entries(store)) == 1


STOPPED_WRITER = """
import os, signal, sys
from gantt.model import rows
from gantt.model.changes import Cursor
from gantt.store import StoreOptions, open_store
from gantt.store.session import Session
from tests.store import books

send_rows = Session.send_rows

def send_and_stop(session, bulk, values):
    answer = send_rows(session, bulk, values)
    os.kill(os.getpid(), signal.SIGSTOP)
    return answer

Session.send_rows = send_and_stop
transaction = open_store(sys.argv[1], StoreOptions(idle_timeout_s=1)).begin()
made = books.made(rows.TRAITS, books.name_row(50, "CUSTOM_LATE"))
transaction.write([books.entry(Cursor(1, "b"), made)])
"""


@ON_POSTGRESQL
def test_a_writer_stopped_in_mid_batch_loses_the_head_lock(url: str) -> None:
    """With ``Connection.pipeline()`` it would keep the lock until it goes on: each
    statement leaves when it is executed, and until a Sync the server does not take the
    session to be idle."""
    store = open_store(url, StoreOptions(create=True, lock_timeout_s=5))
    writer = subprocess.Popen([sys.executable, "-c", STOPPED_WRITER, url])
    try:
        _, status = os.waitpid(writer.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        store.begin().rollback()
    finally:
        writer.kill()
        writer.wait()
        store.close()


@ON_POSTGRESQL
def test_statements_sent_together_leave_at_the_end(store: SqlStore) -> None:
    # Between parts no timeout of the server runs: a writer paused there keeps the lock.
    session = Session(store._database, Counter())
    with session.together():
        session.start(store._database.begin)
        head = store._head.lock(session)
        write_once(store)
    assert head.rows
    session.rollback()
    session.close()


@ON_POSTGRESQL
def test_the_committer_prepares_deallocated_statements_again(
    store: SqlStore, url: str
) -> None:
    with closing(Gantt(store)) as gantt:
        gantt.submit(CreateResourceClass("CUSTOM_A"))
        assert store._writing is not None
        store._writing.execute("DEALLOCATE ALL")
        store._writing.rollback()
        gantt.submit(CreateResourceClass("CUSTOM_B"))
        assert gantt.counts()["aborts"] == 1


@ON_POSTGRESQL
def test_a_connection_closed_before_its_first_batch_is_lost(store: SqlStore) -> None:
    session = Session(store._database, Counter())
    session._driver.close()
    with pytest.raises(DefiniteAbort), session.together():
        session.send("SELECT 1")
    assert session.is_lost
    session.close()


@ON_POSTGRESQL
def test_a_closed_session_leaks_no_file_descriptor(store: SqlStore) -> None:
    def used() -> int:
        session = Session(store._database, Counter())
        with session.together():
            session.send("SELECT 1")
        session.rollback()
        session.close()
        return len(list(Path("/proc/self/fd").iterdir()))

    gc.disable()
    try:
        before = used()
        assert [used() for _ in range(5)] == [before] * 5
    finally:
        gc.enable()


@ON_POSTGRESQL
def test_batches_larger_than_the_socket_buffer_are_sent(store: SqlStore) -> None:
    # A writer that waits for answers with half of it unsent would keep the lock.
    text = f"SELECT length('{'x' * 16_000_000}')"
    lengths: list[int] = []

    def send() -> None:
        transaction = store.begin()
        session = transaction._session
        with session.together():
            sent = [session.send(text) for _ in range(2)]
        transaction.rollback()
        lengths.extend(answer.rows[0][0] for answer in sent)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    sender.join(30)
    assert lengths == [16_000_000] * 2


def test_a_reader_cut_off_at_its_first_statement_fails(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = store._database

    def fail(_connection: object) -> None:
        raise database.engine.dialect.loaded_dbapi.OperationalError(2013, "cut off")

    with monkeypatch.context() as patch:
        patch.setattr(database, "set_autocommit", fail)
        for _ in range(20):  # none of them keeps a connection of the pool
            with pytest.raises(StoreFailed, match="cut off"):
                store.cursor()
    assert store.cursor() == Cursor()


def test_a_paused_writer_loses_the_lock_and_its_batch(store: SqlStore) -> None:
    paused = store.begin()
    time.sleep(1.6)
    with pytest.raises(DefiniteAbort):
        paused.write([books.entry(Cursor(1, "b"), TRAIT)])
    paused.rollback()
    write_once(store)
    assert len(entries(store)) == 1


def test_a_slow_load_is_not_cut_off(store: SqlStore) -> None:
    write_once(store)
    _, chunks = store.load()
    time.sleep(1.6)
    assert dict(chunks)[rows.TRAITS] == entries(store)


def hang_up(kind: str, server: DatabaseServer, session: Session) -> None:
    """End the connection of a session from outside."""
    if kind == "postgresql":
        number = session._driver.info.backend_pid
        server.execute(f"SELECT pg_terminate_backend({number})")
    else:
        server.execute(f"KILL CONNECTION {session._driver.thread_id()}")
    time.sleep(0.1)


@pytest.mark.parametrize("is_committing", [False, True])
def test_a_terminated_connection(
    kind: str, store: SqlStore, server: DatabaseServer, is_committing: bool
) -> None:
    transaction = store.begin()
    if is_committing:
        transaction.write([books.entry(Cursor(1, "b"), TRAIT)])
    hang_up(kind, server, transaction._session)
    with pytest.raises(UnknownOutcome if is_committing else DefiniteAbort):
        if is_committing:
            transaction.commit()
        else:
            transaction.write([books.entry(Cursor(1, "b"), TRAIT)])
    transaction.rollback()
    assert store.has_batch(Cursor(1, "b")) is False
    write_once(store)
    assert store.has_batch(Cursor(1, "b"))


def _numbers(store: SqlStore, asked: Asked) -> list[int]:
    rows = store.beside(DECISIONS).page(asked).rows
    return [one.number for one in rows.values()]


def test_decisions_are_written_after_a_terminated_connection(
    kind: str, store: SqlStore, server: DatabaseServer
) -> None:
    for number in (1, 2):
        row = SharedDecision("p", number, 1, "r", None, False, 1, ",i,", b"{}")
        assert store.beside(DECISIONS).append([row]) == 0
        session = Session(store._database, Counter())
        session.close()  # back to the pool, from which the next write takes it
        hang_up(kind, server, session)
    assert _numbers(store, Asked()) == [2, 1]


def test_a_place_among_decisions_may_name_any_process(store: SqlStore) -> None:
    row = SharedDecision("p", 1, 1, "r", None, False, 1, ",i,", b"{}")
    assert store.beside(DECISIONS).append([row]) == 0
    for process in ("q\0", "\N{GRINNING FACE}", "z" * 3_000):
        assert _numbers(store, Asked(after=(2, 1, process))) == [1]


def test_a_server_restart(store: SqlStore, server: DatabaseServer) -> None:
    write_once(store)
    end = store.cursor()
    server.kill()
    try:
        for use in (store.cursor, store.load, store.begin, store.fingerprint):
            with pytest.raises((StoreFailed, DefiniteAbort)):
                use()
        with pytest.raises(StoreFailed, match="is it running"):
            store.begin()
    finally:
        server.start()
    assert store.cursor() == end
    assert store.has_batch(Cursor(1, "b"))
    assert len(entries(store)) == 1


def test_a_deadlock_can_be_retried(url: str) -> None:
    database = open_database(url, StoreOptions(lock_timeout_s=20))
    store = open_store(url)
    makers = [books.name_row(n, f"CUSTOM_{n}") for n in (1, 2)]
    books.write(store, books.made(rows.TRAITS, *makers))
    sessions = [Session(database, Counter()) for _ in range(2)]
    touch = "UPDATE traits SET updated_at = NULL WHERE id = %s"
    outcomes: list[CommitOutcome] = []
    both = threading.Barrier(2)

    def cross(session: Session, first: int, second: int) -> None:
        session.execute(touch, (first,))
        both.wait(20)
        try:
            session.execute(touch, (second,))
        except CommitOutcome as outcome:
            outcomes.append(outcome)
        session.rollback()
        session.close()

    threads = [
        threading.Thread(target=cross, args=(session, *order))
        for session, order in zip(sessions, ((1, 2), (2, 1)), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [type(outcome) for outcome in outcomes] == [DefiniteAbort]
    database.close()
    store.close()


def test_sequences_skip_given_ids(url: str, store: SqlStore) -> None:
    write_once(store)
    execute(url, "INSERT INTO traits (name) VALUES ('CUSTOM_FOREIGN')")
    numbers = [row.id for row in entries(store) if isinstance(row, rows.NameRow)]
    assert numbers[0] == 50
    assert numbers[1] > 50


# What is kept less exactly than it was given.

RATIOS = (1.1, 0.1, 16.0, 1.23456789, 1e-7, 3.40282e38, 123456.789, 0.0, 1 / 3)


@pytest.mark.parametrize("ratio", RATIOS)
def test_ratios_and_times_read_back_as_predicted(store: SqlStore, ratio: float) -> None:
    provider = books.provider_row(1)
    row = rows.InventoryRow(
        id=1,
        resource_provider_id=1,
        resource_class_id=0,
        total=8,
        reserved=0,
        min_unit=1,
        max_unit=8,
        step_size=1,
        allocation_ratio=ratio,
        created_at=books.NOW + 123_456,
        updated_at=books.NOW + 999_999,
    )
    changes = store.as_kept(
        (
            *books.made(rows.RESOURCE_CLASSES, books.name_row(0, "VCPU")),
            *books.made(rows.PROVIDERS, provider),
            *books.made(rows.INVENTORIES, row),
        )
    )
    books.write(store, changes)
    (kept,) = books.contents(store)[rows.INVENTORIES]
    assert kept == changes[-1].new
    assert store.as_kept((Change(rows.INVENTORIES, 1, None, kept),))[0].new == kept
    assert isinstance(kept, rows.InventoryRow)
    assert kept.allocation_ratio == pytest.approx(ratio, rel=1e-5)


def test_an_engine_and_its_tables_agree_on_ratios(url: str) -> None:
    with Gantt(opened(url)) as gantt:
        gantt.submit(CreateResourceClass("CUSTOM_A"))
        for number, ratio in enumerate(RATIOS):
            uuid = gantt.create_provider(f"host-{number}").uuid
            stock = Inventory(7, allocation_ratio=ratio)
            gantt.set_inventories(uuid, {"CUSTOM_A": stock})
        assert gantt.verify().problems == ()


# Names.

NAMES = (
    "a A \u00e4 \u00c4 \u00df s ss \u00f8 o \u0131 i I \u4e2d \u6587 \u03b1 \u0391 "
    "\u00e6 ae \u0142 l"
).split()


def test_names_are_folded_as_the_server_compares_them(store: SqlStore) -> None:
    names = [*NAMES, "a ", " a"]
    select = Statement("SELECT count(*) FROM traits WHERE name = %s", ("name",))
    with store._under_head_lock() as session:
        for number, name in enumerate(names):
            session.execute("DELETE FROM traits")
            session.execute(
                "INSERT INTO traits (id, name) VALUES (%s, %s)", (number, name)
            )
            for other in names:
                found = session.one(select.text, (other,))[0]
                same = store.fold(name) == store.fold(other)
                assert bool(found) == same, (name, other)


@ON_MARIADB
def test_names_equal_to_the_collation_are_equal_in_the_columns(url: str) -> None:
    with Gantt(opened(url)) as gantt:
        gantt.submit(CreateResourceClass("CUSTOM_A"))
        uuid = gantt.create_provider("H\u00f6st").uuid
        with pytest.raises(DuplicateName):
            gantt.create_provider("host")
        gantt.set_inventories(uuid, {"CUSTOM_A": Inventory(100)})
        for number, project in enumerate(("p\u00e9", "PE", "pe ")):
            consumer = f"{number:08x}-1111-4111-8111-aaaaaaaaaaaa"
            share = {uuid: {"CUSTOM_A": 1}}
            gantt.set_allocations(
                [ConsumerAllocations(consumer, share, project, "u", None)]
            )
        # A uuid in capitals means the same consumer.
        gantt.delete_allocations("00000001-1111-4111-8111-AAAAAAAAAAAA")
        assert gantt.get_usages(uuid.upper()).usages == {"CUSTOM_A": 2}
        assert gantt.counts()["foreign_writes"] == 0
        assert gantt.verify().problems == ()


@ON_POSTGRESQL
def test_a_database_in_sql_ascii(server: DatabaseServer) -> None:
    execute(
        server.url("postgres"),
        "CREATE DATABASE plain ENCODING 'SQL_ASCII' TEMPLATE template0 "
        "LC_COLLATE 'C' LC_CTYPE 'C'",
    )
    url = server.url("plain")
    schema.sync(url)
    with open_gantt(url) as gantt:
        gantt.submit(CreateProvider(books.uuid_of(7), "Zürich"))
    with open_gantt(url) as gantt:
        assert gantt.get_provider(books.uuid_of(7)).name == "Zürich"


# Statements of an administrator, for "on" and "off".
READ_ONLY = {
    "postgresql": (
        "ALTER SYSTEM SET default_transaction_read_only = {}",
        "SELECT pg_reload_conf()",
    ),
    "mariadb": ("SET GLOBAL read_only = {}",),
}


def test_a_server_that_takes_no_writes(
    url: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    place = make_url(url)
    if kind == "mariadb":
        # Users with all rights write all the same.
        execute(
            url,
            "CREATE OR REPLACE USER reader@127.0.0.1",
            f"GRANT ALL ON {place.database}.* TO reader@127.0.0.1",
        )
        place = place.set(username="reader")

    def make(switch: str) -> None:
        execute(url, *(one.format(switch) for one in READ_ONLY[kind]))

    with open_gantt(place.render_as_string(hide_password=False)) as gantt:
        assert gantt.unready() == ""
        make("on")
        try:
            until(lambda: "cannot be written" in gantt.unready())
            assert "it is read-only, as a standby is" in caplog.text
        finally:
            make("off")
        until(lambda: gantt.unready() == "")
        assert "takes writes again" in caplog.text
