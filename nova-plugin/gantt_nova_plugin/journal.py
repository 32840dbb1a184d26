"""Counts what happens, and tells the log of each change, not of each request."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable

from gantt_nova_plugin.settings import Settings

LOG = logging.getLogger("gantt_nova_plugin")

# Between two lines with the counters, and between two lines about single failures.
COUNTERS_EVERY_S = 300.0
FAILURES_EVERY_S = 60.0


class Journal:
    """Of one process. Safe for threads; says nothing of hosts, bodies or tokens."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._told: tuple[object, ...] | None = None
        self._counters_at = clock()
        self._is_failing = False
        self._quiet_until = clock()

    def count(self, name: str, number: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[name] += number

    def counters(self) -> dict[str, int]:
        """All counters since this process began, by name."""
        with self._lock:
            return dict(self._counts)

    def settings(self, settings: Settings) -> None:
        """Note what the plug-in works with; the log hears of it when it changes."""
        if self._is_news((settings.url, settings.mode)):
            LOG.info("Gantt: mode %s, at %s", settings.mode, settings.url)

    def invalid(self, what: str) -> None:
        """Note settings that cannot be worked with."""
        self.count("failed_settings")
        if self._is_news((what,)):
            LOG.error("Gantt is not asked: [gantt] %s", what)

    def answered(self, *, is_decided: bool) -> None:
        """Note an answer."""
        with self._lock:
            self._counts["answered" if is_decided else "undecided"] += 1
            self._is_failing = False

    def failed(self, kind: str, what: str) -> None:
        """Note a failure; the log hears of the first after an answer, and of one in a
        minute at most."""
        with self._lock:
            self._counts["failed_" + kind] += 1
            now = self._clock()
            is_news = not self._is_failing and now >= self._quiet_until
            self._is_failing = True
            if is_news:
                self._quiet_until = now + FAILURES_EVERY_S
        level = logging.WARNING if is_news else logging.DEBUG
        LOG.log(level, "Gantt gave no advice (%s): %s", kind, what)

    def opened(self, seconds: float) -> None:
        """The breaker has opened."""
        LOG.warning(
            "Gantt fails again and again: scheduling goes on without it, and it is "
            "asked again in %g s; until now: %s",
            seconds,
            self._summary(),
        )

    def closed(self) -> None:
        """The breaker has closed."""
        LOG.info("Gantt answers again; until now: %s", self._summary())

    def tell_counters(self) -> None:
        """One line with all counters, if the last one is long ago."""
        with self._lock:
            now = self._clock()
            if now - self._counters_at < COUNTERS_EVERY_S:
                return
            self._counters_at = now
        LOG.info("Gantt since this process began: %s", self._summary())

    def _is_news(self, state: tuple[object, ...]) -> bool:
        with self._lock:
            is_news = state != self._told
            self._told = state
            return is_news

    def _summary(self) -> str:
        counters = sorted(self.counters().items())
        return ", ".join(f"{name}={number}" for name, number in counters) or "nothing"
