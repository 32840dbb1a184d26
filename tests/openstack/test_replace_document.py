"""docs/how-to/replace-nova-scheduler.md, followed word for word: its commands run, its
lines go into the ``nova.conf`` of a cloud that is databases and a message bus."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from nova import exception

from gantt.connection import connect
from tests.brokers import Rabbitmq
from tests.live import free_port
from tests.openstack.conductor import conductor, context, instances, spec
from tests.openstack.marks import ON_RABBITMQ
from tests.openstack.processes import Scheduler
from tests.openstack.test_presence import SERVICES, Nova, rows
from tests.programs import printed
from tests.tidy.source import ROOT
from tests.waiting import until

DOCUMENT = (ROOT / "docs" / "how-to" / "replace-nova-scheduler.md").read_text(
    encoding="utf-8"
)
FEED = (ROOT / "docs" / "how-to" / "feed.md").read_text(encoding="utf-8")
INI = re.compile(r"^```ini\n(.*?)^```$", re.DOTALL | re.MULTILINE)
URL = "mysql+pymysql://gantt:secret@db.example/gantt"
CONF = "/etc/nova/nova.conf"

pytestmark = ON_RABBITMQ


def commands(heading: str) -> list[str]:
    """The lines to type below a heading."""
    part = DOCUMENT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    assert part, heading
    return [line.strip() for line in part.split("\n") if line.startswith("    ")]


class Machine:
    """The machine that the commands are for: its files are in ``folder``."""

    def __init__(self, folder: Path, nova: Nova, bus: str) -> None:
        self.folder, self.nova = folder, nova
        self.books = f"sqlite:///{folder / 'gantt.db'}"
        self.conf = folder / "nova.conf"
        self.conf.write_text(
            f"[DEFAULT]\nhost = controller\ntransport_url = {bus}\n"
            f"[api_database]\nconnection = {nova.api.url}\n"
            f"[database]\nconnection = {nova.cell.url}\n"
        )

    def run(self, line: str) -> str:
        """What a command prints; programs are those of this environment."""
        program, *words = shlex.split(self.local(line))
        return printed([Path(sys.executable).parent / program, *words])

    def local(self, line: str) -> str:
        return line.replace(URL, self.books).replace(CONF, str(self.conf))


@pytest.fixture
def machine(tmp_path: Path, schema: Path, rabbitmq: Rabbitmq) -> Iterator[Machine]:
    for name in ("api", "cell"):
        shutil.copy(schema / f"{name}.db", tmp_path)
    nova = Nova(f"sqlite:///{tmp_path}/api.db", f"sqlite:///{tmp_path}/cell.db")
    yield Machine(tmp_path, nova, rabbitmq.url)
    nova.close()


def test_the_way_there_and_back(machine: Machine, rabbitmq: Rabbitmq) -> None:
    nova = machine.nova
    nova.cell.host("compute1", mapped=1)
    (written,) = (block for block in INI.findall(DOCUMENT) if "write_user" in block)
    with machine.conf.open("a") as conf:
        conf.write(written)
    port = free_port()
    (watched,) = (block for block in INI.findall(DOCUMENT) if "metrics_" in block)
    with machine.conf.open("a") as conf:
        conf.write(watched.replace("8779", str(port)))
    (sync,) = commands("3. Make the database of the books")
    machine.run(sync)
    _inventory(machine)

    stop, start, explain, probe = commands("4. Switch")
    assert stop == "systemctl stop nova-scheduler"
    options = shlex.split(machine.local(start))
    assert options[:2] == ["gantt", "scheduler"]
    running = Scheduler.running(options[1:], machine.folder / "gantt.log")
    try:
        running.wait_for("Serving as scheduler")
        (uuid,) = instances()
        with conductor(rabbitmq.url) as api:
            ((chosen, *_),) = api.select_destinations(
                context(), spec(), [uuid], True, True
            )
            with pytest.raises(exception.NoValidHost):
                api.select_destinations(
                    context(), spec(flavor={"vcpus": 9999}), instances(), True
                )
        assert chosen.service_host == "compute1"
        assert chosen.cell_uuid == nova.uuid
        example = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", explain)
        assert example
        said = machine.run(explain.replace(example[0], uuid))
        assert "compute1" in said
        ((host, _, beats, *_),) = rows(nova.cell, SERVICES)
        assert host == "controller" and beats > 0

        address = probe.removeprefix("curl -sf ").replace("8779", str(port))
        until(lambda: _answer(address) == "OK", 30)
        metrics = _answer(address.replace("readyz", "metrics"))
        for line in (
            'gantt_rpc_failures_total{kind="NoValidHost",method="select_destinations"}',
            'gantt_rpc_seconds_count{method="select_destinations"} 2.0',
            "gantt_feed_rounds_total",
            "gantt_feed_hosts 1.0",
            "gantt_presence_beats_total",
        ):
            assert f"\n{line}" in metrics
        for name in re.findall(r"`(gantt_(?:rpc|feed|presence)_\w+)", DOCUMENT + FEED):
            assert f"# TYPE {name} " in metrics, name

        kill, restart = commands("5. Roll back")
        assert restart == "systemctl start nova-scheduler"
        assert kill == "systemctl stop gantt-scheduler"
        assert running.stop() == 0
        assert "rpc_calls 2, rpc_refused 1" in running.text
    finally:
        running.kill()


def _answer(address: str) -> str:
    try:
        with urlopen(address, timeout=10) as answer:
            return str(answer.read().decode())
    except HTTPError as error:
        with error:
            return error.read().decode()


def _inventory(machine: Machine) -> None:
    """What the compute of a cloud writes to Placement itself."""
    from gantt.model.commands import Inventory

    ((uuid,),) = rows(machine.nova.cell, "SELECT uuid FROM compute_nodes")
    books = connect(machine.books)
    try:
        books.create_provider("compute1", uuid=uuid)
        books.set_inventories(
            uuid,
            {
                name: Inventory(total=total)
                for name, total in (
                    ("VCPU", 8),
                    ("MEMORY_MB", 8192),
                    ("DISK_GB", 100),
                )
            },
        )
        books.set_traits(uuid, ["OWNER_NOVA"])
    finally:
        books.close()


def test_without_a_writer_the_log_says_what_is_off(
    machine: Machine, rabbitmq: Rabbitmq
) -> None:
    machine.nova.cell.host("compute1", mapped=1)
    command = ["scheduler", "--config-file", str(machine.conf)]
    running = Scheduler.running(
        [*command, "--database", "memory://"], machine.folder / "gantt.log"
    )
    try:
        running.wait_for("Serving as scheduler")
        assert "[nova] write_user is not set" in running.text
        assert running.text.count("write_user") == 1
        assert rows(machine.nova.cell, SERVICES) == []
    finally:
        running.kill()
