"""What pre-filters read besides the request."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request.segments import AggregatesOf, none_known
from gantt.state.fleet import Fleet


class Context(Struct, frozen=True, eq=False):
    """The fleet, the options, whether a trait exists, and the aggregates of a network
    segment."""

    fleet: Fleet
    options: SchedulerOptions
    knows_trait: Callable[[str], bool]
    aggregates_of: AggregatesOf = none_known
