"""Two of each program of Gantt behind nginx, as deploy/two-machines has it; one of each
is killed in a burst of builds, and none fails."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cloud.books import Books
from tests.cloud.cloud import Cloud
from tests.cloud.processes import ROOT, Program
from tests.cloud.schedulers import Replaced, Setup
from tests.cloud.settings import write
from tests.cloud.tenant import Tenant
from tests.guides.nginx import proxy
from tests.live import free_port

SETUPS = frozenset({"upstream", "gantt"})
BURST, EVERY = 20, 5
PROXY = ROOT / "deploy" / "two-machines" / "nginx.conf"
FROM_NOVA = {"reports_write_books": "false", "requires_service": "true"}


class Two:
    """What runs twice: ``gantt serve`` is Placement and, where Gantt schedules, told of
    hosts by ``gantt feed``."""

    def __init__(self, cloud: Cloud, setup: Setup) -> None:
        self.cloud, self.setup = cloud, setup
        self.pairs: list[tuple[str, str]] = []

    def start(self, stack: ExitStack, folder: Path) -> None:
        """In place of the one that was Placement so far, on its port."""
        cloud, port = self.cloud, self.cloud.settings.ports.placement
        cloud.stop("placement")
        stack.callback(self._as_before)
        text = PROXY.read_text().replace("10.0.0.10:8778", f"127.0.0.1:{port}")
        file = cloud.files["gantt"].with_name("two.conf")
        write(file, {**cloud.settings.gantt(), "scheduler": FROM_NOVA})
        ports = [free_port(), free_port()]
        for number, own in enumerate(ports, 1):
            text = text.replace(f"10.0.0.{number}:8778", f"127.0.0.1:{own}")
            self._run(f"serve{number}", "serve", str(file), "--listen", place(own))
        for number, own in enumerate(ports, 1):
            cloud.programs[f"serve{number}"].wait_for_http(own, "/readyz")
        self.pairs.append(("serve1", "serve2"))
        stack.enter_context(proxy(folder, port, text))
        if isinstance(self.setup, Replaced):
            self._start_more(self.setup, f"http://{place(port)}")

    def _start_more(self, setup: Replaced, url: str) -> None:
        self.setup.cloud.programs["first"] = self.cloud.programs.pop("scheduler")
        setup.start_scheduler("second", "controller2")
        for name, says in (("feed1", "Feeding"), ("feed2", "this one stands by")):
            nova = str(self.cloud.files["nova"])
            self._run(name, "feed", nova, "--url", url).wait_for(says)
        setup.wait_for_consumers(2)
        self.pairs += [("first", "second"), ("feed1", "feed2")]

    def _run(self, name: str, command: str, file: str, *more: str) -> Program:
        given = self.cloud.settings.user()
        signed = {f"OS_{key.upper()}": str(value) for key, value in given.items()}
        typed = sys.executable, "-m", "gantt", command, "--config-file", file, *more
        return self.cloud.run(name, *typed, PYTHONPATH=str(ROOT), **signed)

    def kill(self, name: str) -> None:
        """As a crash would."""
        self.cloud.programs.pop(name).kill()

    def _as_before(self) -> None:
        """One of each again."""
        cloud = self.cloud
        for one in ("serve1", "serve2", "feed1", "feed2"):
            if one in cloud.programs:
                self.kill(one)
        port = cloud.settings.ports.placement
        file = str(cloud.files["gantt"])
        self._run("placement", "serve", file, "--listen", place(port))
        cloud.programs["placement"].wait_for_http(port)
        if "second" in cloud.programs:
            for name in ("first", "second"):
                if name in cloud.programs:
                    cloud.stop(name)
            self.setup.wait_for_consumers(0)
            self.setup.start()


def place(port: int) -> str:
    return f"127.0.0.1:{port}"


@pytest.mark.server("nginx")
def test_one_of_each_is_killed_in_a_burst_and_no_build_fails(
    cloud: Cloud, setup: Setup, tenant: Tenant, books: Books, tmp_path: Path
) -> None:
    two = Two(cloud, setup)
    with ExitStack() as stack:
        two.start(stack, tmp_path)
        servers = [tenant.ask() for _ in range(EVERY)]
        for first, _ in two.pairs:
            two.kill(first)
            servers += [tenant.ask() for _ in range(EVERY)]
        servers += [tenant.ask() for _ in range(BURST - len(servers))]
        tenant.running(servers)
        books.check()
        assert len(books.allocations()) == BURST
        cloud.check()
