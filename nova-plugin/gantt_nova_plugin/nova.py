"""Filter and weigher for Nova's scheduler.

`available_filters` and `weight_classes` of nova.conf name these classes by their paths.
"""

from __future__ import annotations

from typing import Any

from nova.scheduler import filters, weights

from gantt_nova_plugin import options, wire
from gantt_nova_plugin.stages import AdvisedFilter, AdvisedWeigher, Reading, Stages
from gantt_nova_plugin.wire import Candidate

ADVISOR = options.advisor(wire.NATIVE)


def _candidate(host_state: Any) -> Candidate:
    return Candidate(host_state.host, host_state.nodename)


def _itself(spec: object) -> object:
    return spec


def _primitive(spec: Any) -> object:
    return spec.obj_to_primitive()


def _instance_uuid(spec: Any) -> str | None:
    return spec.instance_uuid if "instance_uuid" in spec else None


STAGES = Stages(ADVISOR, Reading(_candidate, _itself, _primitive, _instance_uuid))


class GanttFilter(AdvisedFilter, filters.BaseHostFilter):  # type: ignore[misc]
    """For `enabled_filters`, after all others."""

    stages = STAGES
    RUN_ON_REBUILD = True


class GanttWeigher(AdvisedWeigher, weights.BaseHostWeigher):  # type: ignore[misc]
    """For `weight_classes`, after all others."""

    stages = STAGES
