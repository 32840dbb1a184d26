"""Columns that grow together, and chains of rows through them.

They are separate from the tables because each table is the same mechanics (take a row,
give it back, double when full) around different columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]
Float32s = NDArray[np.float32]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]

NO_ROW = -1
# As ``any`` and ``all`` of an array, which cost a call in Python.
ANY: Final = np.logical_or.reduce
ALL: Final = np.logical_and.reduce
NO_TIME = np.iinfo(np.int64).min
_FIRST_CAPACITY = 16


def time_in(value: int | None) -> int:
    """Microseconds as a column holds them."""
    return NO_TIME if value is None else value


def times_in(values: Iterable[int | None]) -> Int64s:
    """Many at once, as ``time_in``."""
    return np.array([NO_TIME if at is None else at for at in values], np.int64)


def time_out(value: Any) -> int | None:
    """Microseconds as a row holds them."""
    number = int(value)
    return None if number == NO_TIME else number


class Columns:
    """Arrays of one length. ``specs``: column name -> (dtype, value of an empty row).

    Rows below ``height`` have been used; ``is_live`` tells which still are. Arrays are
    replaced when they grow, so hold no reference to one across a write.
    """

    specs: ClassVar[dict[str, tuple[Any, Any]]] = {}
    is_live: Bools

    def __init__(self) -> None:
        self.height = 0
        self.count = 0
        self._capacity = 0
        self._free: list[int] = []
        self._specs = {**self.specs, "is_live": (np.bool_, False)}
        self.reserve(_FIRST_CAPACITY)

    def reserve(self, capacity: int) -> None:
        """Make room for ``capacity`` rows in all."""
        if capacity <= self._capacity:
            return
        for name, (dtype, empty) in self._specs.items():
            grown = np.full(capacity, empty, dtype)
            if self._capacity:
                grown[: self._capacity] = getattr(self, name)
            setattr(self, name, grown)
        self._capacity = capacity

    def take(self) -> int:
        """A row that is free, marked live; lowest unused first."""
        self.count += 1
        if self._free:
            row = self._free.pop()
        else:
            row = self.height
            if row == self._capacity:
                self.reserve(2 * self._capacity)
            self.height += 1
        self.is_live[row] = True
        return row

    def take_block(self, size: int) -> slice:
        """``size`` new rows at the end, marked live."""
        start = self.height
        while start + size > self._capacity:
            self.reserve(2 * self._capacity)
        self.height += size
        self.count += size
        self.is_live[start : self.height] = True
        return slice(start, self.height)

    def give_back(self, row: int) -> None:
        """The row is free again and its columns are empty."""
        self.count -= 1
        for name, (_, empty) in self._specs.items():
            getattr(self, name)[row] = empty
        self._free.append(row)

    def live_rows(self) -> NDArray[np.intp]:
        """Rows in use, ascending."""
        return np.flatnonzero(self.is_live[: self.height])


class DatedColumns(Columns):
    """Rows with the times when they were made and last changed."""

    specs: ClassVar = {
        "created_at": (np.int64, NO_TIME),
        "updated_at": (np.int64, NO_TIME),
    }
    created_at: Int64s
    updated_at: Int64s

    def date(self, row: int, created_at: int | None, updated_at: int | None) -> None:
        """Take in the times of a row, in microseconds."""
        self.created_at[row] = NO_TIME if created_at is None else created_at
        self.updated_at[row] = NO_TIME if updated_at is None else updated_at

    def dates(self, row: int) -> tuple[int | None, int | None]:
        """The times of a row, as ``date`` took them in."""
        created_at, updated_at = int(self.created_at[row]), int(self.updated_at[row])
        return (
            None if created_at == NO_TIME else created_at,
            None if updated_at == NO_TIME else updated_at,
        )


class Chain:
    """Doubly linked lists through a table: the rows that belong to one owner.

    Costs 8 bytes per row instead of a Python container per owner.
    """

    def __init__(self) -> None:
        self._head: Int32s = np.full(_FIRST_CAPACITY, NO_ROW, np.int32)
        self._next: Int32s = np.full(_FIRST_CAPACITY, NO_ROW, np.int32)
        self._previous: Int32s = np.full(_FIRST_CAPACITY, NO_ROW, np.int32)

    def add(self, owner: int, row: int) -> None:
        """``row`` belongs to ``owner`` from now on, as its first."""
        if owner >= len(self._head) or row >= len(self._next):
            self._reserve(owner, row)
        first = self._head[owner]
        self._next[row] = first
        self._previous[row] = NO_ROW
        if first != NO_ROW:
            self._previous[first] = row
        self._head[owner] = row

    def remove(self, owner: int, row: int) -> None:
        before, after = self._previous[row], self._next[row]
        if before == NO_ROW:
            self._head[owner] = after
        else:
            self._next[before] = after
        if after != NO_ROW:
            self._previous[after] = before

    def add_block(self, owners: Int32s, rows: slice) -> None:
        """Link many rows at once; ``owners[i]`` owns row ``rows.start + i``."""
        if not len(owners):
            return
        self._reserve(int(owners.max()), rows.stop - 1)
        order = np.argsort(owners, kind="stable")
        sorted_owners = owners[order]
        sorted_rows = (order + rows.start).astype(np.int32)
        is_new = sorted_owners[1:] != sorted_owners[:-1]
        is_first = np.concatenate(([True], is_new))
        is_last = np.concatenate((is_new, [True]))
        heads = self._head[sorted_owners[is_last]]
        self._previous[sorted_rows[1:]] = sorted_rows[:-1]
        self._previous[sorted_rows[is_first]] = NO_ROW
        self._next[sorted_rows[:-1]] = sorted_rows[1:]
        self._next[sorted_rows[is_last]] = heads
        had_rows = heads != NO_ROW
        self._previous[heads[had_rows]] = sorted_rows[is_last][had_rows]
        self._head[sorted_owners[is_first]] = sorted_rows[is_first]

    def rows_of(self, owner: int) -> Iterator[int]:
        """The rows of ``owner``; do not change the chain while iterating."""
        if owner >= len(self._head):
            return
        row = int(self._head[owner])
        while row != NO_ROW:
            yield row
            row = int(self._next[row])

    def is_empty(self, owner: int) -> bool:
        return owner >= len(self._head) or bool(self._head[owner] == NO_ROW)

    def _reserve(self, owner: int, row: int) -> None:
        if owner >= len(self._head):
            self._head = _grown(self._head, owner)
        if row >= len(self._next):
            self._next = _grown(self._next, row)
            self._previous = _grown(self._previous, row)


def _grown(array: Int32s, index: int) -> Int32s:
    grown = np.full(max(2 * len(array), index + 1), NO_ROW, np.int32)
    grown[: len(array)] = array
    return grown
