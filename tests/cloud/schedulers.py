"""What schedules in a set-up: Nova's scheduler or Gantt, on the same cloud.

A set-up is started on a cloud whose scheduler was stopped, and stopped at its end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from tests.cloud.cloud import Cloud
from tests.cloud.processes import wait_until

QUEUE = "scheduler"


class Setup(ABC):
    """One way to run the cloud."""

    name: ClassVar[str]

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    @abstractmethod
    def start(self) -> None:
        """Return when requests are taken."""

    @abstractmethod
    def stop(self) -> None:
        """End what ``start`` began."""

    def wait_for_consumers(self, count: int) -> None:
        """A request that comes before its queue is lost: nothing redelivers it."""

        def listens() -> bool:
            self.cloud.check()
            return self.cloud.broker.consumers(QUEUE) == count

        wait_until(listens, f"{count} consumers of the queue {QUEUE!r}")


class Upstream(Setup):
    """nova-scheduler, with Gantt as Placement."""

    name = "upstream"

    def start(self) -> None:
        self.cloud.run_nova("scheduler", "nova-scheduler")
        self.wait_for_consumers(1)

    def stop(self) -> None:
        self.cloud.stop("scheduler")


SETUPS: dict[str, type[Setup]] = {one.name: one for one in (Upstream,)}
