"""Rows of a record come into a State, or are refused with the place where they are.

A record may have been edited, or two of them joined: then its rows do not fit those
before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Raw
from msgspec.structs import replace

from gantt.errors import Invalid
from gantt.model.changes import Change, Cursor
from gantt.model.facts import as_kept
from gantt.model.record import Applied, Rows
from gantt.model.rows import FACTS, SERVICES, Key, Row, key_of
from gantt.replay.process_records import row_of, rows_of, table_of
from gantt.state.state import State

_UNFIT: Final = (LookupError, TypeError, ValueError, OverflowError)
_LEAVE: Final = "Was the file edited? Leave it out."


def read_rows(line: Rows, where: str) -> dict[str, dict[Key, Row]]:
    """Rows of a snapshot by table and key. Raises Invalid, which begins with
    ``where``."""
    try:
        read = rows_of(line)
    except Invalid as error:
        raise Invalid(f"{where}: {error.message}") from error
    table = table_of(line.table)
    found: dict[str, dict[Key, Row]] = {table: {}}
    for key, row in read.items():
        one = as_kept(Change(table, key, None, row))
        if one.new is not None:
            found.setdefault(one.table, {})[key] = one.new
    return found


def keep_change(rows: dict[str, dict[Key, Row]], change: Change, where: str) -> None:
    """Make ``change`` in ``rows``, by table. Raises Invalid for the deletion of a row
    that is not there."""
    mine = rows[change.table]
    if change.table == SERVICES and change.key in rows[FACTS]:
        mine = rows[FACTS]
    if change.new is not None:
        mine[change.key] = change.new
    elif mine.pop(change.key, None) is None:
        raise Invalid(
            f"{where}: no row of {change.table} has the key {change.key}, which is "
            f"deleted. {_LEAVE}"
        )


def load_line(state: State, line: Rows, where: str) -> None:
    """Rows of a snapshot. Raises Invalid, which begins with ``where``."""
    found = read_rows(line, where)
    try:
        for table, rows in found.items():
            state.load(table, list(rows.values()))
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
    at, facts = 0, state.fleet.facts.by_id

    def each() -> Iterator[Change]:
        nonlocal at
        for at, change in enumerate(changes):  # noqa: B007
            is_fact = change.table == SERVICES and change.key in facts
            yield replace(change, table=FACTS) if is_fact else change

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
    table = table_of(table)
    try:
        row = row_of(table, raw)
    except Invalid as error:
        raise Invalid(f"{where}: {error.message}") from error
    if row is not None and key_of(row) != key:
        raise Invalid(
            f"{where} of {table} has the key {key}, but its row is {key_of(row)}. "
            f"{_LEAVE}"
        )
    return as_kept(Change(table, key, None, row))
