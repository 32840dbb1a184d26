"""Every command shows an example in its help, and each can be typed as it stands.

One service with the fleet of ``make demo`` answers all; what one example creates,
another deletes. Those of ``OF_A_CLOUD`` are typed in tests/openstack/feed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import cast
from uuid import uuid4

import click
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from gantt.engine.background.usage_recorder import UsageRecorder
from gantt.engine.gantt import Gantt
from gantt.model.demand import Demand, Item
from gantt.model.hosts import HostStats, ServerGroup
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from scripts import manual
from scripts.demo_fleet import Demo, PastClock, stats
from scripts.reference import commands as commands_page
from tests import inprocess, live
from tests.cli.examples import OF_A_CLOUD, commands, lines
from tests.engine.shadow.observed import claim, observe, settled
from tests.foreign import placement_on
from tests.guides.guide import guide
from tests.programs import begun
from tests.reported import report_of
from tests.shown import blocks
from tests.tidy.source import ROOT
from tests.waiting import until

INSTANCE = "8b04f231-0817-4c78-8caa-8ce3ad8eaea1"
CLAIM = "3f0e9a52-6c1d-4b78-9d2e-51a7c84f0b36"
GROUP = "2c4e8a10-5b7d-4f19-8e36-90a1b2c3d4e5"
DEMAND = "5d1f0a52-6c1d-4b78-9d2e-51a7c84f0b99"
PLACEMENT = "mysql+pymysql://placement@db/placement"
SERVICE = "http://127.0.0.1:8778"
# They go on until they are told to end.
SERVING = (
    "gantt serve --database sqlite:///gantt.db --auth noauth2",
    "gantt agent --interval 10",
    "gantt-agent --interval 10",
    "gantt watch",
)
# A shell has what it begins in the background ignore SIGINT, and that is inherited.
_INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from {} import main
main()
"""
CONFIGURED = """
[gantt]
shadow_settle_s = 1
usual_flavors = 3xname=small,vcpus=2,memory_mb=4096
usual_flavors = 1xname=large,vcpus=8,memory_mb=32768
"""


class Fleet:
    """The demo's hosts, this machine, and a folder with the files that are named."""

    def __init__(self, books: Gantt, url: str, folder: Path) -> None:
        self.books, self.url, self.folder = books, url, folder
        self.environ = {
            "GANTT_URL": url,
            "OS_GANTT__LISTEN": f"127.0.0.1:{live.free_port()}",
            "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{folder}/gantt.db",
        }
        no_samples = cast("UsageRecorder", None)  # it has no history
        Demo(books, PastClock(time.time_ns() // 1000), no_samples).found()
        books.update_host("gen-51", None, HostStats(vcpus=8, memory_mb=8192))
        told = replace(stats(0), instances=(), lists_instances=True)
        books.report_hosts([report_of("gen-01", 1, told)])
        assert self.type("gantt agent --once") == ""  # this machine, for gantt launch
        books.set_server_group(ServerGroup(GROUP, "web"))
        self._write_files()

    def _write_files(self) -> None:
        for block in blocks(guide("replay")):
            if block.file:
                (self.folder / block.file).write_text(block.text, encoding="utf-8")
        machine = {"name": "a", "inventories": {"VCPU": 16, "MEMORY_MB": 65536}}
        (self.folder / "machines.json").write_text(json.dumps([machine]))
        shutil.copy(ROOT / "docs/bench/short.json", self.folder / "report.json")
        trace = "gantt replay trace.csv --mapping mapping.toml --fleet machines.json"
        for name in ("spread.gz", "stack.gz"):
            assert self.type(f"{trace} --out {name}") == ""

    def typed_here(self, line: str) -> str:
        """The example with what this fleet has for what it names."""
        if INSTANCE in line or CLAIM in line:
            uuid, made = self._instance()
            line = line.replace(INSTANCE, uuid).replace(CLAIM, made)
        if DEMAND in line:
            item = Item(f"large-{uuid4()}", cpu=1_000_000)
            waits = self.books.place_demand(Demand((item,), wait_s=600.0))
            line = line.replace(DEMAND, waits.demand)
        there = f"sqlite:///{self.folder}/placement.db"
        return line.replace(PLACEMENT, there).replace(SERVICE, self.url)

    def _instance(self) -> tuple[str, str]:
        """One that was chosen for, and what it was claimed by."""
        uuid, spec = str(uuid4()), RequestSpec(Flavor(1, 512, 1), project_id="web")
        request = ScheduleRequest(spec, (uuid,), request_id=f"req-{uuid}")
        ((chosen, *_),) = self.books.schedule(request)
        assert chosen.claim is not None
        return uuid, chosen.claim

    def heard(self) -> int:
        """When this machine has reported last."""
        (view,) = self.books.list_hosts(host=socket.gethostname())
        return view.updated_at or 0

    def type(self, line: str) -> str:
        """What is wrong, if anything."""
        name, *words = shlex.split(line)
        program = manual.PROGRAMS[name]
        ended = CliRunner(env=self.environ).invoke(program, words)
        if ended.exit_code == 0 and "Traceback" not in ended.output:
            return ""
        return f"{line}\n{ended.output}{ended.exception!r}"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("examples")
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.chdir(folder)
        app, books = stack.enter_context(
            inprocess.application(folder, configured=CONFIGURED)
        )
        assert isinstance(books, Gantt)
        yield Fleet(books, stack.enter_context(inprocess.served(app)), folder)


@pytest.mark.parametrize("context", commands(), ids=lambda one: one.command_path)
def test_every_command_shows_an_example(context: click.Context) -> None:
    """A block of its help that keeps its lines: Example, and the line below."""
    found = manual.examples(context.command)
    program = context.find_root().command_path
    assert found and all(line.startswith(f"{program} ") for line in found)
    shown = CliRunner().invoke(context.command, ["--help"]).output
    assert [line for line in found if f"    {line}\n" not in shown] == []


def test_manual_pages_and_the_reference_show_the_same() -> None:
    pages, reference = "".join(dict(manual.pages()).values()), commands_page.page()
    for line in lines():
        # These commands have the pages of the programs that are the same.
        own = re.sub("^gantt (agent|launch) ", r"gantt-\1 ", line)
        assert manual.escaped(own) in pages
        assert f"\n{line}\n" in reference


def test_examples_do_what_they_say(fleet: Fleet) -> None:
    told = [one for one in lines() if one not in (*SERVING, *lines(*OF_A_CLOUD))]
    assert len(told) > 75
    with placement_on(f"sqlite:///{fleet.folder}/placement.db"):
        pass
    shadowed = [one for one in told if one.startswith("gantt shadow show")]
    assert len(shadowed) == 1
    failed = [fleet.type(fleet.typed_here(one)) for one in told if one not in shadowed]
    assert "\n\n".join(filter(None, failed)) == ""


def test_what_nova_was_seen_to_claim_is_shown(fleet: Fleet) -> None:
    observe(fleet.books, INSTANCE)
    claim(fleet.books, INSTANCE, "gen-03")
    settled(fleet.books, INSTANCE)
    (line,) = lines("gantt shadow show")
    assert fleet.type(line) == ""


@pytest.mark.parametrize("line", SERVING)
def test_examples_that_serve_go_on_until_they_are_told_to_end(
    fleet: Fleet, line: str, tmp_path: Path
) -> None:
    assert line in lines()
    name, *words = shlex.split(line)
    module = f"gantt.cli.{'main' if name == 'gantt' else 'agent'}"
    log, before = tmp_path / "log", fleet.heard()
    with log.open("wb") as output:
        running = begun(
            [sys.executable, "-c", _INTERRUPTIBLE.format(module), *words],
            output,
            cwd=fleet.folder,
            env=os.environ | fleet.environ,
        )
    try:
        until(lambda: _works(fleet, words[0], log, before), tell=log.read_text)
        running.send_signal(signal.SIGINT)
        assert running.wait(live.STOP_S) == 0, log.read_text()
    finally:
        running.kill()
        running.wait()


def _works(fleet: Fleet, verb: str, log: Path, before: int) -> bool:
    """Whether it does what it is there for."""
    if verb == "serve":
        return "Serving on" in log.read_text()
    if verb == "watch":
        fleet.books.create_trait(f"CUSTOM_{uuid4().hex.upper()}")
        return bool(log.read_text())
    return fleet.heard() > before
