"""Rank hosts by their metrics, each multiplied by its configured factor.

The effect of a missing metric depends on the multiplier.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gantt import errors
from gantt.scheduler.contract import Cacheable, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.scoring import host_weights
from gantt.state.column import Bools, Floats

PERCENTAGES = frozenset(
    f"cpu.{kind}percent" for kind in ("", "user.", "kernel.", "idle.", "iowait.")
)
"""Metrics that are reported as fractions and read as whole percent."""


class MetricsWeigher(Weigher):
    """The score is the sum over ``metrics_weight_setting`` of value times factor."""

    cacheable = Cacheable(needs=("factor:metrics",), reads=(), elementwise=True)
    reads_metrics_of_options = True
    option = "metrics_weight_multiplier"

    def is_neutral(self, request: Request) -> bool:
        return not request.options.metrics_weight_setting

    def score(self, hosts: Hosts, request: Request) -> Floats:
        setting = request.options.metrics_weight_setting
        if not setting:
            return np.zeros(len(hosts))
        codes, reports = hosts.reported("metrics")
        known: dict[int, dict[str, int]] = {
            code: values_of(reports[code]) for code in np.unique(codes).tolist()
        }
        scores = np.zeros(len(hosts))
        is_settled = np.zeros(len(hosts), np.bool_)
        column = np.zeros(len(reports))
        for name, ratio in setting.items():
            column[:] = np.nan
            for code, values in known.items():
                if name in values:
                    column[code] = values[name] * ratio
            part = column[codes]
            is_missing = np.isnan(part)
            if is_missing.any():
                is_lost = self._lost(hosts, request, is_missing, name, ratio)
                is_lost &= ~is_settled
                scores[is_lost] = request.options.metrics_weight_of_unavailable
                is_settled |= is_lost
                part[is_missing] = 0.0
            scores[~is_settled] += part[~is_settled]
        return scores

    def _lost(
        self,
        hosts: Hosts,
        request: Request,
        is_missing: Bools,
        name: str,
        ratio: float,
    ) -> Bools:
        """bool[n]: hosts that rank last because they lack the metric ``name``."""
        if request.options.metrics_required:
            place = int(is_missing.argmax())
            raise errors.Invalid(
                f"[metrics] weight_setting names {name!r}, which host "
                f"{hosts.names[place]} ({hosts.nodes[place]}) does not report. Let it "
                "report the metric, enable MetricsFilter, or set [metrics] required "
                "to false."
            )
        factor = host_weights.multipliers(hosts, self, request.options)
        found: Bools = is_missing & (np.asarray(ratio * factor) != 0.0)
        return found


def values_of(report: Any) -> dict[str, int]:
    """Metric -> value as whole number, of what a host reports as ``metrics``. What has
    no number is left out."""
    found: dict[str, int] = {}
    for metric in report if isinstance(report, list) else ():
        if not isinstance(metric, dict):
            continue
        name, value = metric.get("name"), metric.get("value")
        if isinstance(name, str) and isinstance(value, int | float):
            found[name] = int(value * 100 if name in PERCENTAGES else value)
    return found
