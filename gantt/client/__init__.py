"""The scheduler's client: one seam to a Gantt in this process or over HTTP."""

from typing import TYPE_CHECKING, Any

from gantt.model.forms.selection import selection_dict, selection_primitive

if TYPE_CHECKING:
    from gantt.client.async_client import AsyncSchedulerClient
    from gantt.client.scheduler import SchedulerClient

__all__ = [
    "AsyncSchedulerClient",
    "SchedulerClient",
    "selection_dict",
    "selection_primitive",
]


def __getattr__(name: str) -> Any:
    # They open engines; what speaks HTTP alone must not load one.
    if name == "AsyncSchedulerClient":
        from gantt.client.async_client import AsyncSchedulerClient

        return AsyncSchedulerClient
    if name == "SchedulerClient":
        from gantt.client.scheduler import SchedulerClient

        return SchedulerClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
