"""How many more instances of a size fit, over HTTP."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from gantt.api.call import Call
from gantt.api.native import redaction
from gantt.api.native.bodies import Body
from gantt.api.native.claims import bound_to
from gantt.api.native.permitted import permitted
from gantt.model.capacity import FairSplit, Forecast, Prices
from gantt.model.forms.spec import read_spec
from gantt.model.operation_bodies import CapacityBody, FairBody, RunsOutBody
from gantt.model.selection import Capacity
from gantt.model.spec import RequestSpec

_BODY = Body(CapacityBody)
_FAIR = Body(FairBody)
_RUNS_OUT = Body(RunsOutBody)


def count(call: Call) -> Capacity:
    """POST /gantt/capacity"""
    body = _BODY.read(call)
    spec = permitted(call, read_spec(body.request_spec, body.filter_properties), body)
    with redaction.refusals(call):
        found = call.gantt.capacity(spec)
    return redaction.capacity(call, found)


def fair(call: Call) -> FairSplit:
    """POST /gantt/capacity/fair"""
    body = _FAIR.read(call)
    specs = _specs(call, body, body.request_specs)
    with redaction.refusals(call):
        found = call.gantt.fair_split(specs, body.weights, by=body.by)
    return redaction.fair_split(call, found)


def prices(call: Call) -> Prices:
    """POST /gantt/capacity/prices"""
    body = _BODY.read(call)
    spec = permitted(call, read_spec(body.request_spec, body.filter_properties), body)
    with redaction.refusals(call):
        found = call.gantt.rule_prices(spec)
    return redaction.prices(call, found)


def runs_out(call: Call) -> Forecast:
    """POST /gantt/capacity/runs-out"""
    body = _RUNS_OUT.read(call)
    specs = _specs(call, body, body.request_specs)
    with redaction.refusals(call):
        found = call.gantt.runs_out(specs, by=body.by, horizon_days=body.horizon_days)
    return redaction.forecast(call, found)


def _specs(call: Call, body: Struct, given: Iterable[Any]) -> list[RequestSpec]:
    """Raises Forbidden, also for a caller without a project where none is given."""
    bound_to(call)
    return [permitted(call, read_spec(one), body) for one in given]
