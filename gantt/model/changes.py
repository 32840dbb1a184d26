"""Row-level facts: what changed, at which revision.

Changes are what the committer applies, what the log keeps and what a log tailer
replays; they are separate from commands, which are only requests.
"""

from __future__ import annotations

from msgspec import Struct

from gantt.model.rows import Key, Row


class Change(Struct, frozen=True, gc=False):
    """One row changed from ``old`` to ``new``; None means no row."""

    table: str
    key: Key
    old: Row | None
    new: Row | None

    def inverse(self) -> Change:
        """The change that undoes this one."""
        return Change(self.table, self.key, self.new, self.old)


class Cursor(Struct, frozen=True, gc=False):
    """A position in the log: a revision and the batch that wrote it.

    The batch distinguishes two histories that share a revision number.
    Revision 0 with an empty batch is the start of every log.
    """

    revision: int = 0
    batch: str = ""

    def __str__(self) -> str:
        return f"{self.revision}-{self.batch[:8]}"


class LogEntry(Struct, frozen=True):
    """One revision as the log keeps it; ``changes`` carry new values only."""

    revision: int
    batch: str
    at: int
    kind: str
    request_id: str
    changes: tuple[Change, ...]
