"""The laws of demands that wait: none is lost, placed twice or after it ended, and none
before one that asks for the same and comes first.

Checked on plain rows and the text that they keep.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gantt.model import commands as c
from gantt.model import rows as t
from gantt.model.changes import LogEntry
from gantt.model.demand_queue import DemandEntry
from tests.simulation.history import Finding, Tables

_LOST = "no demand is lost while it waits"
_ONCE = "a demand is placed once, while it waits"
_ENDED = "a demand that ended stays so"
_LATE = "a demand ends at its time and not before"
_ORDER = "no demand is placed before one of its shape that comes first"
_Row = tuple[t.FactRow, DemandEntry]


def kept(
    before: Tables, after: Tables, command: c.Command[object] | None, entry: LogEntry
) -> Iterator[Finding]:
    """After ``command``; None: the leader's own."""
    was, now, at = _demands(before), _demands(after), entry.at
    for uuid, (row, old) in was.items():
        there = now.get(uuid)
        if there is None:
            if old.state == "waiting":
                yield Finding(_LOST, f"{row}")
        elif old.state != "waiting":
            if there[0] != row:
                yield Finding(_ENDED, f"{row} became {there[0]}")
        elif there[1].state == "late" and (row.at or 0) > at:
            yield Finding(_LATE, f"{row} ended at {at}")
        elif there[1].state == "placed":
            is_meant = not isinstance(command, c.Book) or command.demand == uuid
            if not is_meant or entry.kind != "Book" or not there[1].claim:
                yield Finding(_ONCE, f"{row} by {entry.kind} {command}")
            rank = (old.demand.priority, -(row.created_at or 0), -row.id)
            yield from _in_turn(was, old.shape, rank, at)
    if isinstance(command, c.Book):
        yield from _once(was, now, command)
        if not command.demand:
            rank = (command.priority, -(2**62), 0)
            yield from _in_turn(was, command.shape, rank, at)


def _once(
    was: dict[str, _Row], now: dict[str, _Row], command: c.Book
) -> Iterator[Finding]:
    """What was booked for a demand ended it."""
    if command.demand:
        mine, there = was.get(command.demand), now.get(command.demand)
        states = [one and one[1].state for one in (mine, there)]
        if states != ["waiting", "placed"]:
            yield Finding(_ONCE, f"{mine} became {there} by {command}")


def _in_turn(
    was: dict[str, _Row], shape: str, rank: tuple[int, int, int], at: int
) -> Iterator[Finding]:
    for row, entry in was.values():
        other = (entry.demand.priority, -(row.created_at or 0), -row.id)
        is_ahead = entry.state == "waiting" and entry.shape == shape and other > rank
        if is_ahead and (row.at or 0) > at:
            yield Finding(_ORDER, f"{row} was passed by one of {rank}")


def _demands(tables: Tables) -> dict[str, _Row]:
    return {
        row.subject: (row, msgspec.json.decode(row.reason or "", type=DemandEntry))
        for row in tables[t.FACTS].values()
        if isinstance(row, t.FactRow) and row.kind == "demand"
    }
