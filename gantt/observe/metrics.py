"""What an engine has done and where its limits stand, in Prometheus' words.

Apart from the engine, which only counts: names and help texts are for people who look
at many services at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_GAUGES = {
    "revision": "Last durable revision that this process knows.",
    "queue_length": "Commands that wait for the gate.",
    "queue_limit": "Commands that may wait for the gate (queue_length).",
    "batch_limit": "Commands that one commit may hold (batch_size).",
    "search_limit": "Steps that one search may take (search_budget).",
    "log_limit": "Revisions that the log keeps (log_length).",
}
_COUNTERS = {
    "batches": "Batches that went through the gate.",
    "commands": "Commands that went through the gate, refused ones included.",
    "refusals": "Commands that a rule refused.",
    "busy": "Commands turned away because the queue was full.",
    "aborts": "Batches that the database aborted, to be planned again.",
    "unknown_outcomes": "Commits whose answer was lost.",
    "foreign_writes": "Times that somebody else was found to write to the tables.",
    "compacted": "Old revisions that this process dropped from the log.",
    "commit_seconds": "Seconds spent in writing and committing.",
    "reloads": "Times that all tables were loaded again.",
    "searches_cut": "Searches for candidates that met their limit.",
}


class _EngineCollector(Collector):
    """Reads the counts when somebody asks for them."""

    def __init__(self, counts: Callable[[], dict[str, float]]) -> None:
        self._counts = counts

    def collect(self) -> Iterable[Metric]:
        counts = self._counts()
        for name, text in _GAUGES.items():
            yield GaugeMetricFamily(f"gantt_{name}", text, value=counts[name])
        for name, text in _COUNTERS.items():
            yield CounterMetricFamily(f"gantt_{name}", text, value=counts[name])


def exposition(counts: Callable[[], dict[str, float]]) -> Callable[[], bytes]:
    """A function that writes all metrics as they are when it is called."""
    registry = CollectorRegistry()
    registry.register(_EngineCollector(counts))
    return lambda: generate_latest(registry)
