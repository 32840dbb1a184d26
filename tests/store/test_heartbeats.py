"""The table of heartbeats, on every database."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from gantt.store import StoreOptions, open_store
from gantt.store.sql import SqlStore
from tests.kinds import SERVER_KINDS


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


class _Slow(dict[int, int]):
    """Heartbeats of which ``meanwhile`` comes between what is there and what is new."""

    def __init__(self, rows: dict[int, int], meanwhile: Callable[[], None]) -> None:
        super().__init__(rows)
        self._meanwhile = meanwhile

    def keys(self) -> Any:
        self._meanwhile()
        return super().keys()


# SQLite has one writer at a time.
@pytest.mark.parametrize("kind", SERVER_KINDS, indirect=True)
def test_two_processes_hear_of_new_hosts_at_once(url: str, store: SqlStore) -> None:
    with closing(open_store(url, StoreOptions())) as other:
        beats = other.heartbeats
        assert beats is not None
        rows = dict.fromkeys(range(1, 6), 2)
        store.heartbeats.put(_Slow(rows, lambda: beats.put({3: 1})))
        assert beats.find() == rows
