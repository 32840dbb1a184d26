"""The table of shadow records, on every database."""

from __future__ import annotations

from typing import Any

from gantt.model.shadow import ShadowQuery
from gantt.store.interface import SHADOWS, ShadowRow, Trimmed
from gantt.store.sql_store import SqlStore

ODD = "req-%_/'\0" + "é" * 300


def row(
    at: int, request: str = "req", uuid: str | None = "i", **more: Any
) -> ShadowRow:
    known = {"verdict": "same", "record": b"\0\xff%d" % at}
    return ShadowRow(at, request, uuid, **{**known, **more})


def times(store: SqlStore, asked: ShadowQuery) -> list[int]:
    return [at for at, _ in store.beside(SHADOWS).page(asked).rows]


def test_rows_are_found_by_each_of_their_columns(store: SqlStore) -> None:
    rows = [
        row(1),
        row(2, ODD),
        row(3, uuid=None),
        row(4, uuid="j"),
        row(5, verdict="ranked"),
    ]
    assert store.beside(SHADOWS).append(rows) == 0

    def at(**asked: Any) -> list[int]:
        return times(store, ShadowQuery(**asked))

    assert at() == [5, 4, 3, 2, 1]
    assert at(limit=2) == [5, 4]
    assert at(since=2, until=4) == [3, 2]
    assert at(request_id=ODD) == [2]
    assert at(instance_uuid="j") == [4]
    assert at(verdict="ranked") == [5]
    assert at(verdict="same", instance_uuid="i", since=2) == [2]
    assert at(request_id="%") == at(instance_uuid="I") == []
    found = store.beside(SHADOWS).page(ShadowQuery(since=1, until=2))
    assert [*found.rows.values()] == [row(1)]
    big = 2**62
    store.beside(SHADOWS).append([row(big, record=b"x" * 100_000)])
    (large,) = store.beside(SHADOWS).page(ShadowQuery(since=big)).rows.values()
    assert large.record == b"x" * 100_000


def test_trimming_keeps_the_last_that_were_added(store: SqlStore) -> None:
    store.beside(SHADOWS).append([row(at) for at in (5, 4, 3)])
    assert store.beside(SHADOWS).trim(3) == Trimmed(0, 3)
    store.beside(SHADOWS).append([row(1)])
    assert store.beside(SHADOWS).trim(2) == Trimmed(2, 2)
    assert times(store, ShadowQuery()) == [3, 1]
    assert store.beside(SHADOWS).trim(2) == Trimmed(0, 2)
