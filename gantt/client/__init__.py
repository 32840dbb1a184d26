"""The scheduler's client: one seam to a Gantt in this process or over HTTP."""

from typing import TYPE_CHECKING, Any

from gantt.model.forms.selection import selection_dict, selection_primitive

if TYPE_CHECKING:
    from gantt.client.scheduler import SchedulerClient

__all__ = ["SchedulerClient", "selection_dict", "selection_primitive"]


def __getattr__(name: str) -> Any:
    # It opens engines; what speaks HTTP alone must not load one.
    if name == "SchedulerClient":
        from gantt.client.scheduler import SchedulerClient

        return SchedulerClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
