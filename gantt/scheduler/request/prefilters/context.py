"""What pre-filters read besides the request."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request.segments import AggregatesOf, none_known
from gantt.state.fleet_columns import Fleet


class PrefilterContext(Struct, frozen=True, eq=False):
    """The fleet, the options, whether a trait exists, the aggregates of a network
    segment, and whether a remote Placement is asked."""

    fleet: Fleet
    options: SchedulerOptions
    knows_trait: Callable[[str], bool]
    aggregates_of: AggregatesOf = none_known
    is_remote: bool = False
