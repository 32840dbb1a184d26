"""A Placement somewhere else, over HTTP on loopback, and ways for it to fail.

Either another Gantt or OpenStack Placement from its installed package, both in this
process.
"""

from __future__ import annotations

import uuid as uuids
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIServer

from gantt import errors
from gantt.client.placement_books import PlacementBooks
from gantt.client.remote import RemoteGantt
from gantt.engine.clock import SystemClock
from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.answers import Candidates, ConsumerView
from gantt.model.commands import ConsumerAllocations, Inventory
from gantt.model.hosts import HostStats
from gantt.model.requests import CandidateRequest
from gantt.model.rows import BOOKINGS, BookingRow
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from gantt.state.state import State
from gantt.store import Store, open_store
from tests.inprocess import served, service

SMALL = Flavor(vcpus=1, memory_mb=1024, root_gb=10, name="small")
LEASE_S = 60.0


class Crash(BaseException):
    """The process is gone, as far as its callers can tell."""


class Wall(SystemClock):
    """Runs ahead as far as a test wants, and does not sleep."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def now(self) -> int:
        return super().now() + int(self.ahead_s * 1_000_000)

    def sleep(self, seconds: float) -> None:
        pass


class Shaky(PlacementBooks):
    """``before`` and ``after`` are called around each write, and may raise."""

    def __init__(self, url: str) -> None:
        super().__init__(url, timeout_s=20.0)
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[], None] = lambda: None
        self.asked: list[CandidateRequest] = []
        self.writes = 0

    def candidates(
        self, question: CandidateRequest, *, request_id: str = ""
    ) -> Candidates:
        self.asked.append(question)
        return super().candidates(question, request_id=request_id)

    def write(
        self, consumers: Sequence[ConsumerAllocations], *, request_id: str = ""
    ) -> None:
        self.writes += 1
        self.before()
        super().write(consumers, request_id=request_id)
        self.after()


class Elsewhere:
    """The books at ``url``, and engines that ask them."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.books = RemoteGantt(url)
        self.providers: dict[str, str] = {}

    def fleet(self, engine: Gantt, *hosts: str, vcpus: int = 4) -> None:
        """Hosts with inventory there, and reports here."""
        for host in hosts:
            uuid = self.providers.setdefault(host, str(uuids.uuid4()))
            self.books.create_provider(host, uuid=uuid)
            self.books.set_inventories(
                uuid,
                {
                    "VCPU": Inventory(vcpus),
                    "MEMORY_MB": Inventory(1024 * vcpus),
                    "DISK_GB": Inventory(10 * vcpus),
                },
            )
            self.report(engine, host)

    def report(self, engine: Gantt, host: str, **more: Any) -> None:
        """Host ``host`` reports here; by default that it is full, which does not matter
        when amounts are decided elsewhere."""
        facts: dict[str, Any] = {
            "uuid": self.providers[host],
            "vcpus": 1,
            "memory_mb": 64,
            "local_gb": 1,
            "free_ram_mb": 64,
            "free_disk_gb": 1,
            "hypervisor_hostname": host,
            **more,
        }
        engine.update_host(host, host, HostStats(**facts))

    def used(self, *hosts: str) -> int:
        """VCPUs that are allocated there on ``hosts``, or on all."""
        names = hosts or tuple(self.providers)
        return sum(
            self.books.get_usages(self.providers[host]).usages["VCPU"] for host in names
        )

    def of(self, instance_uuid: str) -> ConsumerView | None:
        """What an instance has there."""
        return self.books.get_allocations(instance_uuid)


def ask(
    count: int = 1, *, lease_s: float | None = None, **fields: Any
) -> ScheduleRequest:
    """A request for ``count`` small instances; ``fields`` of the spec."""
    spec = RequestSpec(
        **{"flavor": SMALL, "project_id": "project", "user_id": "user", **fields}
    )
    names = tuple(str(uuids.uuid4()) for _ in range(count))
    return ScheduleRequest(spec, names, lease_s=lease_s)


def options(url: str, **more: Any) -> EngineOptions:
    """``more``: of the scheduler."""
    facts: dict[str, Any] = {
        "placement": url,
        "placement_lease_s": LEASE_S,
        "lease_skew_s": 0.0,
        "claim_attempts": 30,
        **more,
    }
    return EngineOptions(sweep_s=3600.0, scheduler=SchedulerOptions(**facts))


def engine_on(
    books: PlacementBooks,
    *,
    wall: Wall | None = None,
    store: Store | None = None,
    **more: Any,
) -> Gantt:
    """An engine that asks ``books``; its sweeper sleeps."""
    return Gantt(
        store or open_store("memory://"),
        options(books.url, **more),
        clock=wall or Wall(),
        standard_names=standard_names(),
        remote=books,
    )


@contextmanager
def elsewhere(kind: str, folder: Path) -> Iterator[Elsewhere]:
    """Another Gantt (``gantt``), or OpenStack Placement (``upstream``)."""
    running = service(folder) if kind == "gantt" else _upstream()
    with running as url:
        found = Elsewhere(url)
        try:
            yield found
        finally:
            found.books.close()


@contextmanager
def _upstream() -> Iterator[str]:
    """One request at a time: its books are in the memory of one connection."""
    from tests.differential.upstream import upstream

    found = upstream()
    found.wipe()
    with served(found.app, WSGIServer) as url:
        yield url


def claims(engine: Gantt) -> list[BookingRow]:
    def rows(state: State) -> list[BookingRow]:
        return [
            row
            for row in state.rows(BOOKINGS)
            if isinstance(row, BookingRow) and row.is_claim
        ]

    return engine.read(rows)


def only(request: ScheduleRequest) -> str:
    """The instance of a request for one."""
    (uuid,) = request.instance_uuids or ()
    return uuid


def raising(*found: BaseException) -> Callable[[], None]:
    """Raises each of ``found`` in turn, then nothing."""
    left = list(found)

    def fail() -> None:
        if left:
            raise left.pop(0)

    return fail


LOST = errors.Unavailable("the connection died")
