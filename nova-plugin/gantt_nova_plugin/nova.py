"""Filter and weigher for Nova's scheduler.

`available_filters` and `weight_classes` of nova.conf name these classes by their paths.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import nova.conf
from nova.scheduler import filters, weights

from gantt_nova_plugin import options
from gantt_nova_plugin.advisor import Advisor
from gantt_nova_plugin.stages import Reading, Stages
from gantt_nova_plugin.wire import Candidate

options.register(nova.conf.CONF)
ADVISOR = Advisor(partial(options.read, nova.conf.CONF))


def _candidate(host_state: Any) -> Candidate:
    return Candidate(host_state.host, host_state.nodename)


def _spec(spec: Any) -> object:
    return spec.obj_to_primitive()


def _instance_uuid(spec: Any) -> str | None:
    return spec.instance_uuid if "instance_uuid" in spec else None


STAGES = Stages(ADVISOR, Reading(_candidate, _spec, _instance_uuid))


class GanttFilter(filters.BaseHostFilter):  # type: ignore[misc]
    """Removes what Gantt refuses, in mode decide; passes everything otherwise."""

    # Each instance of a request finds the hosts in another state.
    run_filter_once_per_request = False
    RUN_ON_REBUILD = True

    def __init__(self) -> None:
        super().__init__()
        STAGES.begin()

    def filter_all(self, filter_obj_list: Iterable[Any], spec_obj: Any) -> list[Any]:
        """Those of the hosts that are left, in the same order."""
        return STAGES.keep(list(filter_obj_list), spec_obj)


class GanttWeigher(weights.BaseHostWeigher):  # type: ignore[misc]
    """Ranks hosts as Gantt orders them, in modes advise and decide."""

    _multiplier = 1.0

    def __init__(self) -> None:
        super().__init__()
        STAGES.begin()

    def weight_multiplier(self, host_state: Any = None) -> float:  # noqa: ARG002
        """The same for all hosts; Nova before Stein names none."""
        return self._multiplier

    def weigh_objects(
        self, weighed_obj_list: list[Any], weight_properties: Any
    ) -> list[float]:
        """A rank between 0.0 and 1.0 for each; the heaviest is the best."""
        hosts = [weighed.obj for weighed in weighed_obj_list]
        so_far = [weighed.weight for weighed in weighed_obj_list]
        ranks, self._multiplier = STAGES.weigh(hosts, so_far, weight_properties)
        return ranks

    def _weigh_object(self, obj: Any, weight_properties: Any) -> float:  # noqa: ARG002
        return 0.0
