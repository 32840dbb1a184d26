"""How many more fit, over HTTP: of one flavor or several, what rules cost, until when.

Beside decisions, because nothing is decided or claimed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gantt.client import decode
from gantt.client.native import Native
from gantt.model.capacity import By, FairSplit, Forecast, Prices
from gantt.model.forms import values
from gantt.model.selection import Capacity
from gantt.model.spec import RequestSpec


class RemoteCapacity(Native):
    """See ``SchedulerProtocol``."""

    def capacity(self, spec: RequestSpec) -> Capacity:
        body = {"request_spec": values.spec(spec)}
        return decode.native(self._native("POST", "capacity", body=body), Capacity)

    def fair_split(
        self,
        specs: Sequence[RequestSpec],
        weights: Sequence[float] | None = None,
        *,
        by: By = "fleet",
    ) -> FairSplit:
        body: dict[str, Any] = {
            "request_specs": [values.spec(one) for one in specs],
            "by": by,
        }
        if weights is not None:
            body["weights"] = list(weights)
        return decode.native(
            self._native("POST", "capacity", "fair", body=body), FairSplit
        )

    def rule_prices(self, spec: RequestSpec) -> Prices:
        body = {"request_spec": values.spec(spec)}
        return decode.native(
            self._native("POST", "capacity", "prices", body=body), Prices
        )

    def runs_out(
        self,
        specs: Sequence[RequestSpec] = (),
        *,
        by: By = "fleet",
        horizon_days: int = 30,
    ) -> Forecast:
        body = {
            "request_specs": [values.spec(one) for one in specs],
            "by": by,
            "horizon_days": horizon_days,
        }
        return decode.native(
            self._native("POST", "capacity", "runs-out", body=body), Forecast
        )
