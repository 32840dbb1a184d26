"""One change of many rows, in as few statements as a database allows.

Apart from the dialects, which choose: rows as arrays in one statement of a fixed text
(PostgreSQL), rows joined in blocks (MariaDB), or updates row by row (SQLite, where a
statement is a call and not a round trip).
"""

# ruff: noqa: S608 - of our own tables and columns
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, ClassVar, Protocol

from msgspec import Struct
from sqlalchemy import String, Table
from sqlalchemy.engine import Dialect

Values = Sequence[Any]

NULL_IS = "null_is"
"""In a column's ``info``: the column whose value stands for NULL."""
# 64 rows of eight values stay below every database's limit of parameters.
_BLOCKS = (64, 16, 4, 1)
# The same for nine values and SQLite alone.
_MOST = 3_000
# Characters and bytes that MariaDB gets at once in a block of several rows: quoted and
# in UTF-8 they stay below any ``max_allowed_packet``.
_ROOM = 500_000
_SIZE = re.compile(r"\(\d+\)")


class Bulk(Protocol):
    """A statement for any number of rows."""

    def send(self, open_cursor: Callable[[], Any], rows: Sequence[Values]) -> list[Any]:
        """Send it for ``rows``; the cursors, whose row counts add up."""


class Bulks:
    """INSERTs of many rows; everything else row by row."""

    # How much a block of rows may hold; 0: whatever they hold.
    room: ClassVar[int] = 0

    def __init__(self, dialect: Dialect) -> None:
        self._quoted = dialect.identifier_preparer.quote
        self._mark = "?" if dialect.paramstyle == "qmark" else "%s"

    def insert(
        self, table: Table, columns: Sequence[str], *, at_once: bool = False
    ) -> Bulk:
        """A row: a value for each of ``columns``. ``at_once``: in one statement if
        possible, whose text depends on the number of rows."""
        head = f"INSERT INTO {table.name} ({self._list(columns)}) VALUES "
        group = "(" + ", ".join([self._mark] * len(columns)) + ")"
        most = _MOST if at_once else 0
        return _Blocks(head, group, ", ", room=self.room, most=most)

    def update(
        self, table: Table, columns: Sequence[str], where: Sequence[str]
    ) -> Bulk:
        """A row: the new value of each of ``columns``, the old of each of ``where``."""
        sets = ", ".join(f"{self._quoted(name)} = {self._mark}" for name in columns)
        found = self._found(table, where)
        return _EachRow(f"UPDATE {table.name} SET {sets} WHERE {found}")

    def delete(self, table: Table, where: Sequence[str]) -> Bulk:
        """A row: the old value of each of ``where``."""
        found = self._found(table, where)
        return _EachRow(f"DELETE FROM {table.name} WHERE {found}")

    def select(self, table: Table, columns: Sequence[str], by: str) -> Bulk:
        """A row: a value of ``by``; selects the rows that have it."""
        head = f"{self._wanted(table, columns)} WHERE {self._quoted(by)} IN ("
        return _Blocks(head, self._mark, ", ", ")", most=_BLOCKS[0])

    def _wanted(self, table: Table, columns: Sequence[str]) -> str:
        """NULL is read as it is compared."""
        read = (
            self._known(table, name) if table.c[name].nullable else self._quoted(name)
            for name in columns
        )
        return f"SELECT {', '.join(read)} FROM {table.name}"

    def _list(self, columns: Iterable[str]) -> str:
        return ", ".join(self._quoted(name) for name in columns)

    def _found(self, table: Table, where: Iterable[str], given: str = "") -> str:
        """The condition for a row; ``given``: the table with the values to compare."""
        return " AND ".join(
            f"{self._known(table, name)} = "
            + (f"{given}.was_{name}" if given else self._mark)
            for name in where
        )

    def _known(self, table: Table, name: str) -> str:
        """A column as it is compared with known values: NULL counts as 0 or "", or as
        the column that stands for it."""
        column = f"{table.name}.{self._quoted(name)}"
        if isinstance(table.c[name].type, String):
            return f"coalesce({self._exact(column)}, '')"
        if not table.c[name].nullable:
            return column
        instead = table.c[name].info.get(NULL_IS)
        other = f"{table.name}.{self._quoted(instead)}" if instead else "0"
        return f"coalesce({column}, {other})"

    def _exact(self, text: str) -> str:
        """Text to be compared exactly."""
        return text


class JoinedBulks(Bulks):
    """UPDATEs join the rows they are given, in blocks, instead of going one by one.

    The server disconnects on a statement that is too long, without a reason.
    """

    room: ClassVar[int] = _ROOM

    def update(
        self, table: Table, columns: Sequence[str], where: Sequence[str]
    ) -> Bulk:
        sets = ", ".join(
            f"{table.name}.{self._quoted(name)} = given.new_{name}" for name in columns
        )
        names = [*(f"new_{name}" for name in columns), *(f"was_{w}" for w in where)]
        group = "SELECT " + ", ".join(f"{self._mark} AS {name}" for name in names)
        return _Blocks(
            f"UPDATE {table.name} JOIN (",
            group,
            " UNION ALL ",
            f") AS given ON {self._found(table, where, 'given')} SET {sets}",
            room=self.room,
        )

    def _exact(self, text: str) -> str:
        # Explicit, since a column and a value may have different collations.
        return f"convert({text} USING utf8mb4) COLLATE utf8mb4_bin"


class ArrayBulks(Bulks):
    """One statement for any number of rows, with a constant text, so that it is
    prepared once. A parameter is the array of a column."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self._dialect = dialect

    def insert(
        self, table: Table, columns: Sequence[str], *, at_once: bool = True
    ) -> Bulk:
        del at_once  # always
        given = self._given([(table, name, name) for name in columns])
        head = f"INSERT INTO {table.name} ({self._list(columns)})"
        return _Arrays(f"{head} SELECT * FROM {given}")

    def update(
        self, table: Table, columns: Sequence[str], where: Sequence[str]
    ) -> Bulk:
        sets = ", ".join(f"{self._quoted(name)} = given.new_{name}" for name in columns)
        given = self._given(
            [(table, name, "new_" + name) for name in columns]
            + [(table, name, "was_" + name) for name in where]
        )
        found = self._found(table, where, "given")
        return _Arrays(f"UPDATE {table.name} SET {sets} FROM {given} WHERE {found}")

    def delete(self, table: Table, where: Sequence[str]) -> Bulk:
        given = self._given([(table, name, "was_" + name) for name in where])
        found = self._found(table, where, "given")
        return _Arrays(f"DELETE FROM {table.name} USING {given} WHERE {found}")

    def select(self, table: Table, columns: Sequence[str], by: str) -> Bulk:
        found = f"{self._quoted(by)} = ANY({self._array(table, by)})"
        return _Arrays(f"{self._wanted(table, columns)} WHERE {found}")

    def _given(self, columns: list[tuple[Table, str, str]]) -> str:
        """The arrays as a table ``given``. Types without their size: a cast to
        varchar(255) would cut off what an assignment refuses."""
        arrays = ", ".join(self._array(table, name) for table, name, _ in columns)
        names = ", ".join(self._quoted(alias) for _, _, alias in columns)
        return f"unnest({arrays}) AS given({names})"

    def _array(self, table: Table, name: str) -> str:
        return f"%s::{_SIZE.sub('', table.c[name].type.compile(self._dialect))}[]"


class _EachRow(Struct, frozen=True):
    text: str

    def send(self, open_cursor: Callable[[], Any], rows: Sequence[Values]) -> list[Any]:
        cursor = open_cursor()
        cursor.executemany(self.text, rows)
        return [cursor]


class _Blocks(Struct, frozen=True):
    """Many rows to a statement, in blocks of few different sizes: SQLite gives up the
    interpreter's lock at every step, and other threads make it wait for it."""

    head: str
    group: str
    between: str
    tail: str = ""
    room: int = 0
    most: int = 0

    def send(self, open_cursor: Callable[[], Any], rows: Sequence[Values]) -> list[Any]:
        cursors = []
        blocks = _blocks(rows, self.room, self.most) if len(rows) != 1 else [rows]
        for block in blocks:
            groups = self.between.join([self.group] * len(block))
            cursor = open_cursor()
            cursor.execute(
                self.head + groups + self.tail, list(chain.from_iterable(block))
            )
            cursors.append(cursor)
        return cursors


def _blocks(rows: Sequence[Values], room: int, most: int) -> list[Sequence[Values]]:
    blocks, start = [], 0
    while left := len(rows) - start:
        for size in (min(left, most), *_BLOCKS) if most else _BLOCKS:
            block = rows[start : start + size]
            if size <= left and (size == 1 or not room or _weight(block) <= room):
                break
        blocks.append(block)
        start += len(block)
    return blocks


def _weight(block: Sequence[Values]) -> int:
    """How many letters and bytes it holds, which alone can be many."""
    return sum(len(v) for row in block for v in row if isinstance(v, (str, bytes)))


class _Arrays(Struct, frozen=True):
    text: str

    def send(self, open_cursor: Callable[[], Any], rows: Sequence[Values]) -> list[Any]:
        cursor = open_cursor()
        cursor.execute(self.text, [array(column) for column in zip(*rows, strict=True)])
        return [cursor]


def array(values: Sequence[Any]) -> str:
    """An array as PostgreSQL reads it: far cheaper to build than the driver's own."""
    kinds = set(map(type, values))
    if kinds == {int}:
        return "{" + ",".join(map(str, values)) + "}"
    if kinds == {str}:
        text = '","'.join(values)
        # No escapes needed: the only quotes are those of the separators.
        if "\\" not in text and text.count('"') == 2 * (len(values) - 1):
            return f'{{"{text}"}}'
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, bytes):
        return '"\\\\x' + value.hex() + '"'
    return str(value)
