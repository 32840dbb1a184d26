"""Every metric of every program, from what they answer at /metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from gantt.observe import agent_signs
from gantt.observe.agent_signs import AgentSigns
from gantt.observe.launch_signs import LaunchSigns
from gantt.observe.metrics import Meters
from gantt.openstack.meters import CloudMeters
from scripts.reference.markdown import cell, table

# As it is asked for; of histograms: how many were observed, their sum, and how many up
# to each bound.
_COUNTED: Final = "_total"
_ENDINGS: Final = "_count, _sum, _bucket"
_MADE_BESIDE: Final = "_created"


def page() -> str:
    """A section for each program."""
    lines: list[str] = []
    for program, text in _expositions():
        rows = [
            (f"`{_name(one)}`", _kind(one.type), cell(one.documentation))
            for one in sorted(
                text_string_to_metric_families(text.decode()), key=lambda one: one.name
            )
            if not one.name.endswith(_MADE_BESIDE)
        ]
        lines += [f"## {program}", "", *table(("metric", "kind", ""), rows)]
    return "\n".join(lines)


def _name(one: Metric) -> str:
    return f"{one.name}{_COUNTED}" if one.type == "counter" else one.name


def _kind(kind: str) -> str:
    return f"{kind}: `{_ENDINGS}`" if kind == "histogram" else kind


def _expositions() -> Iterator[tuple[str, bytes]]:
    """By program; what has labels is declared, without a series."""
    kept = dict.fromkeys((*agent_signs.COUNTERS, *agent_signs.GAUGES), 0.0)
    yield "gantt serve", Meters(dict, lambda: ({}, {})).exposition()
    yield "gantt scheduler, gantt feed", CloudMeters(dict).exposition()
    yield "gantt agent", AgentSigns(lambda: kept).metrics()
    yield "gantt launch", LaunchSigns().metrics()
