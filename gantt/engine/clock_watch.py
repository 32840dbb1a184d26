"""Finds a clock that is off, and says whose: this machine's, or the one of the books.

Separate from ``clock``, which only tells the time. That one host's clock is off is said
to that host (``Reporting``); where many hosts differ, it is not theirs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from statistics import median
from typing import Final

from gantt.engine.clock import BooksClock
from gantt.engine.scheduling.argument_checks import Checks

LOG = logging.getLogger(__name__)

_WINDOW_S: Final = 60.0
_HOSTS: Final = 10_000
"""Hosts of which it is known whether their clocks are off; more tell nothing new."""
_MANY: Final = 2


class ClockWatch:
    """A companion of the engine. ``ask``: for the time at the database."""

    def __init__(
        self, clock: BooksClock, checks: Checks, ask: Callable[[], int | None]
    ) -> None:
        self._clock = clock
        self._checks = checks
        self._ask = ask
        self._since = clock.monotonic()
        # Host -> seconds by which its clock is ahead, 0 where that is not too much.
        self._judged: dict[str, float] = {}
        self._before: dict[str, float] = {}
        self._text = ""

    @property
    def whose(self) -> str:
        """The clock that the books go by."""
        return "this machine's" if self._clock.is_own else "the database's"

    def judged(self, host: str, ahead_s: float) -> None:
        """A host reported whose clock is ahead by so much, behind if negative; 0: not
        by too much."""
        if len(self._judged) < _HOSTS or host in self._judged:
            self._judged[host] = ahead_s

    def look(self) -> None:
        """Ask the database for the time, and log what changed. Raises StoreFailed."""
        self._clock.refresh(self._ask)
        if self._clock.monotonic() - self._since >= _WINDOW_S:
            self._since = self._clock.monotonic()
            self._before, self._judged = self._judged, {}
        text = "; ".join(one for one in (self._of_machine(), self._of_hosts()) if one)
        if text and not self._text:
            LOG.warning("%s", text)
        elif self._text and not text:
            LOG.info("the clocks agree again")
        self._text = text

    def counts(self) -> dict[str, float]:
        """See Companion."""
        found = self._hosts()
        return {
            "clock_ahead_seconds": self._clock.ahead_s,
            "clock_hosts": len(found),
            "clock_hosts_off": sum(1 for off_s in found.values() if off_s),
        }

    def notice(self) -> str:
        """See Companion."""
        return self._text

    def withholds_reports(self) -> bool:
        """See Companion."""
        return False

    def _hosts(self) -> dict[str, float]:
        return self._before | self._judged

    def _of_machine(self) -> str:
        ahead_s, most_s = self._clock.ahead_s, self._checks.options.service_down_time
        if abs(ahead_s) <= most_s:
            return ""
        return (
            f"the clock of this machine is {_apart(ahead_s)} the database's, which the "
            "books go by: correct it"
        )

    def _of_hosts(self) -> str:
        found = self._hosts()
        off = [off_s for off_s in found.values() if off_s]
        if len(off) < _MANY or 2 * len(off) <= len(found):
            return ""
        return (
            f"the clocks of {len(off)} of {len(found)} hosts are {_apart(median(off))} "
            f"{self.whose}, which the books go by, and their reports are refused: "
            f"correct {self.whose} clock"
        )


def _apart(ahead_s: float) -> str:
    return f"{abs(ahead_s):.0f} s {'ahead of' if ahead_s > 0 else 'behind'}"
