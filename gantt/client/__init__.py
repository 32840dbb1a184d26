"""The scheduler's client: one seam to a Gantt in this process or over HTTP."""

from gantt.client.scheduler import SchedulerClient

__all__ = ["SchedulerClient"]
