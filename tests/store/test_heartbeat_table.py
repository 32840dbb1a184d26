"""The table of heartbeats, on every database."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import closing

import pytest

from gantt.store import StoreOptions, open_store
from gantt.store.interface import HEARTBEATS, Heartbeat, SideTable
from gantt.store.sql_store import SqlStore
from tests.kinds import SERVER_KINDS

Table = SideTable[Heartbeat, None, Collection[int]]


def heard(rows: Table) -> dict[int, int]:
    return {one.host_id: one.heard_at for one in rows.page(None).rows.values()}


def beats(at: dict[int, int]) -> list[Heartbeat]:
    return [Heartbeat(*one) for one in at.items()]


def test_rows_are_written_and_dropped(store: SqlStore) -> None:
    rows = store.beside(HEARTBEATS)
    assert heard(rows) == {}
    big = 2**53
    rows.append(beats({7: big, 3: 1}))
    rows.append(beats({3: 2, 9: 5}))
    assert heard(rows) == {3: 2, 7: big, 9: 5}
    rows.trim([3, 4, 9])
    rows.trim([])
    rows.append(beats({}))
    assert heard(rows) == {7: big}
    assert store.cursor().revision == 0


@pytest.mark.parametrize("many", [1, 5_000])
def test_many_hosts_are_one_transaction(store: SqlStore, many: int) -> None:
    rows = store.beside(HEARTBEATS)
    rows.append(beats(dict.fromkeys(range(1, many + 1), 1)))
    before = store.statements
    rows.append(beats(dict.fromkeys(range(1, many + 1), 2)))
    assert store.statements - before <= 4
    assert set(heard(rows).values()) == {2}


def test_those_in_memory_are_kept_alike() -> None:
    rows = open_store("memory://").beside(HEARTBEATS)
    assert rows is not None
    rows.append(beats({7: 1, 3: 1}))
    rows.append(beats({3: 2}))
    rows.trim([7, 8])
    assert heard(rows) == {3: 2}


class _Slow(list[Heartbeat]):
    """Heartbeats of which ``meanwhile`` comes between what is there and what is new."""

    def __init__(self, rows: list[Heartbeat], meanwhile: Callable[[], object]) -> None:
        super().__init__(rows)
        self._meanwhile = meanwhile
        self._reads = 0

    def __iter__(self) -> Iterator[Heartbeat]:
        self._reads += 1
        if self._reads == 2:
            self._meanwhile()
        return super().__iter__()


# SQLite has one writer at a time.
@pytest.mark.parametrize("kind", SERVER_KINDS, indirect=True)
def test_two_processes_hear_of_new_hosts_at_once(url: str, store: SqlStore) -> None:
    with closing(open_store(url, StoreOptions())) as other:
        others = other.beside(HEARTBEATS)
        assert others is not None
        at = dict.fromkeys(range(1, 6), 2)
        slow = _Slow(beats(at), lambda: others.append(beats({3: 1})))
        store.beside(HEARTBEATS).append(slow)
        assert slow._reads > 2  # the first attempt failed
        assert heard(others) == at
