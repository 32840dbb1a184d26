"""The scheduler's client: one seam to a Gantt in this process or over HTTP."""

from gantt.client.scheduler import SchedulerClient
from gantt.model.forms.selection import selection_dict, selection_primitive

__all__ = ["SchedulerClient", "selection_dict", "selection_primitive"]
