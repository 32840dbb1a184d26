"""A copy of the books, made of the messages of the topic alone: for readers.

Knows nothing of Kafka: give it each value that a consumer of committed messages reads.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from gantt.errors import Gone
from gantt.model.rows import Key
from gantt.stream.changes.messages import (
    Begin,
    End,
    Message,
    Revision,
    SnapshotRows,
    decode,
)

Tables: TypeAlias = dict[str, dict[Key, dict[str, Any]]]


class Copy:
    """``tables``: table -> key -> row, as of ``revision``, which is None until the
    first snapshot, or the revision 1, was read."""

    def __init__(self) -> None:
        self.tables: Tables = {}
        self.revision: int | None = None
        self._books: str | None = None
        self._coming: tuple[str, Tables] | None = None

    def take(self, value: bytes) -> Message:
        """Apply the next message of the topic; it is returned. Raises Invalid, and Gone
        where a revision is missing: then read from the last ``begin`` on."""
        message = decode(value)
        match message:
            case Begin():
                self._coming = (message.id, {})
            case SnapshotRows() if (
                self._coming is not None and self._coming[0] == message.id
            ):
                self._apply(self._coming[1], message)
            case End() if self._coming is not None and self._coming[0] == message.id:
                self.tables, self.revision = self._coming[1], message.revision
                self._books, self._coming = message.books, None
            case Revision():
                self._follow(message)
        return message

    def _follow(self, message: Revision) -> None:
        if self.revision is None:
            if (message.revision, message.part) != (1, 1):
                return  # a snapshot will follow
            self._books, self.revision = message.books, 0
        expected = self.revision + 1
        if (message.books, message.revision) != (self._books, expected):
            raise Gone(
                f"Revision {expected} of {self._books} was expected, and this is "
                f"{message.revision} of {message.books}. Read from a message 'begin' "
                "on."
            )
        self._apply(self.tables, message)
        if message.part == message.parts:
            self.revision = message.revision

    @staticmethod
    def _apply(tables: Tables, message: Revision | SnapshotRows) -> None:
        for change in message.changes:
            table = tables.setdefault(change.table, {})
            if change.row is None:
                table.pop(change.key, None)
            else:
                table[change.key] = change.row
