"""Hosts go down and come up by each service for coordination, the real one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.errors import Refused
from gantt.liveness.group import HOST, Group
from gantt.liveness.membership import Membership
from gantt.liveness.options import CoordinationOptions
from gantt.liveness.watcher import Watcher
from gantt.model.hosts import HostStats
from tests.coordinators import COORDINATORS, Coordinator, coordinator
from tests.forwarder import Forwarder
from tests.reported import agents_there
from tests.waiting import until

INTERVAL = 3
STEP_S = 0.1
# A look, the thread that leads, and a busy machine.
SLACK_S = 2.0

pytestmark = pytest.mark.slow
ALL = [
    pytest.param(name, marks=pytest.mark.server(name)) for name in sorted(COORDINATORS)
]


class Fleet:
    """Hosts that keep memberships, a watcher, and the books that it tells. The server,
    the watcher and each host have ways of their own to it."""

    def __init__(self, server: Coordinator, stack: contextlib.ExitStack) -> None:
        self.server = server
        self._stack = stack
        self.books: Gantt = stack.enter_context(open_gantt("memory://"))
        self.ways: dict[str, Forwarder] = {}
        self.hosts: dict[str, Membership] = {}
        watcher = Watcher(self._options("watcher"), self.books)
        watcher.start()
        stack.callback(watcher.close)

    def _options(self, who: str) -> CoordinationOptions:
        if who not in self.ways:
            self.ways[who] = way = Forwarder(self.server.port)
            self._stack.callback(way.close)
        url = self.server.url(self.ways[who].port)
        return CoordinationOptions(url, heartbeat_interval=INTERVAL)

    def start(self, *hosts: str) -> None:
        for host in hosts:
            self.books.update_host(host, host, HostStats(vcpus=4))
            self.hosts[host] = Membership(self._options(host), host)
            self.hosts[host].start()
            self._stack.callback(self.hosts[host].close)

    def states(self) -> dict[str, bool]:
        """Host -> whether it is up."""
        return agents_there(self.books)

    def reaches(self, within: float, **wanted: bool) -> None:
        until(lambda: self.states() == wanted, within + SLACK_S, self.states)

    def stays(self, seconds: float, **wanted: bool) -> None:
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            assert self.states() == wanted
            time.sleep(STEP_S)


@contextlib.contextmanager
def fleet_of(name: str) -> Iterator[Fleet]:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(coordinator(name))
        found = Fleet(server, stack)
        found.start("a", "b")
        found.reaches(2 * INTERVAL, a=True, b=True)
        # The watcher takes no host down before it has looked for two intervals.
        time.sleep(2 * INTERVAL)
        yield found


def a_host_then_the_watcher_is_cut_off(name: str) -> None:
    with fleet_of(name) as fleet:
        fleet.ways["b"].cut()
        fleet.reaches(2 * INTERVAL, a=True, b=False)
        assert fleet.books.totals()[1]["down"] == 1
        assert fleet.books.notice() == ""
        fleet.ways["b"].mend()
        fleet.reaches(2 * INTERVAL, a=True, b=True)

        fleet.ways["watcher"].cut()
        until(
            lambda: "frozen" in fleet.books.notice(),
            2 * INTERVAL + SLACK_S,
            fleet.books.notice,
        )
        fleet.ways["b"].cut()
        fleet.stays(2 * INTERVAL, a=True, b=True)
        fleet.ways["watcher"].mend()
        fleet.reaches(6 * INTERVAL, a=True, b=False)


def the_server_is_killed_and_back(name: str) -> None:
    with fleet_of(name) as fleet:
        notice = fleet.books.notice
        fleet.server.kill()
        until(lambda: "frozen" in notice(), 2 * INTERVAL + SLACK_S, notice)
        assert fleet.books.keeping_up()["liveness_frozen"]
        assert fleet.books.unready() == ""
        fleet.stays(2 * INTERVAL, a=True, b=True)
        fleet.server.start()
        until(lambda: notice() == "", 6 * INTERVAL + SLACK_S, notice)
        fleet.stays(2 * INTERVAL, a=True, b=True)
        fleet.ways["b"].cut()
        fleet.reaches(2 * INTERVAL, a=True, b=False)


STORIES = (a_host_then_the_watcher_is_cut_off, the_server_is_killed_and_back)


@pytest.fixture(scope="module")
def told(request: pytest.FixtureRequest) -> Iterator[dict[str, list[Future[None]]]]:
    """The stories on each service whose test was chosen, all at once: most of their
    time is waiting."""
    chosen = [
        str(one.callspec.params["name"])
        for one in request.session.items
        if isinstance(one, pytest.Function)
        and one.path == request.path
        and hasattr(one, "callspec")
    ]
    with ThreadPoolExecutor(len(chosen) * len(STORIES)) as pool:
        yield {name: [pool.submit(story, name) for story in STORIES] for name in chosen}


@pytest.mark.parametrize("name", ALL)
def test_only_a_host_that_is_silent_goes_down(
    name: str, told: dict[str, list[Future[None]]]
) -> None:
    """Within two intervals, and up again; what is away itself takes no host down."""
    for story in told[name]:
        story.result()


def test_a_url_that_tooz_does_not_know_is_refused() -> None:
    with pytest.raises(Refused, match="backend_url"):
        Group(CoordinationOptions("carrier-pigeon://loft"), HOST + "a")
