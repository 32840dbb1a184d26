"""The store without SQL implements as much of the interface as it can."""

from __future__ import annotations

import threading

import pytest

from gantt import errors
from gantt.model.changes import Cursor
from gantt.model.rows import TRAITS
from gantt.store import StoreOptions, open_store
from gantt.store.interface import Fingerprint
from gantt.store.outcomes import DefiniteAbort, ForeignWrite
from tests.store import books

CHANGES = books.made(TRAITS, books.name_row(1, "CUSTOM_A"))


def test_a_commit_moves_the_end_of_the_log() -> None:
    store = open_store("memory://")
    assert store.cursor() == Cursor()
    end = books.write(store, CHANGES, CHANGES)
    assert end.revision == 2
    assert store.cursor() == end
    assert store.has_batch(end)
    assert store.has_batch(Cursor(2, "another")) is False
    assert store.tail(end) == []
    assert store.tail(Cursor()) is None


def test_a_rollback_undoes_everything() -> None:
    store = open_store("memory://")
    transaction = store.begin()
    transaction.write([books.entry(Cursor(1, "b"), CHANGES)])
    transaction.rollback()
    transaction.commit()
    assert store.cursor() == Cursor()


def test_a_gap_in_revisions_is_a_foreign_write() -> None:
    store = open_store("memory://")
    transaction = store.begin()
    with pytest.raises(ForeignWrite):
        transaction.write([books.entry(Cursor(7, "b"), CHANGES)])
    transaction.rollback()


def test_waiting_for_the_lock_times_out() -> None:
    store = open_store("memory://", StoreOptions(lock_timeout_s=0.01))
    held = store.begin()
    assert held.now() is None
    with pytest.raises(DefiniteAbort):
        store.begin()
    threading.Timer(0.001, held.rollback).run()
    store.begin().rollback()


def test_nothing_is_loaded_and_the_fingerprint_is_saved() -> None:
    store = open_store("memory://")
    cursor, chunks = store.load()
    assert (cursor, list(chunks)) == (Cursor(), [])
    assert store.saved_fingerprint() is None
    store.save_fingerprint(store.fingerprint())
    assert store.saved_fingerprint() == Fingerprint(0, "", {}, {})
    assert store.compact(1) == 0
    assert store.fold("Name") == "Name"


def test_a_closed_store_refuses_writes() -> None:
    store = open_store("memory://")
    store.close()
    with pytest.raises(errors.StoreFailed):
        store.begin()
