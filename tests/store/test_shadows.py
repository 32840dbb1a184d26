"""The table of shadow records, on every database."""

from __future__ import annotations

from typing import Any

from gantt.model.shadow import ShadowQuery
from gantt.store.interface import ShadowRow
from gantt.store.sql import SqlStore

ODD = "req-%_/'\0" + "é" * 300


def row(
    at: int, request: str = "req", uuid: str | None = "i", **more: Any
) -> ShadowRow:
    known = {"verdict": "same", "record": b"\0\xff%d" % at}
    return ShadowRow(at, request, uuid, **{**known, **more})


def test_rows_are_found_by_each_of_their_columns(store: SqlStore) -> None:
    rows = [
        row(1),
        row(2, ODD),
        row(3, uuid=None),
        row(4, uuid="j"),
        row(5, verdict="ranked"),
    ]
    assert store.shadows.add(rows) == 0

    def at(**asked: Any) -> list[int]:
        return [at for at, _ in store.shadows.find(ShadowQuery(**asked))]

    assert at() == [5, 4, 3, 2, 1]
    assert at(limit=2) == [5, 4]
    assert at(since=2, until=4) == [3, 2]
    assert at(request_id=ODD) == [2]
    assert at(instance_uuid="j") == [4]
    assert at(verdict="ranked") == [5]
    assert at(verdict="same", instance_uuid="i", since=2) == [2]
    assert at(request_id="%") == at(instance_uuid="I") == []
    found = store.shadows.find(ShadowQuery(since=1, until=2))
    assert [*found.values()] == [row(1)]
    big = 2**62
    store.shadows.add([row(big, record=b"x" * 100_000)])
    (large,) = store.shadows.find(ShadowQuery(since=big)).values()
    assert large.record == b"x" * 100_000


def test_trimming_keeps_the_last_that_were_added(store: SqlStore) -> None:
    store.shadows.add([row(at) for at in (5, 4, 3)])
    assert store.shadows.trim(3) == 0
    store.shadows.add([row(1)])
    assert store.shadows.trim(2) == 2
    assert [at for at, _ in store.shadows.find(ShadowQuery())] == [3, 1]
    assert store.shadows.trim(2) == 0
