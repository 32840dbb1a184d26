"""What schedules in a set-up: Nova's scheduler or Gantt, on the same cloud.

A set-up is started on a cloud whose scheduler was stopped, and stopped at its end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from gantt.client.remote import RemoteGantt
from tests.cloud.cloud import SIZES, Cloud
from tests.cloud.processes import Program, wait_until
from tests.cloud.settings import write

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
        self._start_scheduler()

    def stop(self) -> None:
        self.cloud.stop("scheduler")

    def _start_scheduler(self, *files: Path) -> None:
        self.cloud.run_nova("scheduler", "nova-scheduler", *files)
        self.wait_for_consumers(1)


class Advised(Upstream):
    """nova-scheduler with the plug-in, and a Gantt that it asks.

    The adviser shares the books of the Gantt that is Placement, and is fed from Nova's
    databases. It is a process of its own, so that it can die alone.
    """

    mode: ClassVar[str]

    def start(self) -> None:
        self.start_adviser()
        file = self.cloud.files["nova"].with_name(f"{self.mode}.conf")
        write(file, self.cloud.settings.plugin(self.mode))
        self._start_scheduler(file)

    def stop(self) -> None:
        super().stop()
        self.cloud.stop("feed")
        self.cloud.stop("adviser")

    def start_adviser(self) -> None:
        """Return when it knows all hosts."""
        port = self.cloud.settings.ports.adviser
        file = self.cloud.files["gantt"].with_name("adviser.conf")
        write(file, self.cloud.settings.adviser())
        adviser = self.cloud.run_gantt(
            "adviser",
            *("serve", "--config-file", str(file)),
            *("--listen", f"127.0.0.1:{port}"),
        )
        adviser.wait_for_http(port)
        if "feed" not in self.cloud.programs:
            nova = str(self.cloud.files["nova"])
            self.cloud.run_gantt(
                "feed", "feed", "--config-file", nova, "--url", self.url
            )
        wait_until(self._knows_hosts, "the adviser knows all hosts")

    @property
    def url(self) -> str:
        """Where the adviser answers."""
        return f"http://127.0.0.1:{self.cloud.settings.ports.adviser}"

    def _knows_hosts(self) -> bool:
        self.cloud.check()
        adviser = RemoteGantt(self.url)
        try:
            return {one.host for one in adviser.list_hosts()} == set(SIZES)
        finally:
            adviser.close()


class Observed(Advised):
    """Gantt decides beside Nova and changes nothing."""

    name = mode = "observe"


class Ordered(Advised):
    """Gantt orders the hosts that Nova's filters left."""

    name = mode = "advise"


class Decided(Advised):
    """Gantt orders and removes hosts."""

    name = mode = "decide"


class Notified(Advised):
    """Nothing is asked: Gantt learns of requests from Nova's notifications."""

    name = "notified"

    def start(self) -> None:
        self.start_adviser()
        nova = str(self.cloud.files["nova"])
        listener = self.cloud.run_gantt(
            *("listener", "shadow", "listen"),
            *("--config-file", nova, "--url", self.url),
        )
        listener.wait_for("Listening for scheduler.select_destinations.*")
        self._start_scheduler()

    def stop(self) -> None:
        self.cloud.stop("listener")
        super().stop()


class Replaced(Setup):
    """Gantt is scheduler and Placement: no nova-scheduler runs."""

    name = "gantt"

    def start(self) -> None:
        self.start_scheduler("scheduler")
        self.wait_for_consumers(1)

    def stop(self) -> None:
        self.cloud.stop("scheduler")

    def start_scheduler(self, name: str, host: str = "controller") -> Program:
        """One more on the topic, under the name of ``host``; not waited for."""
        file = self.cloud.files["nova"].with_name(f"{name}.conf")
        write(file, {"DEFAULT": {"host": host}})
        files = (self.cloud.files["nova"], file)
        return self.cloud.run_gantt(
            name,
            "scheduler",
            *(part for one in files for part in ("--config-file", str(one))),
            *("--database", self.cloud.settings.databases["placement"]),
        )


SETUPS: dict[str, type[Setup]] = {
    one.name: one for one in (Upstream, Notified, Observed, Ordered, Decided, Replaced)
}
# The others differ from one of these in what ``test_advice`` and ``test_shadow`` try.
WITH_SCENARIOS = frozenset(SETUPS) - {Notified.name, Ordered.name}
