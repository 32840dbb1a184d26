"""Require the metrics that MetricsWeigher reads."""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools


class MetricsFilter(Filter):
    """The host reports all metrics in ``metrics_weight_setting``."""

    cacheable = Cacheable(needs=("factor:metrics",), reads=(), elementwise=True)
    reads_metrics_of_options = True

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        mask = np.ones(len(hosts), np.bool_)
        for name in request.options.metrics_weight_setting:
            codes, _ = hosts.reported("metrics", name, "name")
            mask &= codes != 0
        return mask
