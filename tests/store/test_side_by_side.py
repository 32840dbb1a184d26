"""This release beside the next, which adds to the tables first and removes last.

Processes of both releases serve one database until the last of this one is replaced.
"""

from __future__ import annotations

import pytest

from gantt import errors
from gantt.model import rows
from gantt.model.changes import Change, Cursor
from gantt.store import StoreOptions, open_store, schema
from gantt.store.sql_store import SqlStore
from gantt.store.tables import FORMAT
from tests.databases import execute
from tests.store import books

EXPAND = (
    "CREATE TABLE gantt_next (id INTEGER PRIMARY KEY)",
    "ALTER TABLE traits ADD COLUMN shade INTEGER DEFAULT 7",
    "UPDATE gantt_alembic_version SET version_num = '0099_next'",
)
CONTRACT = f"UPDATE gantt_head SET format = {FORMAT + 1}"


def write(store: SqlStore, number: int) -> None:
    trait = books.name_row(number, f"CUSTOM_{number}")
    revision = store.cursor().revision + 1
    transaction = store.begin()
    try:
        change = Change(rows.TRAITS, number, None, trait)
        transaction.write([books.entry(Cursor(revision, f"b{number}"), [change])])
        transaction.commit()
    finally:
        transaction.rollback()


def test_processes_run_beside_the_next_release_that_adds_tables(
    store: SqlStore, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(store, 1)
    execute(url, *EXPAND)
    write(store, 2)
    # As ``create=True`` of the library and ``sync_on_startup`` do.
    open_store(url, StoreOptions(create=True)).close()
    assert caplog.text.count("0099_next, which a newer Gantt made") == 1
    replaced = open_store(url)
    assert isinstance(replaced, SqlStore)
    try:
        assert "revision 0099_next, which a newer Gantt made" in caplog.text
        write(replaced, 3)
        assert len(store.tail(Cursor(2, "b2")) or ()) == 1
        assert len(books.contents(replaced)[rows.TRAITS]) == 3
    finally:
        replaced.close()
    with pytest.raises(errors.Refused, match=r"0099_next, which .* newer Gantt"):
        schema.sync(url)


def test_processes_stop_when_the_next_release_changes_the_format(
    store: SqlStore, url: str
) -> None:
    write(store, 1)
    execute(url, *EXPAND, CONTRACT)
    with pytest.raises(errors.StoreFailed, match=f"is in format {FORMAT + 1} now"):
        store.begin()
    with pytest.raises(errors.Refused, match="newer Gantt made it"):
        open_store(url)
