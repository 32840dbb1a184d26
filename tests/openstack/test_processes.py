"""``gantt scheduler`` as processes on a RabbitMQ: loads, stops, kills, signals."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import oslo_messaging as messaging
import pytest
from nova.scheduler.rpcapi import SchedulerAPI

from gantt.connection import connect
from gantt.openstack.rpc.workers import SETTLED_S
from tests.brokers import Rabbitmq
from tests.live import free_port
from tests.openstack.conductor import conductor, context, eventually, instances, spec
from tests.openstack.processes import new_books, scheduler

pytestmark = [
    pytest.mark.server("rabbitmq"),
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore:.*is an invalid UUID:FutureWarning"
    ),
]


class Load:
    """Calls of several threads until ``end``; what became of them."""

    def __init__(self, api: SchedulerAPI, threads: int = 4) -> None:
        self.outcomes: Counter[str] = Counter()
        self.placed: list[str] = []
        self._api = api
        self._is_over = threading.Event()
        self._pool = ThreadPoolExecutor(threads)
        self._lock = threading.Lock()
        for _ in range(threads):
            self._pool.submit(self._run)

    def _run(self) -> None:
        while not self._is_over.is_set():
            (uuid,) = instances()
            try:
                self._api.select_destinations(context(), spec(), [uuid], True, True)
                outcome = "placed"
            except messaging.MessagingTimeout:
                outcome = "lost"
            except Exception as error:
                outcome = type(error).__name__
            with self._lock:
                self.outcomes[outcome] += 1
                if outcome == "placed":
                    self.placed.append(uuid)

    def reach(self, count: int) -> None:
        """Until so many more are placed."""
        wanted = len(self.placed) + count
        eventually(lambda: len(self.placed) >= wanted, 60)

    def end(self) -> None:
        """Wait for the calls that are out."""
        self._is_over.set()
        self._pool.shutdown()


def test_a_stop_under_load_loses_no_call(tmp_path: Path, rabbitmq: Rabbitmq) -> None:
    books = new_books(tmp_path, 20)
    url = rabbitmq.url
    with (
        conductor(url) as api,
        scheduler(tmp_path, url, books, host="one") as one,
        scheduler(tmp_path, url, books, host="two", workers=2) as two,
    ):
        load = Load(api)
        load.reach(50)
        assert two.stop() == 0
        load.reach(50)
        assert load.outcomes["lost"] == 0
        assert one.stop() == 0  # what is called from now on waits at the broker
        with scheduler(tmp_path, url, books, host="three"):
            load.reach(20)
            load.end()
    assert set(load.outcomes) == {"placed"}
    with closing(connect(books)) as gantt:
        assert all(gantt.get_allocations(uuid) for uuid in load.placed)
        assert gantt.verify().problems == ()


def test_a_worker_that_is_killed_is_replaced(
    tmp_path: Path, rabbitmq: Rabbitmq
) -> None:
    books, port = new_books(tmp_path, 20), free_port()
    with (
        conductor(rabbitmq.url, timeout_s=6) as api,
        scheduler(
            *(tmp_path, rabbitmq.url, books),
            *("--metrics-listen", f"127.0.0.1:{port}"),
            workers=2,
        ) as running,
    ):
        eventually(lambda: asked(port, "/readyz") == (200, "OK"), 30)
        load = Load(api)
        load.reach(20)
        eventually(lambda: counted(port) >= 20, 30)
        before = running.workers()
        assert len(before) == 2
        # One that dies young would not be replaced.
        eventually(lambda: _age(before[1]) > SETTLED_S + 1, 30)
        os.kill(before[1], signal.SIGKILL)
        eventually(lambda: asked(port, "/readyz")[0] == 503, 30)
        eventually(lambda: set(running.workers()) - set(before))
        running.send(signal.SIGHUP)  # which the new one, not ready for it, outlives
        load.reach(20)
        running.wait_for("Serving as scheduler", 3)
        assert len(set(running.workers()) - set(before)) == 1
        eventually(lambda: asked(port, "/readyz") == (200, "OK"), 30)
        load.reach(20)
        load.end()
        # Delivery is at most once: what the worker had taken is lost with it.
        assert set(load.outcomes) <= {"placed", "lost"}
        assert load.outcomes["lost"] <= 4
        answered = len(load.placed)
        eventually(lambda: answered <= counted(port) <= answered + 4, 30)
        text = asked(port, "/metrics")[1]
        assert "gantt_rpc_in_flight 0.0" in text
        assert "gantt_rpc_in_flight_limit 64.0" in text
        assert 'gantt_schedule_total{outcome="placed"}' in text
        running.send(signal.SIGHUP)
        running.wait_for("SIGHUP: reloaded the configuration", 2)
        assert running.stop() == 0
    with closing(connect(books)) as gantt:
        assert gantt.verify().problems == ()


def asked(port: int, path: str) -> tuple[int, str]:
    """Status and text of the answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    with closing(connection):
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def counted(port: int) -> float:
    """Calls that all workers have answered, ended ones included."""
    found = re.search(
        r'^gantt_rpc_seconds_count{method="select_destinations"} (\S+)$',
        asked(port, "/metrics")[1],
        re.MULTILINE,
    )
    return float(found[1]) if found else 0.0


def _age(pid: int) -> float:
    """Seconds since the process began."""
    ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    up = float(Path("/proc/uptime").read_text().split()[0])
    return up - ticks / os.sysconf("SC_CLK_TCK")
