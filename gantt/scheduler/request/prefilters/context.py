"""What pre-filters read besides the request."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from gantt.scheduler.options import SchedulerOptions
from gantt.state.fleet import Fleet


class Context(Struct, frozen=True, eq=False):
    """The fleet, the options, and whether a trait exists."""

    fleet: Fleet
    options: SchedulerOptions
    knows_trait: Callable[[str], bool]
