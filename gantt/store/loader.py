"""Reads all tables in one snapshot, as rows, in lists of a few thousand.

Apart from the other statements because a cold start waits for it: rows go from the
driver's tuples straight into their types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Table, func, literal_column, select

from gantt.model.rows import FLEET, ROW_TYPES, Row
from gantt.store.database import Database
from gantt.store.interface import Chunks, Progress
from gantt.store.session import Session
from gantt.store.tables import BOOKS, COLUMNS, TIMES_AT
from gantt.store.time_columns import MicrosMemo


class Loader:
    """One SELECT for each table of the books."""

    def __init__(self, database: Database, progress: Progress | None = None) -> None:
        self._progress = progress
        self._chunk = database.options.chunk
        self._selects = {
            name: database.compile(_all_rows(BOOKS[name], COLUMNS[name])).text
            for name in ROW_TYPES
        }
        self._counts = [
            database.compile(select(func.count()).select_from(BOOKS[name])).text
            for name in ROW_TYPES
        ]
        self._flags = {
            name: [
                place
                for place, column in enumerate(COLUMNS[name])
                if isinstance(BOOKS[name].c[column].type, Boolean)
            ]
            for name in ROW_TYPES
        }

    def rows(self, session: Session) -> Chunks:
        """Chunks of rows by table, in the order of ROW_TYPES. A Progress is told after
        each; only then are all rows counted first, which takes the database a while."""
        chunks, progress = self._chunks(session), self._progress
        if progress is None:
            yield from chunks
            return
        done, total = 0, sum(session.one(text)[0] for text in self._counts)
        progress(done, total)
        for name, rows in chunks:
            yield name, rows
            done += len(rows)
            progress(done, total)

    def _chunks(self, session: Session) -> Chunks:
        memo = MicrosMemo()
        for name, row_type in ROW_TYPES.items():
            for chunk in session.chunks(self._selects[name], self._chunk):
                flags = self._flags[name]
                values = _with_flags(chunk, flags) if flags else chunk
                yield name, _typed(row_type, values, memo, TIMES_AT[name])


def _with_flags(chunk: list[Any], flags: list[int]) -> list[list[Any]]:
    """Booleans, where some databases return 0 and 1: the log distinguishes them."""
    found = [list(values) for values in chunk]
    for values in found:
        for place in flags:
            values[place] = bool(values[place])
    return found


def _typed(
    row_type: Callable[..., Row], chunk: list[Any], memo: MicrosMemo, times_at: int
) -> list[Row]:
    after = times_at + 2
    return [
        row_type(
            *values[:times_at],
            memo[values[times_at]],
            memo[values[times_at + 1]],
            *values[after:],
        )
        for values in chunk
    ]


def _all_rows(table: Table, columns: tuple[str, ...]) -> Any:
    key = [table.c[name] for name in columns if table.c[name].primary_key]
    return select(*(_read(table, name) for name in columns)).order_by(*key)


def _read(table: Table, name: str) -> ColumnElement[Any]:
    """A column, with the meaning of NULL in databases made by older releases."""
    column = table.c[name]
    if name == "generation":
        return func.coalesce(column, literal_column("0"))
    if name == "root_provider_id":
        return func.coalesce(column, table.c.id)
    if table.name not in FLEET and column.nullable and name in ("name", "uuid"):
        return func.coalesce(column, literal_column("''"))
    return column
