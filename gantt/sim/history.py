"""What was asked and answered, in the order of one clock that nobody in it could see.

The checker reads nothing else but this and the log, so that a history can also be made
by hand, or by another system.
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
    it, "unknown": StoreFailed, "broken": an error that is not of our tree."""

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
        """What the log calls it."""
        return f"op-{self.number}"


class Read(Struct):
    """All rows as one process showed them; ``is_strict``: it promised the newest."""

    number: int
    process: str
    invoked: int
    ended: int
    cursor: Cursor
    tables: Tables
    is_strict: bool
    bound_ticks: int = 0


class History(Struct):
    """A run, as far as anybody outside could see it, the whole log, and the end.

    ``problems``: what verifying at the end found, and what stood still.
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
    """A law that a history breaks, and where."""

    law: str
    text: str

    def __str__(self) -> str:
        return f"{self.law}: {self.text}"
