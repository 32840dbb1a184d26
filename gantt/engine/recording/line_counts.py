"""What became of decisions: what readers of files see, and what is in no file.

Separate from the files and from what writes them, since both lose decisions. Nothing is
counted before readers can see it: a disk may be full until then.
"""

from __future__ import annotations

from msgspec import Struct

from gantt.engine.recording.entry_queue import EntryQueue
from gantt.engine.recording.record_lines import text
from gantt.model.record import Line


class LineTally(Struct):
    """What some lines hold: ``decisions`` that begin there, and how many they tell that
    were ``dropped``."""

    decisions: int = 0
    dropped: int = 0

    def add(self, other: LineTally) -> None:
        """Count these too."""
        self.decisions += other.decisions
        self.dropped += other.dropped

    def take(self) -> LineTally:
        """What was counted; it begins again from 0."""
        found = LineTally(self.decisions, self.dropped)
        self.decisions = self.dropped = 0
        return found


class LineBatch:
    """``lines`` on their way to a file, and the ``tally`` of them."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.tally = LineTally()
        self._counted = 0

    def count(self, made: int) -> None:
        """So many decisions were begun in lines so far, here the latest."""
        self.tally.decisions += made - self._counted
        self._counted = made

    def clear(self, made: int) -> LineTally:
        """Leave the lines out; what they told."""
        self.count(made)
        self.lines.clear()
        return self.tally.take()

    def take(self) -> tuple[bytes, LineTally]:
        """All of it, as a file takes it; it is empty then."""
        found = text(self.lines)  # where this fails, nothing was taken
        self.lines.clear()
        return found, self.tally.take()

    def hand_to(self, other: LineBatch) -> None:
        """Add all of it there; it is empty then."""
        other.lines += self.lines
        self.lines.clear()
        other.tally.add(self.tally.take())


class Account:
    """``decisions``, packed ``size`` and ``files`` that readers see, of all files of a
    process; ``number``: of the last of them. ``lost``: decisions in no file, which no
    file tells yet; they count as dropped on ``queue``."""

    def __init__(self, queue: EntryQueue) -> None:
        self._queue = queue
        self.decisions = self.size = self.files = self.number = 0
        self.lost = 0

    def counts(self) -> dict[str, float]:
        """For metrics."""
        return {
            "recorded": self.decisions,
            "recorded_bytes": self.size,
            "recorded_files": self.files,
        }

    def show(self, size: int, tally: LineTally) -> None:
        """Readers see so many bytes more, and what is in them."""
        self.size += size
        self.decisions += tally.decisions

    def show_file(self, number: int) -> None:
        """Readers see one file more; so its number is taken."""
        self.files += 1
        self.number = number

    def lose(self, tally: LineTally) -> None:
        """What was counted there is in no file."""
        self._queue.dropped += tally.decisions
        self.lost += tally.decisions + tally.dropped

    def take_lost(self) -> int:
        """How many a file is to tell now."""
        lost, self.lost = self.lost, 0
        return lost
