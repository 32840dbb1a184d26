"""Every way in which a database can be wrong ends in a message that says what to do."""

from __future__ import annotations

import json
import logging
import sqlite3
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from gantt import errors
from gantt.model.rows import BookingRow
from gantt.store import StoreOptions, open_store, schema
from gantt.store.tables import FORMAT
from tests.databases import migrate
from tests.store import books

QUICK = StoreOptions(lock_timeout_s=0.05)


@pytest.fixture
def kind() -> str:
    """Files are looked into and schemas compared here: SQLite alone."""
    return "sqlite"


def _run(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def _one(path: Path, query: str) -> object:
    connection = sqlite3.connect(path)
    row = connection.execute(query).fetchone()
    connection.close()
    return row[0]


# Making and keeping tables.


def test_sync_creates_the_tables_and_records_both_revisions(
    url: str, path: Path
) -> None:
    assert schema.sync(url) == schema.HEAD == schema.version(url)
    schema.check(url)
    assert _one(path, "SELECT version_num FROM alembic_version") == "a082b8bb98d0"
    assert _one(path, "SELECT version_num FROM gantt_alembic_version") == schema.HEAD
    assert _one(path, "PRAGMA journal_mode") == "wal"
    assert _one(path, "SELECT format FROM gantt_head WHERE id = 1") == FORMAT


def test_a_second_sync_changes_nothing(url: str, path: Path) -> None:
    schema.sync(url)
    store = open_store(url)
    books.write(store, books.made("traits", books.name_row(1, "CUSTOM_A")))
    store.close()
    identity = _one(path, "SELECT identity FROM gantt_head")
    schema.sync(url)
    assert _one(path, "SELECT identity FROM gantt_head") == identity
    assert _one(path, "SELECT count(*) FROM traits") == 1


def test_sync_upgrades_from_an_older_revision(url: str, path: Path) -> None:
    schema.sync(url)
    _run(
        path,
        "DROP TABLE gantt_head",
        "DROP TABLE gantt_log",
        "DROP TABLE gantt_fingerprint",
        *LATER,
        *(f"DROP TABLE gantt_{name}" for name in FLEET_TABLES),
        "UPDATE gantt_alembic_version SET version_num = '0001_books'",
        "INSERT INTO traits (id, name) VALUES (1, 'CUSTOM_KEPT')",
    )
    with pytest.raises(errors.Refused, match="is at revision 0001_books"):
        schema.check(url)
    assert schema.sync(url) == schema.HEAD
    assert _one(path, "SELECT name FROM traits") == "CUSTOM_KEPT"


# What revisions after the fleet added.
LATER = tuple(
    f"DROP TABLE gantt_{name}"
    for name in (
        "leader",
        "usage_history",
        "zone_usage",
        "decisions",
        "shadow",
        "heartbeats",
    )
)
FLEET_TABLES = (
    "services facts hosts host_aggregates instances server_groups bookings".split()
)


def _back_to_the_committer(url: str, path: Path) -> None:
    """The database as the release before the scheduler left it."""
    store = open_store(url, StoreOptions(create=True))
    books.write(store, books.made("traits", books.name_row(1, "CUSTOM_KEPT")))
    store.save_fingerprint(store.fingerprint())
    store.close()
    facts = json.loads(str(_one(path, "SELECT facts FROM gantt_fingerprint")))
    counts = {name: n for name, n in facts[0].items() if not name.startswith("gantt")}
    _run(
        path,
        *LATER,
        *(f"DROP TABLE gantt_{name}" for name in FLEET_TABLES),
        f"UPDATE gantt_fingerprint SET facts = '{json.dumps([counts, facts[1]])}'",
        "UPDATE gantt_head SET format = 1",
        "UPDATE gantt_alembic_version SET version_num = '0002_gate'",
    )


def test_sync_upgrades_books_without_a_fleet(url: str, path: Path) -> None:
    _back_to_the_committer(url, path)
    for use in (open_store, schema.check):
        with pytest.raises(
            errors.Refused,
            match=rf"at revision 0002_gate, .* needs {schema.HEAD}: run .* db sync`",
        ):
            use(url)
    schema.sync(url)
    store = open_store(url)
    assert list(books.contents(store)) == ["traits"]
    # The format was raised twice since: a log begins anew, behind a gap each.
    assert store.cursor().revision == 5
    store.close()


def test_sync_upgrades_claims_of_the_release_before(url: str, path: Path) -> None:
    schema.sync(url)
    claim = books.claim_row(1, 1, 1)
    migrate(url, "0013_facts")
    _run(
        path,
        "DROP TABLE gantt_heartbeats",
        "DROP TABLE gantt_zone_usage",
        "DROP TABLE gantt_facts",
        "UPDATE gantt_head SET format = 1",
        "ALTER TABLE gantt_claims DROP COLUMN topology",
        "ALTER TABLE gantt_claims DROP COLUMN counted_at",
        "ALTER TABLE gantt_claims DROP COLUMN answered",
        "ALTER TABLE gantt_services DROP COLUMN disabled_reason",
        "INSERT INTO gantt_claims (id, claim, instance_uuid, host_id, vcpus, memory_mb,"
        f" disk_mb) VALUES (1, 'c', '{claim.instance_uuid}', 1, 2, 3, 4)",
        "UPDATE gantt_alembic_version SET version_num = '0007_shadow'",
    )
    with pytest.raises(errors.Refused, match="is at revision 0007_shadow"):
        schema.check(url)
    assert schema.sync(url) == schema.HEAD
    store = open_store(url)
    (row,) = books.contents(store)["gantt_bookings"]
    assert isinstance(row, BookingRow)
    assert (row.claim, row.topology, row.counted_at) == ("c", None, None)
    assert row.answered is None
    store.close()


def test_create_adds_missing_tables(url: str, path: Path) -> None:
    _back_to_the_committer(url, path)
    store = open_store(url, StoreOptions(create=True))
    books.write(store, books.made("gantt_hosts", books.host_row(1)))
    assert books.contents(store)["gantt_hosts"] == [books.host_row(1)]
    store.close()


def test_every_migration_is_a_known_revision(url: str) -> None:
    scripts = ScriptDirectory("gantt/store/migrations").walk_revisions()
    assert tuple(each.revision for each in reversed(list(scripts))) == (
        schema.REVISIONS
    )


def test_create_makes_tables_before_opening(url: str) -> None:
    open_store(url, StoreOptions(create=True)).close()
    schema.check(url)


def test_stamp_changes_only_the_revision(url: str) -> None:
    schema.sync(url)
    schema.stamp(url, "0001_books")
    assert schema.version(url) == "0001_books"
    schema.stamp(url, "head")
    assert schema.version(url) == schema.HEAD
    with pytest.raises(errors.Refused, match=r"no schema revision nonsense: .*0001"):
        schema.stamp(url, "nonsense")


def test_the_version_of_a_database_without_tables_is_none(url: str, path: Path) -> None:
    sqlite3.connect(path).close()
    _run(path, "CREATE TABLE other (id INTEGER)")
    assert schema.version(url) is None


# Refusals.


def every_use_is_refused(url: str, told: str) -> None:
    for use in (open_store, schema.sync, schema.check):
        with pytest.raises(errors.Refused, match=told):
            use(url)


def test_checking_does_not_create_a_file(url: str, path: Path) -> None:
    with pytest.raises(errors.Refused, match=r"no database at .*gantt-manage .* sync"):
        open_store(url)
    with pytest.raises(errors.Refused, match="no database at"):
        schema.version(url)
    assert not path.exists()


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/absent/books.db"
    every_use_is_refused(url, r"absent does not exist: create it")


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.Refused, match="is not a file"):
        schema.sync(f"sqlite:///{tmp_path}")


def test_an_empty_database_is_refused(url: str, path: Path) -> None:
    path.touch()
    with pytest.raises(errors.Refused, match=r"none of Gantt's tables.*db sync`"):
        open_store(url)


def test_a_file_that_is_not_a_database_is_refused(url: str, path: Path) -> None:
    path.write_text("These are no books, only words. " * 100)
    every_use_is_refused(url, "not an SQLite database")
    assert path.read_text().startswith("These")


def test_tables_of_placement_must_be_adopted(url: str, path: Path) -> None:
    schema.sync(url)
    _run(
        path,
        "DROP TABLE gantt_head",
        "DROP TABLE gantt_log",
        "DROP TABLE gantt_fingerprint",
        "DROP TABLE gantt_alembic_version",
    )
    every_use_is_refused(url, "gantt-manage .*adopt")


def test_a_revision_of_a_newer_gantt_is_refused(url: str, path: Path) -> None:
    schema.sync(url)
    _run(path, "UPDATE gantt_alembic_version SET version_num = '0099_later'")
    with pytest.raises(errors.Refused, match=r"0099_later, which .* newer Gantt"):
        schema.sync(url)


def test_another_format_is_refused(url: str, path: Path) -> None:
    schema.sync(url)
    _run(path, "UPDATE gantt_head SET format = 7")
    every_use_is_refused(url, f"format 7, this release .* format {FORMAT}")


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            "UPDATE alembic_version SET version_num = 'ffff'",
            r"says ffff, .* a082b8bb98d0",
        ),
        ("DELETE FROM gantt_head", "lost its row: restore"),
        ("DROP TABLE traits", "no table traits: restore it"),
        ("DROP TABLE gantt_log", "no table gantt_log: restore it"),
        ("DROP TABLE gantt_bookings", "no table gantt_bookings: restore it"),
    ],
)
def test_tables_that_others_changed_are_refused(
    url: str, path: Path, statement: str, told: str
) -> None:
    schema.sync(url)
    _run(path, statement)
    with pytest.raises(errors.Refused, match=told):
        open_store(url)


def test_a_read_only_database_is_refused(url: str, path: Path) -> None:
    schema.sync(url)
    with pytest.raises(errors.Refused, match="read-only: make the file"):
        open_store(f"sqlite:///file:{path}?mode=ro&uri=true")


def test_a_locked_database_is_refused(url: str, path: Path) -> None:
    schema.sync(url)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(errors.Refused, match="locked"):
        open_store(url, QUICK)
    holder.execute("ROLLBACK")
    open_store(url, QUICK).close()
    holder.close()


def test_an_exclusive_lock_is_reported(url: str, path: Path) -> None:
    path.touch()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(errors.Refused, match="locked"):
        schema.sync(url, QUICK)
    holder.close()


def test_a_failed_migration_leaves_nothing_behind(url: str, path: Path) -> None:
    _run(path, "CREATE VIEW gantt_log AS SELECT 1")
    with pytest.raises(errors.Refused, match="could not be created"):
        schema.sync(url)
    assert _one(path, "SELECT count(*) FROM sqlite_master WHERE type = 'table'") == 0


def test_warnings_are_logged_at_start(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from gantt.store.database import SqliteDatabase

    schema.sync(url)
    monkeypatch.setattr(SqliteDatabase, "warnings", lambda *_: ["mind the gap"])
    # As two connections of a pooler that keeps no sessions say.
    monkeypatch.setattr(SqliteDatabase, "session_id", "SELECT 7")
    with caplog.at_level(logging.WARNING):
        schema.check(url)
    assert "mind the gap" in caplog.text
    assert "pool_mode = session" in caplog.text
