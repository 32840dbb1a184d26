"""The table of heartbeats, on every database."""

from __future__ import annotations

import pytest

from gantt.store import open_store
from gantt.store.sql import SqlStore


def test_rows_are_written_and_dropped(store: SqlStore) -> None:
    rows = store.heartbeats
    assert rows.find() == {}
    big = 2**53
    rows.put({7: big, 3: 1})
    rows.put({3: 2, 9: 5})
    assert rows.find() == {3: 2, 7: big, 9: 5}
    rows.drop([3, 4, 9])
    rows.drop([])
    rows.put({})
    assert rows.find() == {7: big}
    assert store.cursor().revision == 0


@pytest.mark.parametrize("many", [1, 5_000])
def test_many_hosts_are_one_transaction(store: SqlStore, many: int) -> None:
    rows = store.heartbeats
    rows.put(dict.fromkeys(range(1, many + 1), 1))
    before = store.statements
    rows.put(dict.fromkeys(range(1, many + 1), 2))
    assert store.statements - before <= 4
    assert set(rows.find().values()) == {2}


def test_those_in_memory_are_kept_alike() -> None:
    rows = open_store("memory://").heartbeats
    assert rows is not None
    rows.put({7: 1, 3: 1})
    rows.put({3: 2})
    rows.drop([7, 8])
    assert rows.find() == {3: 2}
