"""Metrics that follow counts which others keep.

Separate from the metrics of one service, so that each names only those that it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

# Of all processes together: the newest, the sum, or each by its number.
NEWEST: Final = "livemax"
SUM: Final = "livesum"
EACH: Final = "liveall"

NO_NAMES: Final[Mapping[str, str]] = {}


class Mirrored:
    """Gauges and counters in ``registry``, named ``gantt_<name of the count>``.

    ``gauges``: help texts by name, for each way to add up processes; ``names``: counts
    whose metric has another name. Not safe for concurrent use.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        gauges: Mapping[str, Mapping[str, str]],
        counters: Mapping[str, str],
        names: Mapping[str, str] = NO_NAMES,
    ) -> None:
        self._gauges = {
            name: Gauge(
                f"gantt_{name}",
                text,
                registry=registry,
                multiprocess_mode=mode,  # type: ignore[arg-type]
            )
            for mode, texts in gauges.items()
            for name, text in texts.items()
        }
        self._counters = {
            name: Counter(f"gantt_{names.get(name, name)}", text, registry=registry)
            for name, text in counters.items()
        }
        self._seen = dict.fromkeys(counters, 0.0)

    def update(self, counts: Mapping[str, float]) -> None:
        """Follow ``counts``; a counter never falls."""
        for name, gauge in self._gauges.items():
            if name in counts:
                gauge.set(counts[name])
        for name, counter in self._counters.items():
            more = counts.get(name, 0.0) - self._seen[name]
            if more > 0:
                counter.inc(more)
                self._seen[name] += more
