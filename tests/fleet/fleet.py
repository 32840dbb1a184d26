"""Two hosts, a service and an operator. Each host is a folder with a machine of its
own, an agent that reads it, and a way to start processes there, by a stand-in for ssh.

Commands are those of the documents, but for addresses and seconds. What runs on a host
are real processes: its /proc has links to them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gantt
from gantt.cli.main import gantt as cli
from gantt.model.hosts import HostView
from tests import live
from tests.agent.trees import Tree
from tests.cli.conftest import Program
from tests.tidy.source import ROOT

HOSTS = ("host-1", "host-2")
INTERVAL = 1
HEARTBEAT = 3
# Processes start and are noticed on a busy machine.
SLACK_S = 20.0
FLAVOR = "vcpus=1,memory_mb=64"
SETTINGS = """\
[api]
auth_strategy = token
[gantt]
tokens_file = {folder}/tokens
"""
TOKENS = "admin: {user: admin, project: admin, roles: [admin]}\n" + "".join(
    f"of-{host}: {{user: {host}, project: hosts, roles: [host]}}\n" for host in HOSTS
)
ENTRY = "[gantt.launchers]\nssh = its_cluster:ShellLauncher\n"
# As ssh does, it gives the command nothing of the environment here.
SSH = """#!/bin/sh
[ "$1" = -tt ] || exit 255
cd "{hosts}/$2" || exit 255
exec env -i PATH="$PATH" sh -c "ln -s /proc/\\$\\$ proc/; exec $3"
"""


def document(name: str) -> str:
    """The text of a document."""
    return (ROOT / "docs" / "how-to" / f"{name}.md").read_text(encoding="utf-8")


def command(name: str, part: str) -> list[str]:
    """The words after ``gantt`` of the only command of a document with ``part``."""
    lines = set(re.findall(r"^(?:    )?gantt[ -](.*)$", document(name), re.MULTILINE))
    (line,) = (one for one in lines if part in one)
    return shlex.split(line)


class Fleet:
    """``configured``: further sections of the service's configuration;
    ``coordination``: where agents show that they are there, "": nowhere; ``stream``:
    Kafka, for all agents, and for that of the last host the service besides;
    ``database``: "" for a file; ``environ``: of the service, besides."""

    def __init__(
        self,
        folder: Path,
        configured: str = "",
        *,
        coordination: str = "",
        stream: str = "",
        database: str = "",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self._coordination, self._stream = coordination, stream
        self.agents: dict[str, subprocess.Popen[bytes]] = {}
        self._launches: list[Launched] = []
        self._strays: list[subprocess.Popen[bytes]] = []
        for host in HOSTS:
            self._tree(host)
        self._install_launcher()
        (folder / "tokens").write_text(TOKENS)
        settings = folder / "gantt.conf"
        settings.write_text(SETTINGS.format(folder=folder) + configured)
        self.service = live.start(
            database or f"sqlite:///{folder}/gantt.db",
            folder / "serve.log",
            options=("--config-file", str(settings)),
            environ=environ,
        )
        self._operator = Program(cli, self.service.url)
        self.books = gantt.connect(self.service.url, token="admin")

    def close(self) -> None:
        for one in self._launches:
            one.close()
        for process in (*self.agents.values(), *self._strays):
            _kill(process)
        self.books.close()
        self.service.kill()

    # -- what an operator types -----------------------------------------------------

    def ask(self, *words: str) -> Any:
        """The JSON that a command prints."""
        return self._operator.ask(*words)

    def do(self, *words: str, status: int = 0) -> str:
        """What a command prints, errors too."""
        done = self._operator.run(*words)
        assert done.exit_code == status, done.output
        return done.output

    def start_agent(self, host: str) -> None:
        """As agent.md says, and liveness.md where there is coordination."""
        words = command("agent", "--interval 10")
        if self._coordination:
            joins = command("liveness", "agent --coordination")
            words += _with(joins[1:], coordination=self._coordination)
        words = _with(words, interval=INTERVAL, heartbeat=HEARTBEAT)
        words += ("--host", host, "--root", str(self.folder / host))
        environ = {**self._environ(), "GANTT_TOKEN": f"of-{host}"}
        if self._stream:
            settings = self.folder / "agent.conf"
            settings.write_text(
                f"[stream]\nheartbeat_s = {INTERVAL}\n"
                "client_properties = reconnect.backoff.max.ms:500\n"
            )
            words += ("--stream", self._stream, "--config-file", str(settings))
            if host != HOSTS[-1]:
                del environ["GANTT_URL"]
        with self.log(host).open("ab") as log:
            self.agents[host] = subprocess.Popen(
                live.program(*words), env=environ, stdout=log, stderr=subprocess.STDOUT
            )

    def resize(self, host: str, memory_mb: int) -> None:
        """The machine has so much memory from now on."""
        file = self.folder / host / "proc" / "meminfo"
        new = file.with_suffix(".new")
        new.write_text(f"MemTotal: {memory_mb * 1024} kB\n")
        new.rename(file)

    def launch(self, *words: str, script: str = "exec sleep 600") -> Launched:
        """``gantt launch`` of a small process, by ssh on either host."""
        size = ("--launcher", "ssh", "--flavor", FLAVOR)
        found = Launched(
            live.program("launch", *size, *words, "--", "sh", "-c", script),
            {**self._environ(), "GANTT_TOKEN": "admin"},
        )
        self._launches.append(found)
        found.wait_until_it_runs()
        return found

    def start_stray(self, host: str, instance: str) -> None:
        """A process on a host that says it is an instance, and that nothing claimed."""
        script = f"env GANTT_INSTANCE={instance} sleep 600"
        words = ("ssh", "-tt", host, script)
        self._strays.append(subprocess.Popen(words, env=self._environ()))

    # -- what is so -----------------------------------------------------------------

    def log(self, host: str) -> Path:
        """Of its agent."""
        return self.folder / f"{host}.log"

    def host(self, name: str) -> HostView:
        """As the books know it."""
        (found,) = self.books.list_hosts(host=name)
        return found

    def state(self, name: str) -> str:
        """As ``gantt host list`` tells it."""
        (found,) = (one for one in self.ask("host", "list") if one["host"] == name)
        state: str = found["state"]
        return state

    def is_seen(self, one: Launched) -> bool:
        """Whether its agent lists the instance: then its claim is pending no more."""
        view = self.host(one.host)
        return one.instance in view.instances and not any(view.claimed.values())

    def used_mb(self, host: str) -> int:
        """MEMORY_MB in the books."""
        (used,) = (
            one["used"]
            for one in self.ask("usage", "show", host)
            if one["resource_class"] == "MEMORY_MB"
        )
        assert isinstance(used, int)
        return used

    def findings(self, *words: str) -> list[tuple[str, str, str]]:
        """Kind, host and instance of what ``gantt audit`` finds."""
        done = self._operator.run("audit", *words, "-o", "json")
        found = json.loads(done.stdout)["findings"]
        assert done.exit_code == bool(found), done.output
        return [(one["kind"], one["host"], one["instance_uuid"]) for one in found]

    def reaches(
        self, is_so: Callable[[], object], within: float = 0.0, tell: str = ""
    ) -> None:
        """Return when it is so. Raises AssertionError, with the logs."""
        until = time.monotonic() + within + SLACK_S
        while not is_so():
            assert time.monotonic() < until, f"{tell}\n{self.logs()}"
            time.sleep(0.1)

    def logs(self) -> str:
        """The ends of all of them."""
        files = sorted(self.folder.glob("*.log"))
        return "\n".join(f"{one.name}:\n{one.read_text()[-2000:]}" for one in files)

    # -- beginnings -----------------------------------------------------------------

    def _tree(self, host: str) -> None:
        online = Path("/sys/devices/system/cpu/online").read_text()
        count = int(re.split("[-,]", online.strip())[-1]) + 1
        Tree(self.folder / host, sockets=1, threads=1, cores=count, gib=4)

    def _install_launcher(self) -> None:
        code = re.findall(r"```python\n(.*?)```", document("launching"), re.DOTALL)[1]
        installed = self.folder / "installed"
        facts = installed / "its_cluster-1.0.dist-info"
        facts.mkdir(parents=True)
        (installed / "its_cluster.py").write_text(code)
        (facts / "METADATA").write_text("Name: its-cluster\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(ENTRY)
        ssh = self.folder / "bin" / "ssh"
        ssh.parent.mkdir()
        ssh.write_text(SSH.format(hosts=self.folder))
        ssh.chmod(0o755)

    def _environ(self) -> dict[str, str]:
        return {
            **os.environ,
            "GANTT_URL": self.service.url,
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "PYTHONPATH": f"{self.folder}/installed:{ROOT}",
        }


class Launched:
    """A ``gantt launch`` that runs; ``instance`` and ``host`` once it says so."""

    def __init__(self, words: Sequence[str], environ: dict[str, str]) -> None:
        self.instance, self.host = "", ""
        self.process = subprocess.Popen(
            words,
            env=environ,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_until_it_runs(self) -> None:
        assert self.process.stderr is not None
        said = self.process.stderr.readline()
        match = re.fullmatch(r"Launched on (\S+): instance (\S+)\.\n", said)
        assert match, said + self.process.stderr.read()
        self.host, self.instance = match.groups()

    def end(self) -> int:
        """Its exit status when it is told to end."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(live.STOP_S)

    def close(self) -> None:
        for pid in pids_of(self.instance):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _kill(self.process)


def pids_of(instance: str) -> list[int]:
    """Processes of an instance, on whatever host."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (
                f"GANTT_INSTANCE={instance}\0".encode()
                in (folder / "environ").read_bytes()
            ):
                found.append(int(folder.name))
    return found if instance else []


@contextlib.contextmanager
def fleet(folder: Path, configured: str = "", **where: Any) -> Iterator[Fleet]:
    """Both hosts report. ``where``: as Fleet."""
    found = Fleet(folder, configured, **where)
    try:
        for host in HOSTS:
            found.start_agent(host)
        for host in HOSTS:
            is_known = partial(found.books.list_hosts, host=host)
            found.reaches(is_known, tell=f"{host} does not report")
        yield found
    finally:
        found.close()


def _with(words: Sequence[str], **options: object) -> list[str]:
    """``words`` with other values of these options."""
    found = list(words)
    for name, value in options.items():
        if f"--{name}" in found:
            found[found.index(f"--{name}") + 1] = str(value)
    return found


def _kill(process: subprocess.Popen[Any]) -> None:
    process.kill()
    process.wait(live.STOP_S)
