"""What schedules in a set-up: Nova's scheduler or Gantt, on the same cloud.

A set-up is started on a cloud whose scheduler was stopped, and stopped at its end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

from gantt.client.remote import RemoteGantt
from gantt.model.hosts import HostView
from tests.cloud.cloud import SIZES, Cloud
from tests.cloud.processes import Program, wait_until
from tests.cloud.settings import write

QUEUE = "scheduler"

Answer = TypeVar("Answer")


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

    def stop_scheduler(self) -> None:
        """Return when the broker has seen its end: the next one's consumer is not to be
        mistaken for it."""
        self.cloud.stop("scheduler")
        self.wait_for_consumers(0)


class Upstream(Setup):
    """nova-scheduler, with Gantt as Placement."""

    name = "upstream"

    def start(self) -> None:
        self._start_scheduler()

    def stop(self) -> None:
        self.stop_scheduler()

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
            "serve",
            "--config-file",
            str(file),
            "--listen",
            f"127.0.0.1:{port}",
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

    def wait_for_instances(self, *servers: str) -> None:
        """Return when the feed has told the adviser of these and no others."""

        def knows() -> bool:
            found = {uuid for one in self._hosts() for uuid in one.instances}
            return found == set(servers)

        wait_until(knows, f"the adviser knows of {len(servers)} instances")

    def wait_for_empty_hosts(self) -> None:
        """Return when the feed has told the adviser that the computes are idle: a row
        that was read during a build counts its I/O until the next round."""

        def knows() -> bool:
            return not any(
                one.instances
                or one.stats["running_vms"]
                or int(one.stats["stats"].get("io_workload", 0))
                for one in self._hosts()
            )

        wait_until(knows, "the adviser knows of empty hosts only")

    def wait_for_zone(self, name: str) -> None:
        """Return when the feed has told the adviser of its hosts."""

        def knows() -> bool:
            found = self._ask(RemoteGantt.list_host_aggregates)
            return any(one.name == name and one.hosts for one in found)

        wait_until(knows, f"the adviser knows of the zone {name!r}")

    def _knows_hosts(self) -> bool:
        return {one.host for one in self._hosts()} == set(SIZES)

    def _hosts(self) -> Sequence[HostView]:
        return self._ask(RemoteGantt.list_hosts)

    def _ask(self, question: Callable[[RemoteGantt], Answer]) -> Answer:
        self.cloud.check()
        adviser = RemoteGantt(self.url)
        try:
            return question(adviser)
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
            "listener",
            "shadow",
            "listen",
            "--config-file",
            nova,
            "--url",
            self.url,
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
        self.stop_scheduler()

    def start_scheduler(self, name: str, host: str = "controller") -> Program:
        """One more on the topic, under the name of ``host``; not waited for."""
        file = self.cloud.files["nova"].with_name(f"{name}.conf")
        bus = self.cloud.settings.bus(host)
        write(file, {"DEFAULT": {"host": host}, "oslo_messaging_rabbit": bus})
        files = (self.cloud.files["nova"], file)
        return self.cloud.run_gantt(
            name,
            "scheduler",
            *(part for one in files for part in ("--config-file", str(one))),
            "--database",
            self.cloud.settings.databases["placement"],
        )


SETUPS: dict[str, type[Setup]] = {
    one.name: one for one in (Upstream, Notified, Observed, Ordered, Decided, Replaced)
}
# The others differ from one of these in what ``test_advice`` and ``test_shadow`` try.
WITH_SCENARIOS = frozenset(SETUPS) - {Notified.name, Ordered.name}
