"""docs/how-to/shadow-nova.md, followed word for word, on a private message bus.

``systemctl restart`` starts the part of nova-scheduler that sends notifications, with
the ``nova.conf`` that the document has made.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid as uuids
from collections.abc import Iterator
from pathlib import Path

import pytest

from gantt.client.remote import RemoteGantt
from gantt.model.commands import ConsumerAllocations
from gantt.model.hosts import HostStats
from tests import live
from tests.brokers import Rabbitmq
from tests.programs import printed
from tests.tidy.source import ROOT
from tests.waiting import until

pytestmark = [pytest.mark.server("rabbitmq")]
DOCUMENT = (ROOT / "docs" / "how-to" / "shadow-nova.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
URL = "http://gantt.example:8778"
WAIT_S = 60.0
AMOUNTS = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}


class Machine:
    """One with nova-scheduler and Gantt's command line: follows the blocks."""

    def __init__(self, folder: Path, service: live.Live, broker: Rabbitmq) -> None:
        self._folder, self._broker = folder, broker
        self._gantt = RemoteGantt(service.url)
        self._conf = folder / "nova.conf"
        self._conf.write_text(f"[DEFAULT]\ntransport_url = {broker.url}\n")
        self._places = {URL: service.url, "/etc/nova/nova.conf": str(self._conf)}
        self._nova: subprocess.Popen[str] | None = None
        self._listener: subprocess.Popen[str] | None = None
        self.installed: list[str] = []
        self.printed: list[str] = []

    def follow(self, heading: str) -> None:
        """Do what the blocks below a heading say."""
        part = DOCUMENT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
        blocks = BLOCK.findall(part)
        assert blocks, heading
        for language, text in blocks:
            if language == "ini":
                with self._conf.open("a") as conf:
                    conf.write(f"\n{text}")
            else:
                assert language == "console"
                for typed in text.removeprefix("$ ").split("\n$ "):
                    command, _, shown = typed.strip().partition("\n")
                    self._type(command, shown)

    def _type(self, command: str, shown: str) -> None:
        for there, here in self._places.items():
            command = command.replace(there, here)
        if command == "systemctl restart nova-scheduler":
            self._nova = self._start("tests.openstack.notifier", str(self._conf))
        elif command.startswith("pip install"):
            self.installed.append(command)  # it is: these tests need it
        elif command.startswith("rabbitmqctl"):
            self._broker.control(command)
        elif command.startswith("gantt shadow listen"):
            self._listener = self._start("gantt", *command.split()[1:])
            assert self._listener.stderr is not None
            assert self._listener.stderr.readline().strip() == shown
        else:
            program, *arguments = command.split()
            assert program == "gantt"
            self.printed.append(self.run(*arguments))

    def run(self, *arguments: str) -> str:
        """What the command line prints."""
        return printed(live.program(*arguments))

    def boot(self, host: str | None) -> str:
        """What Nova does for a server: notify, claim, notify; its uuid. ``host`` None:
        it finds none."""
        uuid = str(uuids.uuid4())
        self._notify("start", uuid)
        if host is not None:
            (provider,) = (
                one.uuid for one in self._gantt.list_providers() if one.name == host
            )
            self._gantt.set_allocations(
                [ConsumerAllocations(uuid, {provider: AMOUNTS}, "p", "u", None)]
            )
            self._notify("end", uuid)
        return uuid

    def _notify(self, phase: str, uuid: str) -> None:
        assert self._nova is not None
        assert self._nova.stdin is not None
        assert self._nova.stdout is not None
        order = {"phase": phase, "uuid": uuid, "request_id": f"req-{uuid}"}
        self._nova.stdin.write(f"{json.dumps(order)}\n")
        self._nova.stdin.flush()
        assert self._nova.stdout.readline() == "sent\n"

    def until_recorded(self, count: int) -> None:
        """Until so many records are there."""
        records = self._gantt.shadow_records
        until(lambda: len(records()) >= count, WAIT_S, records)

    def stop(self) -> str:
        """End the listener; what it says then."""
        assert self._listener is not None
        self._listener.terminate()
        _, said = self._listener.communicate(timeout=WAIT_S)
        assert self._listener.returncode == 0, said
        return said

    def close(self) -> None:
        """End what still runs."""
        self._gantt.close()
        for process in (self._nova, self._listener):
            if process is not None:
                process.kill()
                process.communicate()

    def _start(self, module: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", module, *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if module == "gantt" else subprocess.DEVNULL,
            text=True,
        )


@pytest.fixture
def service(tmp_path: Path) -> Iterator[live.Live]:
    """A Gantt that is the cloud's Placement, and knows two hosts."""
    conf = tmp_path / "gantt.conf"
    conf.write_text("[gantt]\nshadow_settle_s = 2\n")
    options = ("--auth", "noauth2", "--config-file", str(conf))
    found = live.start(f"sqlite:///{tmp_path}/g.db", tmp_path / "log", options=options)
    books = RemoteGantt(found.url)
    for host, memory_mb in (("big", 16_384), ("small", 4096)):
        stats = HostStats(
            vcpus=8,
            memory_mb=memory_mb,
            local_gb=100,
            free_ram_mb=memory_mb,
            free_disk_gb=100,
            hypervisor_hostname=host,
        )
        books.update_host(host, host, stats)
    books.close()
    yield found
    found.kill()


@pytest.fixture
def machine(
    tmp_path: Path, service: live.Live, rabbitmq: Rabbitmq
) -> Iterator[Machine]:
    found = Machine(tmp_path, service, rabbitmq)
    yield found
    found.close()


@pytest.mark.slow
def test_document_is_followed_word_for_word(machine: Machine) -> None:
    machine.follow("Switch the notifications on")
    machine.follow("Listen")
    assert machine.installed == [
        'pip install dist/gantt_[as]*.whl "$(ls dist/gantt_scheduler-*.whl)[rpc]"'
    ]
    placed = [machine.boot("big"), machine.boot("big"), machine.boot("small")]
    refused = machine.boot(None)
    machine.until_recorded(4)
    machine.follow("Read the report")
    listed, report = machine.printed
    verdicts = {line.split()[1]: line.split()[2] for line in listed.splitlines()[1:]}
    assert verdicts == {
        placed[0]: "same",
        placed[1]: "same",
        placed[2]: "ranked",
        refused: "refused_by_nova",
    }
    assert re.search(r"^agreement.same +0\.6667$", report, re.M)
    assert re.search(r"^ranked +RAMWeigher +1 ", report, re.M)
    assert re.search(r"^refused_by_nova +1 ", report, re.M)
    assert re.search(r"^nova_latency.p50_s +\d", report, re.M)
    assert "Note: Few records (4)" in report
    said = machine.stop()
    assert "Notifications passed on: 7; lost: 0; not readable: 0." in said
