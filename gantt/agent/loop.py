"""The life of an agent: collect, report, wait, until it is told to stop.

Separate from what it says (``reporter``). While the service is away it asks less and
less often, by a random part, so that thousands of agents do not come back at once; one
report waits meanwhile, however long that takes.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from gantt.agent.collectors.contract import Collector, Part
from gantt.agent.files import FileProblem
from gantt.agent.machine import ROOT, describe
from gantt.agent.reporter import Reporter
from gantt.errors import GanttError, Invalid, Unavailable
from gantt.model.reports import Report
from gantt.model.scheduling import ReportService

LOG = logging.getLogger(__name__)
_US: Final = 1_000_000


class Pace(Struct, frozen=True):
    """Seconds. ``interval``: between reports; ``most``: between attempts while the
    service is away; ``jitter``: the random part of every wait."""

    interval: float = 10.0
    most: float = 300.0
    jitter: float = 0.1

    def wait(
        self, failures: int, rng: random.Random, beat_s: float | None = None
    ) -> float:
        """How long to wait after so many failures in a row. ``beat_s``: seconds in
        which the service wants to hear of the host, which is down after three of
        them."""
        interval, most = self.interval, self.most
        if beat_s is not None:
            interval, most = min(interval, beat_s), min(most, 3 * beat_s)
        doubled = interval * 2.0 ** min(failures, 32)
        wait = min(doubled, max(most, interval)) if failures else doubled
        # Half of a long wait is random: all agents of a fleet lost the service at once.
        part = 0.5 if failures else self.jitter
        return wait * (1 - part * rng.random())


PACE: Final = Pace()


class Agent:
    """Reports one machine to ``service``. ``now``: microseconds since 1970; ``sleep``
    waits so many seconds, and says whether to stop."""

    def __init__(
        self,
        service: ReportService,
        reporter: Reporter,
        collectors: Iterable[Collector],
        *,
        root: Path = ROOT,
        pace: Pace = PACE,
        now: Callable[[], int],
        sleep: Callable[[float], bool],
        rng: random.Random | None = None,
    ) -> None:
        self._service = service
        self._reporter = reporter
        self._collectors = tuple(collectors)
        self._root = root
        self._pace = pace
        self._now = now
        self._sleep = sleep
        self._rng = rng or random.SystemRandom()
        self._failures = 0
        self._beat_s: float | None = None
        self._wants_again = False
        self._said: set[str] = set()
        self._counts: Counter[str] = Counter()

    def run(self) -> None:
        """Report until ``sleep`` says to stop."""
        while True:
            self.report()
            wait = self._pace.wait(self._failures, self._rng, self._beat_s)
            if self._sleep(wait):
                return

    def report(self) -> bool:
        """Collect and report once, again where a full report is asked for; whether the
        service has it."""
        try:
            is_known = self._report()
        except Unavailable as error:
            self._failed("the service is away", error)
            return False
        except GanttError as error:
            # A wrong token, or a service of before reports: an operator may mend it.
            self._reporter.turned_away()
            self._failed("the service refuses this agent", error)
            return False
        if self._failures:
            LOG.info("The service answers again after %d attempts.", self._failures)
        self._failures = 0
        return is_known

    def learn_needs(self) -> None:
        """Ask what is to be reported. Raises Unavailable, Invalid."""
        self._reporter.needs = self._service.needs()

    def draft(self) -> tuple[Report, tuple[FileProblem, ...]]:
        """What would be sent now, and what cannot be read."""
        part = self._collected()
        return self._reporter.next(part, self._now()), part.problems

    def counts(self) -> dict[str, float]:
        """What happened since it started, by name; for metrics."""
        return {
            **{
                name: self._counts[name]
                for name in (
                    "reports_sent",
                    "reports_full",
                    "reports_known",
                    "reports_refused",
                    "reports_superseded",
                    "attempts_failed",
                    "unreadable",
                )
            },
            "failures_in_a_row": self._failures,
        }

    def _report(self) -> bool:
        # What was sent before and not answered, then what is true now.
        if self._reporter.is_waiting:
            self._exchange(Part())
        if self._reporter.needs is None:
            self.learn_needs()
        part = self._collected()
        return self._exchange(part) or self._exchange_again(part)

    def _exchange_again(self, part: Part) -> bool:
        if not self._wants_again:
            return False
        if self._reporter.needs is None:
            self.learn_needs()
        return self._exchange(part)

    def _exchange(self, part: Part) -> bool:
        """Send what is to be said of ``part``; whether the service has it."""
        report = self._reporter.next(part, self._now())
        self._counts["reports_sent"] += 1
        self._counts["reports_full"] += report.full
        outcomes = self._service.report_hosts([report])
        if len(outcomes) != 1:
            raise Invalid(f"One report was sent, and {len(outcomes)} were answered.")
        outcome = outcomes[0]
        self._beat_s = outcome.beat_s
        answer = self._reporter.settle(outcome)
        self._wants_again = answer == "again"
        if answer == "known":
            self._counts["reports_known"] += 1
            self._said.discard("refused")
        elif answer == "superseded":
            self._counts["reports_superseded"] += 1
            self._say_once("superseded", "%s", outcome.message)
        else:
            self._counts["reports_refused"] += 1
            level = logging.INFO if outcome.wants_full else logging.ERROR
            LOG.log(level, "Report refused (%s): %s", outcome.code, outcome.message)
        return answer == "known"

    def _collected(self) -> Part:
        part = describe(self._collectors, self._root)
        self._counts["unreadable"] += len(part.problems)
        for problem in part.problems:
            self._say_once(str(problem), "Cannot read %s", problem)
        return part

    def _failed(self, what: str, error: GanttError) -> None:
        self._failures += 1
        self._counts["attempts_failed"] += 1
        if self._failures == 1:
            LOG.warning("No report: %s. %s", what, error.message)

    def _say_once(self, key: str, text: str, *given: Any) -> None:
        """A line the first time; every interval would fill the log."""
        if key not in self._said and len(self._said) < 1000:
            self._said.add(key)
            LOG.warning(text, *given)
