"""What an agent answers to monitoring: its counts, and whether it is heard.

Separate from the metrics of a service, of which an agent has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

COUNTERS: Final = {
    "reports_sent": "Reports that were sent, repeated ones included.",
    "reports_full": "Those of them that were full.",
    "reports_known": "Reports that the service answered to have.",
    "reports_refused": "Reports that it refused.",
    "reports_superseded": "Reports that it ignored because another agent reports this "
    "host.",
    "attempts_failed": "Attempts that the service did not answer.",
    "unreadable": "Files, and collectors, that could not be read.",
    "stream_delivered": "Reports that Kafka has.",
    "stream_undelivered": "Attempts to write a report that Kafka did not confirm.",
    "stream_fallbacks": "Reports that went to the service instead.",
}
GAUGES: Final = {
    "failures_in_a_row": "Attempts since the service answered last.",
    "stream_waiting": "Reports that wait for Kafka: the newest one, or none.",
}
_PREFIX: Final = "gantt_agent_"


class AgentSigns(Collector):
    """See ``endpoint.Monitored``. ``counts``: those of ``agent.loop.Agent``, and
    of ``stream.producing.ReportStream`` where there is one."""

    def __init__(self, counts: Callable[[], Mapping[str, float]]) -> None:
        self._counts = counts
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def collect(self) -> Iterator[Metric]:
        counts = self._counts()
        for name, text in COUNTERS.items():
            if name in counts:
                yield CounterMetricFamily(_PREFIX + name, text, value=counts[name])
        for name, text in GAUGES.items():
            if name in counts:
                yield GaugeMetricFamily(_PREFIX + name, text, value=counts[name])

    def metrics(self) -> bytes:
        """The exposition."""
        return generate_latest(self._registry)

    def unready(self) -> str:
        """Why the agent is not heard; "": it is."""
        failures = int(self._counts()["failures_in_a_row"])
        return f"the last {failures} reports were not answered" if failures else ""

    def notice(self) -> str:
        """Nothing more."""
        return ""
