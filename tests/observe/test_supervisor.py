"""What programs tell a service manager, as sd_notify(3) has it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest

from gantt.observe.supervisor import VARIABLE, Supervisor
from gantt.store import schema
from tests import live
from tests.agent.trees import Tree
from tests.logged import milestones
from tests.notified import Manager, manager


def test_a_life_is_told_in_its_order(tmp_path: Path) -> None:
    with manager(tmp_path) as listener:
        supervisor = Supervisor(listener.environ[VARIABLE])
        with supervisor.reloading():
            pass  # too early: the end of a reload would mean that it is ready
        supervisor.ready()
        supervisor.ready()
        before = time.monotonic_ns() // 1000
        with supervisor.reloading():
            assert listener.until("RELOADING=1")[1].startswith("MONOTONIC_USEC=")
            assert [one[0] for one in listener.told] == ["READY=1", "RELOADING=1"]
        at = int(listener.told[-1][1].partition("=")[2])
        assert before <= at <= time.monotonic_ns() // 1000
        listener.until("READY=1")
        with supervisor.reloading():  # it is not ready afterwards
            supervisor.stopping()
            supervisor.stopping()
        supervisor.ready()
        with supervisor.reloading():
            pass
        listener.until("STOPPING=1")
        socket_ = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        socket_.sendto(b"END", listener.environ[VARIABLE])
        socket_.close()
        listener.until("END")
    told = ["READY=1", "RELOADING=1", "READY=1", "RELOADING=1", "STOPPING=1", "END"]
    assert [one[0] for one in listener.told] == told


def test_an_abstract_address_is_told() -> None:
    name = f"gantt-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0{name}")
        listener.settimeout(10)
        Supervisor(f"@{name}").ready("at work")
        assert listener.recv(4096) == b"READY=1\nSTATUS=at work"


def test_a_manager_that_is_gone_is_logged_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Supervisor(str(tmp_path / "gone")).ready()
    assert "was not told READY=1" in caplog.text
    caplog.clear()
    Supervisor().ready()
    assert caplog.text == ""


def test_children_do_not_inherit_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/somewhere")
    Supervisor.of_process()
    assert VARIABLE not in os.environ


def answers(url: str) -> int:
    """The status of one request, which is not repeated."""
    connection = HTTPConnection(url.removeprefix("http://"), timeout=10)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_serve_is_ready_when_all_workers_answer(tmp_path: Path, workers: str) -> None:
    database = f"sqlite:///{tmp_path / 'gantt.db'}"
    config = tmp_path / "gantt.conf"
    config.write_text("[placement_database]\nsync_on_startup = true\n")
    options = ("--auth", "noauth2", "--workers", workers, "--config-file", str(config))
    with manager(tmp_path) as listener:
        service = live.spawn(
            database,
            tmp_path / "log",
            options=options,
            environ=listener.environ,
        )
        try:
            listener.until("READY=1")
            assert [answers(service.url) for _ in range(8)] == [200] * 8
            config.write_text("[DEFAULT]\ndebug = true\n")
            service.process.send_signal(signal.SIGHUP)
            listener.until("RELOADING=1")
            listener.until("READY=1")
            config.write_text("[filter_scheduler]\nenabled_filters = Nothing\n")
            service.process.send_signal(signal.SIGHUP)
            listener.until("RELOADING=1")
            listener.until("READY=1")
            service.process.send_signal(signal.SIGTERM)
            listener.until("STOPPING=1")
            assert service.process.wait(live.STOP_S) == 0
        finally:
            service.kill()
        log = service.log.read_text()
        assert log.count("SIGHUP: reloaded the configuration") == 1
        assert log.count("SIGHUP: configuration unchanged") == 1
        told = [one[0].partition("=")[0] for one in listener.told]
    assert told == ["READY", *["RELOADING", "READY"] * 2, "STOPPING"]


def test_serve_that_cannot_start_is_never_ready(tmp_path: Path) -> None:
    config = tmp_path / "gantt.conf"
    config.write_text(
        "[api]\nauth_strategy = token\n[gantt]\ntokens_file = nowhere.yaml\n"
    )
    with manager(tmp_path) as listener:
        service = live.spawn(
            "memory://",
            tmp_path / "log",
            options=("--config-file", str(config)),
            environ=listener.environ,
        )
        try:
            assert service.process.wait(live.START_S) == 1
        finally:
            service.kill()
        _assert_nothing_told(listener)


def _assert_nothing_told(listener: Manager) -> None:
    Supervisor(listener.environ[VARIABLE]).stopping()
    listener.until("STOPPING=1")
    assert len(listener.told) == 1


def test_an_agent_is_ready_after_its_first_attempt(tmp_path: Path) -> None:
    """Also while the service is away, which must not fail the unit."""
    tree = Tree(tmp_path / "tree").furnish()
    words = ("agent", "--url", "http://127.0.0.1:1", "--root", str(tree.root))
    with manager(tmp_path) as listener:
        agent = subprocess.Popen(
            live.program(*words), env={**os.environ, **listener.environ}
        )
        try:
            listener.until("READY=1")
            agent.send_signal(signal.SIGTERM)
            listener.until("STOPPING=1")
            assert agent.wait(live.STOP_S) == 0
        finally:
            agent.kill()
            agent.wait()


def test_a_scheduler_is_ready_when_its_workers_serve(tmp_path: Path) -> None:
    books = f"sqlite:///{tmp_path / 'gantt.db'}"
    schema.sync(books)
    config = tmp_path / "nova.conf"
    config.write_text("[DEFAULT]\nhost = one\ntransport_url = fake://\n")
    words = ("--config-file", str(config), "--database", books, "--workers", "2")
    log = tmp_path / "log"
    with manager(tmp_path) as listener, log.open("wb") as output:
        scheduler = subprocess.Popen(
            live.program("scheduler", "--log-json", *words),
            env={**os.environ, **listener.environ},
            stderr=output,
        )
        try:
            listener.until("READY=1")
            end = time.monotonic() + live.STOP_S
            while log.read_text().count("Serving as scheduler one") < 2:
                assert time.monotonic() < end, log.read_text()  # written in bunches
                time.sleep(0.05)
            scheduler.send_signal(signal.SIGHUP)
            listener.until("RELOADING=1")
            listener.until("READY=1")
            scheduler.send_signal(signal.SIGTERM)
            listener.until("STOPPING=1")
            assert scheduler.wait(live.STOP_S) == 0
        finally:
            scheduler.kill()
            scheduler.wait()
    first, second, last = milestones(log.read_text())
    assert first["pid"] != second["pid"]
    assert [(x["host"], x["hosts"], x["providers"]) for x in (first, second)] == (
        [("one", 0, 0)] * 2
    )
    assert (last["pid"], last["signal"], last["delay"]) == (scheduler.pid, "SIGTERM", 0)
