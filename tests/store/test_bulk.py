"""What is sent to the driver for many rows, by dialect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gantt.store import StoreOptions
from gantt.store.database import Bulk, open_database
from gantt.store.database.bulk import array
from gantt.store.tables import BOOKS

SQLITE = "sqlite:///books.db"
POSTGRES = "postgresql+psycopg://gantt:secret@db.example/gantt"
MARIADB = "mysql+pymysql://gantt:secret@db.example/gantt"


class Noted:
    """A cursor that notes what it is given."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Sequence[Any]]] = []

    def execute(self, text: str, values: Sequence[Any]) -> None:
        self.sent.append((text, values))

    executemany = execute


def statements(url: str) -> list[Bulk]:
    bulk, table = open_database(url, StoreOptions()).bulk, BOOKS["resource_providers"]
    return [
        bulk.insert(table, ["id", "name"]),
        bulk.update(table, ["name"], ["id", "generation"]),
        bulk.delete(table, ["id", "generation"]),
    ]


def sent(bulk: Bulk, rows: list[tuple[Any, ...]]) -> list[tuple[str, Sequence[Any]]]:
    cursor = Noted()
    bulk.send(lambda: cursor, rows)
    return cursor.sent


@pytest.mark.parametrize("url", [SQLITE, POSTGRES, MARIADB])
def test_every_value_has_a_placeholder(url: str) -> None:
    for bulk, width in zip(statements(url), (2, 3, 2), strict=True):
        for text, values in sent(bulk, [tuple(range(width))] * 3):
            is_many = isinstance(values[0], tuple)  # for each row once more
            marks = text.count("?" if url == SQLITE else "%s")
            assert marks == len(values[0] if is_many else values)
            assert "%(" not in text


@pytest.mark.parametrize(
    ("url", "counts"),
    [(SQLITE, [5, 1, 1]), (POSTGRES, [1, 1, 1]), (MARIADB, [5, 5, 1])],
)
def test_rows_are_sent_in_few_statements(url: str, counts: list[int]) -> None:
    # 16, 4, 1, 1 and 1 where rows go in blocks
    insert, update, delete = statements(url)
    narrow: list[tuple[Any, ...]] = [(1, 2)] * 23
    wide: list[tuple[Any, ...]] = [(1, 2, 3)] * 23
    found = [sent(insert, narrow), sent(update, wide), sent(delete, narrow)]
    assert [len(one) for one in found] == counts


def test_postgresql_statements_do_not_depend_on_the_rows() -> None:
    for bulk in statements(POSTGRES):
        assert sent(bulk, [(1, 2, 3)])[0][0] == sent(bulk, [(4, 5, 6)] * 99)[0][0]


def test_array_types_have_no_size() -> None:
    """A cast to varchar(200) would cut a long name off without a word."""
    (text, values) = sent(statements(POSTGRES)[0], [(1, "a"), (2, None)])[0]
    assert "unnest(%s::INTEGER[], %s::VARCHAR[])" in text
    assert values == ["{1,2}", '{"a",NULL}']


def test_array_literals() -> None:
    assert array([1, None, -2]) == "{1,NULL,-2}"
    assert array([1, 20]) == "{1,20}"
    assert array(["a", "", "b,c"]) == '{"a","","b,c"}'
    assert array(['a","b', "c"]) == '{"a\\",\\"b","c"}'
    assert array([True, 1.5]) == "{True,1.5}"
    assert array(['a"b', "c\\d", "", "NULL", "{,}"]) == (
        '{"a\\"b","c\\\\d","","NULL","{,}"}'
    )
    assert array([b"\x00\xff"]) == '{"\\\\x00ff"}'


def test_long_rows_are_sent_to_mariadb_in_small_blocks() -> None:
    # The server disconnects clients that send more at once.
    long = [(number, "x" * 200_000) for number in range(10)]
    for bulk, width in zip(statements(MARIADB)[:2], (2, 3), strict=True):
        rows = [(*row, 0)[:width] for row in long]
        assert len(sent(bulk, rows)) == 10
    short = [(number, "x" * 100) for number in range(10)]
    assert len(sent(statements(MARIADB)[0], short)) == 4
    assert len(sent(statements(SQLITE)[0], long)) == 4
