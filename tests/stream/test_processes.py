"""The programs as an operator starts them: two workers, agents, a broker that dies."""

from __future__ import annotations

import os
import signal
import subprocess
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

from gantt.client.remote import RemoteGantt
from tests import live
from tests.agent.trees import KIB_PER_GIB, Tree
from tests.kafka_broker import Kafka
from tests.stream.streams import WAIT_S
from tests.waiting import until

pytestmark = pytest.mark.server("kafka")

CONFIGURATION = """
[gantt]
workers = 2
[stream]
bootstrap_servers = {servers}
partitions = 4
client_properties = reconnect.backoff.max.ms:500
"""


class Machine:
    """An agent in a process of its own, which reports a recorded machine."""

    def __init__(self, host: str, folder: Path, broker: Kafka) -> None:
        self.tree = Tree(folder / host)
        self._log = (folder / f"{host}.log").open("wb")
        self.process = subprocess.Popen(
            [
                *live.program("agent", "--stream", broker.servers, "--host", host),
                "--root",
                str(self.tree.root),
                "--interval",
                "0.3",
                "--workloads",
                "none",
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env={
                name: value for name, value in os.environ.items() if "GANTT" not in name
            },
        )

    def has(self, gib: int) -> None:
        self.tree.write("proc/meminfo", f"MemTotal: {gib * KIB_PER_GIB} kB\n")

    def is_stopped_by_sigterm(self) -> bool:
        """Whatever it is busy with: it has a handler, and the thread that runs it does
        not block the signal, so that no other thread is killed by it."""
        status = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        masks = dict(line.split(":", 1) for line in status)
        bit = 1 << (signal.SIGTERM - 1)
        caught, blocked = (int(masks[name], 16) & bit for name in ("SigCgt", "SigBlk"))
        return bool(caught) and not blocked

    def stop(self) -> int:
        """Its exit status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(WAIT_S)
        finally:
            self.process.kill()
            self._log.close()


def test_reports_over_kafka_whose_broker_is_killed(
    own_kafka: Kafka, tmp_path: Path
) -> None:
    file = tmp_path / "gantt.conf"
    file.write_text(CONFIGURATION.format(servers=own_kafka.servers))
    with ExitStack() as stack:
        service = live.start(
            f"sqlite:///{tmp_path / 'gantt.db'}",
            tmp_path / "serve.log",
            options=("--auth", "noauth2", "--config-file", str(file)),
        )
        stack.callback(service.kill)
        books = RemoteGantt(service.url, token="admin")
        stack.callback(books.close)
        machines = {name: Machine(name, tmp_path, own_kafka) for name in ("a", "b")}
        for one in machines.values():
            stack.callback(one.process.kill)

        def memory() -> dict[str, int]:
            return {one.host: one.stats["memory_mb"] for one in books.list_hosts()}

        def become(gib: int) -> None:
            wanted = dict.fromkeys(machines, gib * 1024)
            until(lambda: memory() == wanted, tell=memory)

        become(64)
        for one in machines.values():
            assert one.is_stopped_by_sigterm()
        for one in machines.values():
            one.has(65)
        become(65)
        own_kafka.kill()
        for one in machines.values():
            one.has(66)
        until(
            lambda: "Kafka" in _readyz(service.url), tell=lambda: _readyz(service.url)
        )
        own_kafka.start()
        become(66)
        until(lambda: _readyz(service.url) == "OK", tell=lambda: _readyz(service.url))
        assert [one.stop() for one in machines.values()] == [0, 0]
        assert service.stop() == 0


def _readyz(url: str) -> str:
    with urllib.request.urlopen(f"{url}/readyz", timeout=WAIT_S) as answer:
        assert answer.status == 200
        return str(answer.read().decode())
