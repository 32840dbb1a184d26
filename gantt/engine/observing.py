"""What an engine reports for metrics as it happens.

Separate from the counts, which are read on request: how long each operation took cannot
be found out afterwards.
"""

from __future__ import annotations

from typing import Protocol

from gantt.model.selection import Decision


class Observer(Protocol):
    """Called in the thread that did it, so it must be quick; it must not raise."""

    def committed(self, commands: int, seconds: float) -> None:
        """A batch of so many commands became durable; writing and committing took
        ``seconds``."""

    def decided(self, decision: Decision) -> None:
        """A request got its hosts, or none (``failure``)."""

    def searched(self, seconds: float, found: int) -> None:
        """A search for candidates answered so many."""

    def advised(self, outcome: str, seconds: float) -> None:
        """A caller got advice; ``outcome``: "decided", or why its own order stands."""


class Silence:
    """Measures nothing."""

    def committed(self, commands: int, seconds: float) -> None:
        """See Observer."""

    def decided(self, decision: Decision) -> None:
        """See Observer."""

    def searched(self, seconds: float, found: int) -> None:
        """See Observer."""

    def advised(self, outcome: str, seconds: float) -> None:
        """See Observer."""
