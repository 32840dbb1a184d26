"""What an engine reports for metrics as it happens, and what runs beside it.

Separate from the counts, which are read on request: how long each operation took cannot
be found out afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from gantt.model.selection import Decision


class StageTime(Struct, frozen=True):
    """A stage of a decision, from ``began_s`` to ``ended_s`` on the same clock."""

    stage: str
    began_s: float
    ended_s: float


class Observer(Protocol):
    """Called in the thread that did it, so it must be quick; it must not raise."""

    @property
    def origin(self) -> Callable[[], object] | None:
        """Says what the calling thread works on, which submits a command now; None:
        ``committed`` need not be told."""

    def committed(
        self, commands: int, seconds: float, origins: Sequence[object]
    ) -> None:
        """A batch of so many commands became durable; writing and committing took
        ``seconds``. ``origins``: what ``origin`` said of each, before."""

    @property
    def times_stages(self) -> Callable[[], bool] | None:
        """Says whether ``decided`` is to be told the stages of what the calling thread
        decides now; None: never."""

    def decided(self, decision: Decision, stages: Sequence[StageTime] = ()) -> None:
        """A request got its hosts, or none (``failure``). ``stages``: parts of its
        timing "decide", in seconds since that began; none unless asked for."""

    def searched(self, seconds: float, found: int) -> None:
        """A search for candidates answered so many."""

    def advised(self, outcome: str, seconds: float) -> None:
        """A caller got advice; ``outcome``: "decided", or why its own order stands."""


class Companion(Protocol):
    """What runs beside an engine in the same process, and answers operators with it.
    Called in any thread; neither waits nor raises."""

    def counts(self) -> Mapping[str, float]:
        """What it has done so far, and how it is, by name; for metrics."""

    def notice(self) -> str:
        """What operators should know although the engine is ready; "": nothing."""

    def withholds_reports(self) -> bool:
        """Whether reports of hosts cannot come by it now: then silence says nothing."""


class NoObserver:
    """Measures nothing."""

    origin: Callable[[], object] | None = None
    times_stages: Callable[[], bool] | None = None

    def committed(
        self, commands: int, seconds: float, origins: Sequence[object]
    ) -> None:
        """See Observer."""

    def decided(self, decision: Decision, stages: Sequence[StageTime] = ()) -> None:
        """See Observer."""

    def searched(self, seconds: float, found: int) -> None:
        """See Observer."""

    def advised(self, outcome: str, seconds: float) -> None:
        """See Observer."""
