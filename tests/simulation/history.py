"""The commands and answers of a run, in the order of one clock that is hidden from
them.

The checker reads only this and the log, so that a history can also be written by hand,
or by another system.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

from gantt.model.changes import Cursor, LogEntry
from gantt.model.commands import Command
from gantt.model.rows import ROW_TYPES, Key, Row

Tables = dict[str, dict[Key, Row]]
Outcome = Literal["open", "ok", "refused", "unknown", "broken"]


class Op(Struct):
    """One command. ``invoked`` and ``ended`` are ticks; "open": the process died under
    it, "unknown": StoreFailed, "broken": an error that is not a GanttError."""

    number: int
    process: str
    command: Command[object]
    invoked: int
    ended: int | None = None
    outcome: Outcome = "open"
    answer: Any = None
    error: str = ""
    text: str = ""

    @property
    def request_id(self) -> str:
        """Its request id in the log."""
        return f"op-{self.number}"


class Read(Struct):
    """All rows as one process read them; ``is_strict``: a strict read."""

    number: int
    process: str
    invoked: int
    ended: int
    cursor: Cursor
    tables: Tables
    is_strict: bool


class History(Struct):
    """The observable history of a run, the whole log, and the final tables.

    ``problems``: findings of the final verification, and stuck actors.
    """

    ops: list[Op] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    log: list[LogEntry] = field(default_factory=list)
    tables: Tables = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def empty_tables() -> Tables:
    """No rows yet."""
    return {name: {} for name in ROW_TYPES}


class Finding(Struct, frozen=True):
    """A violation of a law in a history."""

    law: str
    text: str

    def __str__(self) -> str:
        return f"{self.law}: {self.text}"
