"""What a program that launches instances answers to monitoring.

Separate from the metrics of a service, which decides where instances run, and never
starts one.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

_BUCKETS: Final = (0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)


class LaunchSigns:
    """See ``endpoint.Monitored`` and ``launch.launching.Observer``."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._attempts = Counter(
            "gantt_launch_attempts",
            "Hosts that were tried, by outcome: running, or what failed (claim, "
            "launch, timeout, confirm).",
            ("outcome",),
            registry=self._registry,
        )
        self._instances = Counter(
            "gantt_launch_instances",
            "Instances whose launch ended: running, or given_up after every attempt.",
            ("outcome",),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "gantt_launch_seconds",
            "Seconds from the first attempt until an instance ran or was given up.",
            ("outcome",),
            buckets=_BUCKETS,
            registry=self._registry,
        )

    def tried(self, outcome: str) -> None:
        """One host was tried."""
        self._attempts.labels(outcome).inc()

    def ended(self, outcome: str, seconds: float) -> None:
        """One instance runs, or was given up."""
        self._instances.labels(outcome).inc()
        self._seconds.labels(outcome).observe(seconds)

    def metrics(self) -> bytes:
        """The exposition."""
        return generate_latest(self._registry)

    def unready(self) -> str:
        """It always is ready."""
        return ""

    def notice(self) -> str:
        """Nothing more."""
        return ""
