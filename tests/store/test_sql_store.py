"""The SQL store implements the store interface."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from gantt import errors
from gantt.model import rows
from gantt.model.changes import Change, Cursor
from gantt.store import StoreOptions, open_store
from gantt.store.changelog.codec import decode, encode
from gantt.store.database import Database, SqliteDatabase
from gantt.store.interface import Fingerprint, Store
from gantt.store.outcomes import DataError, DefiniteAbort, ForeignWrite, UnknownOutcome
from gantt.store.sql_store import SqlStore
from tests.databases import execute
from tests.kinds import ON_SQLITE
from tests.store import books

ROWS: dict[str, list[rows.Row]] = {
    rows.RESOURCE_CLASSES: [books.name_row(0, "VCPU"), books.name_row(1, "DISK_GB")],
    rows.TRAITS: [books.name_row(1, "CUSTOM_FAST")],
    rows.AGGREGATES: [books.name_row(1, books.uuid_of(77))],
    rows.PROJECTS: [books.name_row(1, "project")],
    rows.USERS: [books.name_row(1, "us\u00e9r")],
    rows.CONSUMER_TYPES: [books.name_row(1, "INSTANCE")],
    rows.PROVIDERS: [
        books.provider_row(1),
        books.provider_row(2, parent=1, root=1, generation=4),
    ],
    rows.CONSUMERS: [
        books.consumer_row(1),
        rows.ConsumerRow(2, books.uuid_of(9), 1, 1, 3, 1, None, None),
    ],
    rows.INVENTORIES: [books.inventory_row(1, 1, 0)],
    rows.ALLOCATIONS: [books.allocation_row(1, 1, 1), books.allocation_row(2, 1, 8)],
    rows.PROVIDER_TRAITS: [books.link_row(1, 1), books.link_row(2, 1)],
    rows.PROVIDER_AGGREGATES: [books.link_row(2, 1)],
    rows.SERVICES: [
        books.service_row(1, "host-1", disabled=True),
        rows.ServiceRow(
            2, "h\u00f6st", "nova-compute", False, True, *(None,) * 4, None, books.NOW
        ),
    ],
    rows.FACTS: [
        books.fact_row(3, "h\u00f6st", disabled=True),
        rows.FactRow(4, "switch", "", False, False, None, None, None, books.NOW),
    ],
    rows.HOSTS: [
        books.host_row(1, '{"vcpus": 8, "hypervisor_type": "\u2713"}'),
        rows.HostRow(2, "host-1", "node-2", None, "{}", None, None),
    ],
    rows.HOST_AGGREGATES: [
        books.aggregate_row(1, "host-1", "host-2"),
        rows.HostAggregateRow(2, books.uuid_of(2), "", None, "[]", "{}", None, None),
    ],
    rows.INSTANCES: [books.instance_row(1, "host-1", '{"flavorid": "7"}')],
    rows.SERVER_GROUPS: [
        books.group_row(1, books.uuid_of(1), books.uuid_of(2)),
        rows.ServerGroupRow(2, books.uuid_of(2), "", None, 3, "[]", None, None),
    ],
    rows.BOOKINGS: [
        books.claim_row(1, 1, 1, leased_until=books.NOW + 1),
        rows.BookingRow(
            id=2,
            claim="claim-1",
            instance_uuid=books.uuid_of(2),
            host_id=1,
            vcpus=0,
            memory_mb=2**40,
            disk_mb=2**41,
            group_uuid=books.uuid_of(5),
            leased_until=None,
            consumer_generation=7,
            remote='{"allocations": {}}',
            created_at=None,
            updated_at=books.NOW,
        ),
    ],
}
TRAIT = books.made(rows.TRAITS, books.name_row(50, "CUSTOM_LATE"))


def _fill(store: SqlStore) -> Cursor:
    return books.write(
        store, *(books.made(table, *found) for table, found in ROWS.items())
    )


def _trait(number: int) -> list[Change]:
    return books.made(rows.TRAITS, books.name_row(number, f"CUSTOM_{number}"))


# What is written is what is read.


def test_every_table_reads_back_as_written(store: SqlStore) -> None:
    end = _fill(store)
    cursor, chunks = store.load()
    found = list(chunks)
    assert cursor == end
    assert [table for table, _ in found] == list(rows.ROW_TYPES)
    assert dict(found) == ROWS


def test_rows_that_were_read_can_be_logged(store: SqlStore) -> None:
    """SQLite has 0 and 1 for booleans; a log that says so cannot be read back."""
    _fill(store)
    found = books.contents(store)
    changes = tuple(
        change for table in found for change in books.made(table, *found[table])
    )
    assert decode(encode(changes)) == changes
    service = found[rows.SERVICES][0]
    assert isinstance(service, rows.ServiceRow)
    assert (service.disabled, service.forced_down) == (True, False)
    assert type(service.disabled) is type(service.forced_down) is bool


def test_a_long_report_is_not_truncated(store: SqlStore) -> None:
    row = books.host_row(1, '{"cpu_info": "' + "\u00e4" * 200_000 + '"}')
    books.write(store, books.made(rows.HOSTS, row))
    assert books.contents(store) == {rows.HOSTS: [row]}


def test_a_load_comes_in_chunks(store: SqlStore, url: str) -> None:
    books.write(store, [change for n in range(1, 8) for change in _trait(n)])
    small = open_store(url, StoreOptions(chunk=3))
    _, chunks = small.load()
    assert [len(chunk) for _, chunk in chunks] == [3, 3, 1]
    small.close()


def test_a_load_sees_one_snapshot(store: SqlStore) -> None:
    end = _fill(store)
    cursor, chunks = store.load()
    books.write(store, TRAIT)
    assert cursor == end
    assert dict(chunks) == ROWS


def test_everything_survives_a_restart(store: SqlStore, url: str) -> None:
    end = _fill(store)
    store.close()
    again = open_store(url)
    assert again.cursor() == end
    assert books.contents(again) == ROWS
    again.close()


def test_no_character_is_special_to_the_database(store: SqlStore) -> None:
    names = ['a"b', "c\\d", "NULL", "{,}", "'; --", "%s %(x)s", "a\nb\tc", " "]
    found = [books.name_row(n, name) for n, name in enumerate(names, 1)]
    books.write(store, books.made(rows.PROJECTS, *found))
    assert books.contents(store)[rows.PROJECTS] == found


# The log.


def test_the_end_of_the_log_moves_with_commits_of_any_process(
    store: SqlStore, url: str
) -> None:
    assert store.cursor() == Cursor()
    end = _fill(store)
    assert store.cursor() == end == store.cursor()
    other = open_store(url)
    end = books.write(other, TRAIT)
    assert store.cursor() == end
    other.close()


def test_an_unmoved_end_costs_one_statement(store: SqlStore) -> None:
    _fill(store)
    store.cursor()
    before = store.statements
    store.cursor()
    assert store.statements - before == 1


def test_the_tail_has_new_values_in_order(store: SqlStore) -> None:
    first = books.write(store, _trait(1))
    old = books.name_row(1, "CUSTOM_1")
    end = books.write(store, _trait(2), books.gone(rows.TRAITS, old))
    tail = store.tail(first)
    assert tail is not None
    assert [entry.revision for entry in tail] == [2, 3]
    assert {entry.batch for entry in tail} == {end.batch}
    assert tail[0].changes == tuple(_trait(2))
    assert tail[1].changes == (Change(rows.TRAITS, 1, None, None),)
    assert (tail[0].at, tail[0].kind, tail[0].request_id) == (
        books.NOW,
        "Test",
        "req-1",
    )
    assert store.tail(end) == []
    whole = store.tail(Cursor())
    assert whole is not None
    assert len(whole) == 3


@pytest.mark.parametrize(
    "lost", [Cursor(2, "of another history"), Cursor(99, "from the future")]
)
def test_a_tail_of_another_history_is_none(store: SqlStore, lost: Cursor) -> None:
    books.write(store, _trait(1), _trait(2), _trait(3))
    assert store.tail(lost) is None
    with_lock = store.begin()
    assert with_lock.tail(lost) is None
    with_lock.rollback()


def test_a_process_too_far_behind_reloads(store: SqlStore, url: str) -> None:
    first = books.write(store, _trait(1))
    books.write(store, *(_trait(n) for n in range(2, 6)))
    impatient = open_store(url, StoreOptions(tail_limit=3))
    assert impatient.tail(first) is None
    patient = open_store(url, StoreOptions(tail_limit=4))
    tail = patient.tail(first)
    assert tail is not None
    assert len(tail) == 4
    impatient.close()
    patient.close()


def test_compaction_keeps_the_last_rows(store: SqlStore) -> None:
    first = books.write(store, _trait(1))
    end = books.write(store, *(_trait(n) for n in range(2, 11)))
    assert store.compact(4) == 6
    assert store.compact(4) == 0
    assert store.tail(first) is None
    assert store.tail(Cursor()) is None
    assert store.tail(Cursor(7, end.batch)) is not None
    assert store.compact(0) == 3
    assert store.cursor() == end
    assert store.tail(end) == []


def test_a_batch_is_found_or_not(store: SqlStore) -> None:
    end = _fill(store)
    assert store.has_batch(end)
    assert store.has_batch(Cursor(end.revision, "never")) is False
    assert store.has_batch(Cursor(end.revision + 1, "never")) is False


def test_a_compacted_batch_is_unknown(
    store: SqlStore,
) -> None:
    end = _fill(store)
    store.compact(2)
    first = end.revision - 1
    assert store.has_batch(Cursor(first, end.batch)) is True
    assert store.has_batch(Cursor(first, "never")) is False
    assert store.has_batch(Cursor(first - 1, end.batch)) is None
    assert store.has_batch(Cursor(1, "never")) is None


def test_a_revision_is_never_written_twice(store: SqlStore) -> None:
    end = _fill(store)
    transaction = store.begin()
    with pytest.raises(ForeignWrite):
        transaction.write([books.entry(Cursor(end.revision, "b"), TRAIT)])
    transaction.rollback()
    assert books.contents(store) == ROWS


# The fingerprint.


def test_a_fingerprint_counts_and_sums(store: SqlStore) -> None:
    assert store.saved_fingerprint() is None
    end = _fill(store)
    found = store.fingerprint()
    assert found == Fingerprint(
        revision=end.revision,
        batch=end.batch,
        counts={table: len(ROWS[table]) for table in rows.ROW_TYPES},
        generations={rows.PROVIDERS: 4, rows.CONSUMERS: 4},
    )
    store.save_fingerprint(found)
    assert store.saved_fingerprint() == found


# Work: statements do not grow with the batch.


def _claim(number: int, old: rows.ProviderRow, new: rows.ProviderRow) -> list[Change]:
    return [
        *books.made(rows.CONSUMERS, books.consumer_row(number)),
        books.moved(rows.PROVIDERS, old, new),
        *books.made(rows.ALLOCATIONS, books.allocation_row(number, 1, number)),
    ]


@pytest.mark.parametrize("size", [1, 50])
def test_statements_of_a_batch_of_claims(store: SqlStore, size: int) -> None:
    generations = [books.provider_row(1, generation=n) for n in range(size + 1)]
    books.write(store, books.made(rows.PROVIDERS, generations[0]))
    end = store.cursor()
    before = store.statements
    transaction = store.begin()
    assert transaction.tail(end) == []
    transaction.write(
        [
            books.entry(
                Cursor(end.revision + n + 1, "batch"),
                _claim(n, generations[n], generations[n + 1]),
            )
            for n in range(size)
        ]
    )
    transaction.commit()
    # begin or time, head, tail, consumers, providers, allocations, log, commit; and
    # PostgreSQL is told of ids that were given to consumers and allocations.
    told = 2 if store.url.startswith("postgresql") else 0
    assert store.statements - before == 8 + told
    assert books.contents(store)[rows.PROVIDERS] == [generations[-1]]


def test_sequences_are_advanced_ahead_once_per_connection(
    store: SqlStore, url: str
) -> None:
    def told(number: int, through: Store) -> int:
        before = through.statements
        books.write(
            through, books.made(rows.TRAITS, books.name_row(number, f"T{number}"))
        )
        return through.statements - before

    first = told(1, store)
    assert told(900, store) == first - url.startswith("postgresql")
    assert told(2_000, store) == first
    other = open_store(url)
    assert told(2_001, other) == first
    other.close()
    if url.startswith("postgresql"):
        drawn = execute(url, "SELECT nextval('traits_id_seq')")
        assert drawn[0][0] > 2_001


@ON_SQLITE
def test_a_failed_query_holds_no_lock(
    store: SqlStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = "SELECT nothing"
    with monkeypatch.context() as patch:
        patch.setattr(store.log, "ask", lambda session, _: session.send(wrong))
        # A reference to the error keeps its frames, and cursors in them, alive.
        with pytest.raises(errors.StoreFailed) as kept:
            store.begin()
    execute(url, "UPDATE gantt_fingerprint SET facts = 'x'")
    store.begin().rollback()
    assert "nothing" in kept.value.message


def test_statements_of_a_read_under_the_lock(
    store: SqlStore,
) -> None:
    books.write(store, books.made("traits", books.name_row(1, "CUSTOM_A")))
    end = store.cursor()
    before = store.statements
    transaction = store.begin()
    assert transaction.tail(end) == []
    now = transaction.now()
    transaction.rollback()
    assert (now is None) == store.url.startswith("sqlite")
    # Begin or time, head, tail.
    assert store.statements - before == 3


def test_prepared_statements_survive_a_rollback(store: SqlStore) -> None:
    # psycopg prepares what it sees often, and forgets all of it at a rollback: the
    # server's, too.
    for _ in range(2):
        for _ in range(8):
            assert store.lead("one", store.leader()) is not None
        store.begin().rollback()


# Outcomes.


def test_a_rollback_undoes_everything(store: SqlStore) -> None:
    end = _fill(store)
    transaction = store.begin()
    transaction.write([books.entry(Cursor(end.revision + 1, "b"), TRAIT)])
    transaction.rollback()
    transaction.rollback()
    transaction.commit()
    assert store.cursor() == end
    assert books.contents(store) == ROWS


def test_the_lock_excludes_other_stores_and_threads(store: SqlStore, url: str) -> None:
    other = open_store(url, StoreOptions(lock_timeout_s=0.1))
    transaction = store.begin()
    with pytest.raises(DefiniteAbort):
        other.begin()
    with pytest.raises(DefiniteAbort):
        store.begin()
    assert other.cursor() == Cursor()
    transaction.rollback()
    other.begin().rollback()
    store.begin().rollback()
    other.close()


def test_leader_tasks_fail_without_the_lock(store: SqlStore, url: str) -> None:
    other = open_store(url, StoreOptions(lock_timeout_s=0.1))
    transaction = store.begin()
    with pytest.raises(errors.StoreFailed):
        other.compact(1)
    with pytest.raises(errors.StoreFailed):
        other.save_fingerprint(other.fingerprint())
    transaction.rollback()
    other.close()


@pytest.mark.parametrize(
    "row", [books.name_row(1, "half a \ud800 pair"), books.name_row(2**70, "huge")]
)
def test_a_value_that_cannot_be_held_is_a_data_error(
    store: SqlStore, row: rows.NameRow
) -> None:
    transaction = store.begin()
    with pytest.raises(DataError):
        transaction.write(
            [books.entry(Cursor(1, "b"), [Change(rows.TRAITS, 1, None, row)])]
        )
    transaction.rollback()
    _fill(store)


def test_long_annotations_do_not_fail_a_batch(store: SqlStore) -> None:
    entry = books.entry(Cursor(1, "b"), TRAIT)
    transaction = store.begin()
    transaction.write([type(entry)(1, "b", 0, "K" * 500, "r" * 5000, entry.changes)])
    transaction.commit()
    tail = store.tail(Cursor())
    assert tail is not None
    assert (tail[0].kind, tail[0].request_id) == ("K" * 64, "r" * 255)


class _BrokenCommit:
    """A driver's connection whose COMMIT fails with an error code."""

    def __init__(self, driver: Any, code: int) -> None:
        self._driver = driver
        self._code = code

    def commit(self) -> None:
        error = sqlite3.OperationalError("broken on purpose")
        error.sqlite_errorcode = self._code
        raise error

    def rollback(self) -> None:
        self._driver.rollback()


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (sqlite3.SQLITE_BUSY, DefiniteAbort),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, DefiniteAbort),
        (sqlite3.SQLITE_IOERR_FSYNC, UnknownOutcome),
        (sqlite3.SQLITE_FULL, UnknownOutcome),
    ],
)
@ON_SQLITE
def test_a_failed_commit(store: SqlStore, code: int, outcome: type[Exception]) -> None:
    transaction = store.begin()
    transaction.write([books.entry(Cursor(1, "b"), TRAIT)])
    session = transaction._session
    driver, session._driver = session._driver, _BrokenCommit(session._driver, code)
    with pytest.raises(outcome):
        transaction.commit()
    session._driver = driver
    assert store.has_batch(Cursor(1, "b")) is False
    _fill(store)


@ON_SQLITE
def test_a_full_disk_fails_the_batch_and_not_the_store(
    store: SqlStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SqliteDatabase.settings
    monkeypatch.setattr(
        SqliteDatabase,
        "settings",
        lambda self: (*settings(self), "PRAGMA max_page_count = 1"),
    )
    full = open_store(url)
    many = [change for n in range(2_000) for change in _trait(n)]
    with pytest.raises(errors.StoreFailed, match="disk is full"):
        books.write(full, many)
    assert full.cursor() == Cursor()
    full.close()
    _fill(store)


def test_a_closed_store_says_so(store: SqlStore) -> None:
    store.close()
    store.close()
    for use in (store.begin, store.cursor, store.load, store.fingerprint):
        with pytest.raises(errors.StoreFailed, match="closed"):
            use()


def test_a_broken_connection_is_replaced(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = _fill(store)
    assert store.cursor() == end
    for session in (store._writing, *store._readers._free):
        assert session is not None
        session._driver.close()
    monkeypatch.setattr(type(store._database), "is_lost", lambda *_: True)
    assert store.cursor() == end
    store.begin().rollback()


def test_a_database_that_stays_away_is_an_error(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(store)
    store.cursor()

    def refuse(self: Database) -> None:
        raise self.failure(OSError("gone"))

    for session in (store._writing, *store._readers._free):
        assert session is not None
        session._driver.close()
    monkeypatch.setattr(type(store._database), "is_lost", lambda *_: True)
    monkeypatch.setattr(type(store._database), "connect", refuse)
    with pytest.raises(errors.StoreFailed, match="gone"):
        store.cursor()
    with pytest.raises(errors.StoreFailed, match="gone"):
        store.begin()


@ON_SQLITE
def test_a_deleted_file_accepts_no_writes(store: SqlStore, path: Path) -> None:
    end = _fill(store)
    assert store.cursor() == end
    aside = path.with_name("aside.db")
    path.rename(aside)
    for ask in (store.begin, store.cursor, store.load):
        with pytest.raises(errors.StoreFailed, match="put the file back"):
            ask()
    sqlite3.connect(path).execute("CREATE TABLE another (one)").connection.close()
    with pytest.raises(errors.StoreFailed, match="put the file back"):
        store.begin()
    aside.replace(path)
    assert books.write(store, _trait(60)).revision == end.revision + 1
