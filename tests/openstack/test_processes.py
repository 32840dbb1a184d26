"""``gantt scheduler`` as processes on a RabbitMQ: loads, stops, kills, signals."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import oslo_messaging as messaging
import pytest
from nova.scheduler.rpcapi import SchedulerAPI

from gantt.connection import connect
from gantt.openstack.rpc.restarts import STARTS
from tests.brokers import Rabbitmq
from tests.live import free_port
from tests.openstack.conductor import conductor, context, instances, spec
from tests.openstack.marks import ON_RABBITMQ
from tests.openstack.processes import Scheduler, new_books, scheduler
from tests.waiting import until

pytestmark = ON_RABBITMQ


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
        until(lambda: len(self.placed) >= wanted, 60)

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
            tmp_path,
            rabbitmq.url,
            books,
            "--metrics-listen",
            f"127.0.0.1:{port}",
            workers=2,
        ) as running,
    ):
        until(lambda: asked(port, "/readyz") == (200, "OK"), 30)
        load = Load(api)
        load.reach(20)
        until(lambda: counted(port) >= 20, 30)
        before = running.workers()
        assert len(before) == 2
        os.kill(before[1], signal.SIGKILL)
        until(lambda: asked(port, "/readyz")[0] == 503, 30)
        until(lambda: set(running.workers()) - set(before))
        running.send(signal.SIGHUP)  # which the new one, not ready for it, outlives
        load.reach(20)
        running.wait_for("Serving as scheduler", 3)
        assert len(set(running.workers()) - set(before)) == 1
        until(lambda: asked(port, "/readyz") == (200, "OK"), 30)
        load.reach(20)
        load.end()
        # What the worker had taken went to the other one.
        assert set(load.outcomes) == {"placed"}
        answered = len(load.placed)
        until(lambda: answered <= counted(port) <= answered + 4, 30)
        # Workers publish their counts once a second.
        until(lambda: "gantt_rpc_in_flight 0.0" in asked(port, "/metrics")[1], 30)
        text = asked(port, "/metrics")[1]
        assert "gantt_rpc_in_flight_limit 64.0" in text
        assert 'gantt_schedule_total{outcome="placed"}' in text
        running.send(signal.SIGHUP)
        running.wait_for("SIGHUP: reloaded the configuration", 2)
        assert running.stop() == 0
    with closing(connect(books)) as gantt:
        assert gantt.verify().problems == ()


def test_a_worker_that_is_killed_while_it_starts_is_replaced(
    tmp_path: Path, rabbitmq: Rabbitmq
) -> None:
    """Even if there is no other."""
    conf = written(tmp_path, rabbitmq.url)
    running = Scheduler.running(
        ("scheduler", "--config-file", conf, "--database", new_books(tmp_path, 2)),
        tmp_path / "log",
    )
    try:
        for _ in range(2):
            until(lambda: len(running.workers()) == 1, 30)
            kill_and_wait(running, running.workers()[0])
        running.wait_for("Serving as scheduler")
        assert "a new one is started in 1 s" in running.text
        assert "a new one is started in 2 s" in running.text
        kill_and_wait(running, running.workers()[0])  # and right after its start
        running.wait_for("Serving as scheduler", 2)
        assert running.stop() == 0
    finally:
        running.kill()


def test_workers_that_never_start_end_the_program(
    tmp_path: Path, rabbitmq: Rabbitmq
) -> None:
    away = f"[api_database]\nconnection = sqlite:///{tmp_path}/away/api.db\n"
    conf = written(tmp_path, rabbitmq.url, away)
    words = ("scheduler", "--config-file", conf, "--workers", "2")
    running = Scheduler.running(
        (*words, "--database", new_books(tmp_path, 2)), tmp_path / "log"
    )
    try:
        # Only the first worker reads these databases.
        running.wait_for("Worker 0 ended", STARTS + 1)
        os.kill(running.workers()[0], signal.SIGKILL)
        running.send(signal.SIGTERM)
        assert running.process.wait(60) == 0
    finally:
        running.kill()
    alone = Scheduler.running(
        (*words[:3], "--database", new_books(tmp_path, 0)), tmp_path / "alone"
    )
    try:
        assert alone.process.wait(60) == 1
    finally:
        alone.kill()
    assert alone.text.count("Worker 0 ended") == STARTS
    assert alone.text.count("away/api.db") == STARTS
    assert "correct them, then start this program again" in alone.text


def kill_and_wait(running: Scheduler, pid: int) -> None:
    """SIGKILL to a worker, and until it has ended."""
    os.kill(pid, signal.SIGKILL)
    until(lambda: pid not in running.workers(), 30)


def written(folder: Path, url: str, more: str = "") -> str:
    """A ``nova.conf``."""
    conf = folder / "nova.conf"
    conf.write_text(f"[DEFAULT]\nhost = one\ntransport_url = {url}\n{more}")
    return str(conf)


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


THREADS = 4


@pytest.fixture
def broker(rabbitmq: Rabbitmq) -> Iterator[Rabbitmq]:
    """It runs again in the end, for other tests."""
    yield rabbitmq
    if not rabbitmq.is_running:
        rabbitmq.start()


def test_calls_go_on_when_the_broker_is_back(tmp_path: Path, broker: Rabbitmq) -> None:
    books, port = new_books(tmp_path, 20), free_port()
    with (
        conductor(broker.url, timeout_s=4) as api,
        scheduler(
            tmp_path,
            broker.url,
            books,
            "--metrics-listen",
            f"127.0.0.1:{port}",
            workers=2,
        ) as running,
    ):
        until(lambda: asked(port, "/readyz") == (200, "OK"), 30)
        before = running.workers()
        load = Load(api, THREADS)
        load.reach(20)
        broker.kill()
        until(lambda: asked(port, "/readyz")[0] == 503, 15)
        assert "the message bus is not connected" in asked(port, "/readyz")[1]
        assert asked(port, "/livez")[0] == 200
        broker.start()
        until(lambda: asked(port, "/readyz") == (200, "OK"), 40)
        lost = load.outcomes["lost"]
        load.reach(40)
        load.end()
        # Calls that were out when the broker died time out, as oslo.messaging has it;
        # none that is made after its return does.
        assert set(load.outcomes) <= {"placed", "lost"}
        assert load.outcomes["lost"] <= lost + THREADS
        assert running.workers() == before
        for _ in range(10):
            api.select_destinations(context(), spec(), instances(), True, True)
        assert running.stop() == 0
    with closing(connect(books)) as gantt:
        assert all(gantt.get_allocations(uuid) for uuid in load.placed)
        assert len(load.placed) == len(set(load.placed))
        assert gantt.verify().problems == ()
