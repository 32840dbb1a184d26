"""Rows of a record come into a State, or are refused with the place where they are.

A record may have been edited, or two of them joined: then its rows do not fit those
before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Raw

from gantt.errors import Invalid
from gantt.model.changes import Change, Cursor
from gantt.model.record import Applied, Rows
from gantt.model.rows import Key, Row, key_of
from gantt.replay.process_records import row_of, rows_of
from gantt.state.state import State

_UNFIT: Final = (LookupError, TypeError, ValueError, OverflowError)
_LEAVE: Final = "Was the file edited? Leave it out."


def read_rows(line: Rows, where: str) -> dict[Key, Row]:
    """Rows of a snapshot by their keys. Raises Invalid, which begins with ``where``."""
    try:
        return rows_of(line)
    except Invalid as error:
        raise Invalid(f"{where}: {error.message}") from error


def keep_change(rows: dict[str, dict[Key, Row]], change: Change, where: str) -> None:
    """Make ``change`` in ``rows``, by table. Raises Invalid for the deletion of a row
    that is not there."""
    mine = rows[change.table]
    if change.new is not None:
        mine[change.key] = change.new
    elif mine.pop(change.key, None) is None:
        raise Invalid(
            f"{where}: no row of {change.table} has the key {change.key}, which is "
            f"deleted. {_LEAVE}"
        )


def load_line(state: State, line: Rows, where: str) -> None:
    """Rows of a snapshot. Raises Invalid, which begins with ``where``."""
    rows = list(read_rows(line, where).values())
    try:
        state.load(line.table, rows)
    except _UNFIT as error:
        raise Invalid(
            f"{where}: the rows of {line.table} do not fit those before them "
            f"({error!r}). {_LEAVE}"
        ) from error


def apply_line(state: State, line: Applied, where: str) -> None:
    """Rows that changed. Raises Invalid, which begins with ``where`` and names the
    change by its place in the line."""
    changes = [
        change_of(f"{where}: changes[{at}]", *one)
        for at, one in enumerate(line.changes)
    ]
    at = 0

    def each() -> Iterator[Change]:
        nonlocal at
        for at, change in enumerate(changes):  # noqa: B007
            yield change

    try:
        state.apply(each(), Cursor(line.revision, line.batch))
    except _UNFIT as error:
        one = changes[at]
        raise Invalid(
            f"{where}: changes[{at}] of {one.table}, key {one.key}, does not fit the "
            f"rows before it ({error!r}). {_LEAVE}"
        ) from error


def change_of(where: str, table: str, key: Key, raw: Raw) -> Change:
    """One change of a line. Raises Invalid, which begins with ``where``."""
    try:
        row = row_of(table, raw)
    except Invalid as error:
        raise Invalid(f"{where}: {error.message}") from error
    if row is not None and key_of(row) != key:
        raise Invalid(
            f"{where} of {table} has the key {key}, but its row is {key_of(row)}. "
            f"{_LEAVE}"
        )
    return Change(table, key, None, row)
