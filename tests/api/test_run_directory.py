"""Several workers of one server: signals, deaths, and common metrics."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from http.client import HTTPException
from pathlib import Path
from uuid import uuid4

import pytest

from gantt.api.hosting.run_directory import RunDirectory
from gantt.client.remote import RemoteGantt
from gantt.conf import load
from gantt.errors import NoValidHost
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.databases import Databases
from tests.kinds import KINDS
from tests.live import Live, spawn, wait_until_up

CONFIG = """
[DEFAULT]
debug = false
[placement_database]
sync_on_startup = true
[gantt]
workers = 2
drain_delay_s = {delay}
run_directory = {folder}/run
"""
WAIT_S = 30.0


@pytest.fixture(params=KINDS)
def url(
    request: pytest.FixtureRequest, databases: Databases, tmp_path: Path
) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'books.db'}"
    else:
        with databases.database(request.param) as url:
            yield url


@pytest.fixture
def live(url: str, tmp_path: Path) -> Iterator[Live]:
    config = tmp_path / "gantt.conf"
    config.write_text(CONFIG.format(delay=1.5, folder=tmp_path))
    options = ("--auth", "noauth2", "--config-file", str(config), "--log-json")
    started = spawn(url, tmp_path / "log", options=options)
    try:
        wait_until_up(started)
        until(lambda: len(metric(started, "gantt_leader")) == 2)
        yield started
    finally:
        started.kill()


def until(is_so: Callable[[], bool]) -> None:
    """Wait; a connection may be lost meanwhile, with the worker that had it."""
    deadline = time.monotonic() + WAIT_S
    while True:
        with contextlib.suppress(OSError, HTTPException):
            if is_so():
                return
        assert time.monotonic() < deadline
        time.sleep(0.05)


def workers(live: Live) -> list[int]:
    path = Path(f"/proc/{live.process.pid}/task/{live.process.pid}/children")
    return [int(pid) for pid in path.read_text().split()]


def get(live: Live, path: str) -> tuple[int, str]:
    request = urllib.request.Request(
        live.url + path,
        headers={"X-Auth-Token": "admin", "Connection": "close"},
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def metric(live: Live, name: str) -> dict[str, float]:
    """Samples of a metric by their labels."""
    text = get(live, "/metrics")[1]
    found = re.findall(rf"^{name}({{.*}})? (\S+)$", text, re.MULTILINE)
    return {labels: float(value) for labels, value in found}


def leaders(live: Live) -> list[int]:
    found = metric(live, "gantt_leader")
    pids = [re.findall(r'pid="(\d+)"', one)[0] for one, led in found.items() if led]
    return [int(pid) for pid in pids]


def test_workers_share_one_state(live: Live) -> None:
    # A connection for each request, so that both of them get some.
    names = [f"host-{number}" for number in range(20)]
    start = RemoteGantt(live.url).events().cursor
    for name in names:
        one = RemoteGantt(live.url)
        one.create_provider(name)
        one.close()
        # Strict reads see what the other wrote.
        listed = get(live, f"/resource_providers?name={name}")[1]
        assert name in listed
    heard = RemoteGantt(live.url).events(start).events
    assert [(event.changes[0].row or {})["name"] for event in heard] == names
    # Every worker has the decisions of all.
    decided = [decide(live, f"req-{number}") for number in range(8)]
    for name in decided * 4:
        assert told(live, f"?request_id={name}") == [name]
    # Workers publish their counts once a second: the last may come later.
    until(lambda: posted(live) == len(names))
    until(lambda: sum(metric(live, "gantt_http_requests_total").values()) >= 40)
    until(lambda: sum(metric(live, "gantt_batch_commands_sum").values()) >= len(names))
    assert posted(live) == len(names)


def decide(live: Live, name: str) -> str:
    """By a connection of its own, so that any worker may get it; refused, as there is
    no host."""
    spec = RequestSpec(Flavor(vcpus=1, memory_mb=64, root_gb=1))
    one = RemoteGantt(live.url)
    with contextlib.suppress(NoValidHost):
        one.schedule(ScheduleRequest(spec, (str(uuid4()),), request_id=name))
    one.close()
    return name


def told(live: Live, query: str) -> list[str]:
    """The requests of whose decisions there are records."""
    found = json.loads(get(live, f"/gantt/decisions{query}")[1])["decisions"]
    return [one["request_id"] for one in found]


def posted(live: Live) -> float:
    """How many providers the workers say that they created."""
    found = metric(live, "gantt_http_requests_total")
    route = 'method="POST",route="/resource_providers"'
    return sum(found.get(f'{{code="{code}",{route}}}', 0) for code in (200, 201))


def test_dead_worker_is_replaced_and_leadership_moves(live: Live) -> None:
    until(lambda: len(leaders(live)) == 1)
    (dead,) = leaders(live)
    before = sum(metric(live, "gantt_commands_total").values())
    decided = {decide(live, f"req-{number}") for number in range(8)}
    until(lambda: all(set(told(live, "")) == decided for _ in range(8)))
    os.kill(dead, signal.SIGKILL)
    until(lambda: dead not in workers(live) and len(workers(live)) == 2)
    until(lambda: len(leaders(live)) == 1 and leaders(live) != [dead])
    until(lambda: get(live, "/readyz") == (200, "OK"))
    # What the dead one counted is not forgotten, what it was is.
    assert sum(metric(live, "gantt_commands_total").values()) >= before
    assert str(dead) not in "".join(metric(live, "gantt_leader"))
    until(lambda: set(told(live, "")) == decided)  # after a moment


def test_a_run_directory_that_a_cleaner_removed_is_made_anew(
    live: Live, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "run")
    until(lambda: get(live, "/metrics")[0] == 200)
    until(lambda: len(metric(live, "gantt_leader")) == 2)
    dead, _ = workers(live)
    os.kill(dead, signal.SIGKILL)
    until(lambda: dead not in workers(live) and len(workers(live)) == 2)
    until(lambda: get(live, "/readyz") == (200, "OK"))
    until(lambda: str(dead) not in "".join(metric(live, "gantt_leader")))


def test_sigterm_makes_service_unready_before_draining(live: Live) -> None:
    stream = urllib.request.urlopen(
        urllib.request.Request(
            live.url + "/gantt/watch", headers={"X-Auth-Token": "admin"}
        ),
        timeout=20,
    )
    live.process.send_signal(signal.SIGTERM)
    until(lambda: get(live, "/readyz") == (503, "NOT READY: draining"))
    assert get(live, "/resource_providers")[0] == 200
    assert stream.read().startswith(b"retry: ")  # and it ends by itself
    assert live.process.wait(WAIT_S) == 0
    assert "Traceback" not in live.log.read_text()


def has_stayed(live: Live, times: int) -> bool:
    return live.log.read_text().count("configuration unchanged") == times


def test_sighup_reloads_mutable_options(live: Live, tmp_path: Path) -> None:
    config = tmp_path / "gantt.conf"
    before, good = workers(live), config.read_text()
    wrong = (
        good.replace("workers = 2", "workers = never"),
        good + "[filter_scheduler]\nenabled_filters = NoSuchFilter\n",
        "no section",
    )
    for number, text in enumerate(wrong, 1):
        config.write_text(text)
        live.process.send_signal(signal.SIGHUP)
        until(partial(has_stayed, live, number))
    # A replacement uses the same settings as the other workers.
    os.kill(before[0], signal.SIGKILL)
    until(lambda: before[0] not in workers(live) and len(workers(live)) == 2)
    until(lambda: len(metric(live, "gantt_leader")) == 2)
    before = workers(live)
    assert live.log.read_text().count("NoSuchFilter") == 1
    config.write_text(good.replace("debug = false", "debug = true"))
    live.process.send_signal(signal.SIGHUP)
    read = "Reloaded the configuration (process"
    until(lambda: live.log.read_text().count(read) == 2)
    assert workers(live) == before
    assert get(live, "/readyz") == (200, "OK")


def test_leftovers_of_a_killed_server_are_removed(tmp_path: Path) -> None:
    first = RunDirectory.begin(str(tmp_path / "run"))
    first.drain()
    first.change(load(environ={}).mutable)
    (first.metrics / "counter_1.db").touch()
    (tmp_path / "run" / "mine").touch()
    again = RunDirectory.begin(str(tmp_path / "run"))
    assert not again.is_draining()
    assert again.changed(0) is None
    assert not list(again.metrics.iterdir())
    again.drain()
    assert again.is_draining()
    assert not again.is_stopping()
    again.stop()
    assert again.is_stopping()
    assert not RunDirectory.begin(str(tmp_path / "run")).is_stopping()
    again.end()
    assert (tmp_path / "run" / "mine").exists()


def test_own_run_directory_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    left = tmp_path / "gantt-run-999999999-killed"
    left.mkdir()
    run = RunDirectory.begin("")
    assert not left.exists()
    assert Path(run.path).parent == tmp_path
    run.end()
    assert not Path(run.path).exists()
