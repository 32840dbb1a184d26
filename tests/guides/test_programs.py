"""What guides start that goes on until it is stopped, and what they install for it."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from gantt.client.remote import RemoteGantt
from gantt.model.hosts import HostView
from tests import live
from tests.coordinators import coordinator
from tests.guides.guide import Shown, shown
from tests.guides.nginx import proxy
from tests.kafka_broker import Kafka
from tests.shown import Terminal

SERVE = "gantt serve --database memory:// --auth noauth2"
WAIT_S = 60.0
INSTALL = re.compile(r"pip install (dist/gantt_\S+ )?\"\$\(ls dist/gantt_(\w+)-")
GUIDES = (
    "command-line liveness monitoring replace-nova-scheduler replay shadow-nova streams"
).split()
INSTALLED = sorted(
    {
        command
        for name in GUIDES
        for block in shown(name)
        for command in block.commands
        if INSTALL.match(command)
    }
)


def block_of(name: str, word: str) -> Shown:
    """The one with this word."""
    (found,) = (one for one in shown(name) if word in one.text)
    return found


@contextlib.contextmanager
def goes_on(terminal: Terminal, command: str) -> Iterator[None]:
    """It is stopped at the end, and must then end well."""
    process = subprocess.Popen(["sh", "-c", f"exec {command}"], env=terminal.environ)
    try:
        yield
        assert process.poll() is None, command
        process.send_signal(signal.SIGTERM)
        assert process.wait(live.STOP_S) == 0
    finally:
        process.kill()
        process.wait()


def the_host(terminal: Terminal, is_so: Callable[[HostView], bool]) -> HostView:
    """The only host, once that is so."""
    books = RemoteGantt(terminal.environ["GANTT_URL"])
    give_up = time.monotonic() + WAIT_S
    try:
        while True:
            hosts = list(books.list_hosts())
            if hosts and is_so(hosts[0]):
                (host,) = hosts
                return host
            assert time.monotonic() < give_up, hosts
            time.sleep(0.1)
    finally:
        books.close()


def serve_as(terminal: Terminal, folder: Path, settings: str) -> None:
    (folder / "gantt.conf").write_text(settings)
    terminal.type(f"{SERVE} --config-file gantt.conf")


@pytest.mark.parametrize("command", INSTALLED)
def test_an_extra_brings_only_what_is_tested(terminal: Terminal, command: str) -> None:
    """Here all extras are: what one needs, in the version that it asks for, is there
    without an index."""
    terminal.environ["PIP_NO_INDEX"] = "1"
    command = re.sub(r"dist/gantt_\[al?s\]\*.whl", "gantt-agent", command)
    said = terminal.type(
        re.sub(r"\$\(ls dist/gantt_(\w+)-\*\.whl\)", r"gantt-\1", command)
    )
    assert re.search(r"already satisfied: gantt-(agent|scheduler)\[", said), said
    assert [one for one in ("ERROR", "does not provide") if one in said] == [], said


def test_an_agent_reports_until_it_is_stopped(terminal: Terminal) -> None:
    (command,) = block_of("agent", "gantt agent --interval").commands
    terminal.type(SERVE)
    with goes_on(terminal, command):
        host = the_host(terminal, lambda _: True)
    assert host.stats["memory_mb"]


@pytest.mark.server("kafka")
def test_an_agent_reports_by_kafka(
    kafka: Kafka, terminal: Terminal, tmp_path: Path
) -> None:
    shown_servers = "kafka-1:9092, kafka-2:9092"
    settings = next(one.text for one in shown("streams") if shown_servers in one.text)
    serve_as(terminal, tmp_path, settings.replace(shown_servers, kafka.servers))
    _, command = block_of("streams", "gantt-agent --stream").commands
    here = command.replace(shown_servers.replace(" ", ""), kafka.servers)
    here = here.replace("http://gantt:8778", terminal.environ["GANTT_URL"])
    with goes_on(terminal, here):
        the_host(terminal, lambda _: True)
        with urlopen(f"{terminal.environ['GANTT_URL']}/metrics") as answer:
            figures = answer.read().decode()
    # Not by --url, which is for when Kafka does not answer.
    assert re.search(r"^gantt_stream_records_total [1-9]", figures, re.MULTILINE)


@pytest.mark.server("redis")
def test_an_agent_is_a_member_of_the_group(terminal: Terminal, tmp_path: Path) -> None:
    example = "redis://10.0.0.5:6379"
    (settings,) = (
        one.text
        for one in shown("liveness")
        if one.language == "ini" and example in one.text
    )
    _, command = block_of("liveness", "gantt-agent --coordination").commands
    with coordinator("redis") as redis:
        serve_as(terminal, tmp_path, settings.replace(example, redis.url(redis.port)))
        with goes_on(terminal, command.replace(example, redis.url(redis.port))):
            host = the_host(terminal, lambda one: "agent" in one.service)
            assert host.service["agent"]["is_member"]


@pytest.mark.server("nginx")
def test_a_proxy_asks_the_process_that_answers(tmp_path: Path) -> None:
    (block,) = (one.text for one in shown("scale-out") if one.language == "nginx")
    port = live.free_port()
    block = block.replace("listen 8778;", f"listen 127.0.0.1:{port};")
    with contextlib.ExitStack() as stack:
        services = []
        for number in (1, 2):
            one = live.start(
                f"sqlite:///{tmp_path}/gantt.db", tmp_path / f"{number}.log"
            )
            stack.callback(one.kill)
            services.append(one)
            place = f"10.0.0.{number}:8778"
            assert place in block
            block = block.replace(place, one.url.removeprefix("http://"))
        stack.enter_context(proxy(tmp_path, port, block))
        for service in services:
            for _ in range(4):
                with urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
                    assert answer.status == 200
            assert service.stop() == 0
        with pytest.raises(HTTPError):
            urlopen(f"http://127.0.0.1:{port}/readyz")
