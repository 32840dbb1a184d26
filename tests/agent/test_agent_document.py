"""docs/how-to/agent.md and the unit, held to what the program does."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from gantt import errors
from gantt.agent import machine
from gantt.agent.files import Files
from gantt.agent.machine import all_collectors, describe
from gantt.agent.workloads.collector import WorkloadCollector
from gantt.agent.workloads.libvirt import LibvirtWorkloads
from gantt.agent.workloads.processes import ProcessWorkloads
from gantt.agent.workloads.sources import sources
from gantt.agent.workloads.systemd import SystemdWorkloads
from gantt.cli import agent as agent_command
from gantt.cli.agent import agent
from gantt.cli.main import gantt
from gantt.model.reports import Outcome
from gantt.placement.rules import own_host
from gantt.scheduler.options import SchedulerOptions
from tests import inprocess
from tests.agent.trees import Tree
from tests.cli.conftest import Program
from tests.deploy import units

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "how-to" / "agent.md").read_text(encoding="utf-8")
UNIT = (ROOT / "deploy" / "gantt-agent.service").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    gantt (.+)$", TEXT, re.MULTILINE)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    with inprocess.service(tmp_path) as url:
        yield Program(gantt, url)


def test_its_commands_run_in_their_order(program: Program) -> None:
    name = machine.machine_name()
    ending = [one for one in COMMANDS if "--interval" not in one]
    assert len(ending) == len(COMMANDS) - 1 == 4
    for words in ending:
        printed = program.do(*shlex.split(words.replace("HOST", name)))
        assert printed or words == "agent --once"


def test_the_options_that_it_names_exist() -> None:
    known = {flag for one in agent.params for flag in (*one.opts, *one.secondary_opts)}
    ours = re.sub(r"`python -m bench [^`]+`", "", TEXT)  # what measured its figures
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", ours))
    assert named <= known | {"--topology"}
    options = re.findall(r"`(max_\w+|report_also)`", TEXT)
    assert options and set(options) <= set(SchedulerOptions.__struct_fields__)
    (unit,) = re.findall(r"^ExecStart=/opt/gantt/bin/(.+)$", UNIT, re.MULTILINE)
    assert unit == agent_command.program.name
    for variable in ("GANTT_URL", "GANTT_TOKEN"):
        assert variable in TEXT and variable in UNIT


def test_the_unit_has_capabilities_only_with_the_drop_in() -> None:
    unit = dict(units.unit(ROOT / "deploy" / "gantt-agent.service").settings)
    capabilities = {"AmbientCapabilities", "CapabilityBoundingSet"}
    assert {unit[name] for name in capabilities} == {""}
    assert unit["SystemCallArchitectures"] == "native"
    for name in (
        "RestrictNamespaces",
        "LockPersonality",
        "NoNewPrivileges",
        "ProtectKernelLogs",
        "ProtectClock",
        "ProtectKernelTunables",
    ):
        assert unit[name] == "yes"
    assert not unit.keys() & {"ProcSubset", "InaccessiblePaths"}, "it reads /proc, /sys"
    (path,) = re.findall(r"`(deploy/[\w-]+\.conf)`", TEXT)
    more = dict(units.unit(ROOT / path).settings)
    assert more == dict.fromkeys(capabilities, "CAP_SYS_PTRACE")


def test_its_table_has_every_collector() -> None:
    table = dict(re.findall(r"^\| `(\w+Collector)` \| ([^|]+) \|", TEXT, re.MULTILINE))
    assert {type(one).__name__: set(one.provides) for one in all_collectors()} == {
        name: set(re.findall(r"`(\w+)`", text)) for name, text in table.items()
    }


def test_its_table_has_what_becomes_of_reports() -> None:
    table = TEXT[TEXT.index("| a report | becomes |") : TEXT.index("The agent answers")]
    codes = {kind.code for kind in errors.FullReportWanted.__subclasses__()}
    codes |= {errors.BadReport.code, errors.ReportTime.code}
    assert {one for one in codes if f"`{one}`" not in table} == set()
    assert {one for one in get_args(Outcome) if one not in table} == set()


def test_its_plug_in_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _ = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    found: dict[str, Any] = {}
    exec(code, found)

    class Entry:
        name, value = "address", "mine:AddressCollector"

        def load(self) -> Any:
            return found["AddressCollector"]

    monkeypatch.setattr(machine, "entry_points", lambda group: [Entry()])
    tree = Tree(tmp_path)
    tree.write("etc/host-ip", "10.0.0.1\n")
    part = describe(all_collectors(), tree.root)
    assert (part.fields["host_ip"], part.problems) == ("10.0.0.1", ())
    (tree.root / "etc/host-ip").unlink()
    part = describe(all_collectors(), tree.root)
    assert part.unread == {"host_ip"} and part.problems[0].path == "/etc/host-ip"


def test_its_source_of_workloads_is_one(tmp_path: Path) -> None:
    _, code = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    found: dict[str, Any] = {}
    exec(code, found)
    tree = Tree(tmp_path)
    tree.write("run/containers/one", "")
    source = found["ContainerWorkloads"]()
    assert WorkloadCollector([source]).collect(Files(tmp_path))["instances"] == ["one"]


def test_its_table_has_every_source_of_workloads() -> None:
    table = re.findall(r"^\| `(libvirt|systemd|processes)` \|", TEXT, re.MULTILINE)
    assert [type(one) for one in sources(table)] == [
        LibvirtWorkloads,
        SystemdWorkloads,
        ProcessWorkloads,
    ]


@pytest.mark.parametrize("provides", [frozenset({"colour"}), None])
def test_a_plug_in_that_cannot_be_used_is_refused(
    monkeypatch: pytest.MonkeyPatch, provides: Any
) -> None:
    class Bad:
        def __init__(self) -> None:
            self.provides = provides

        def collect(self, files: Files) -> dict[str, Any]:
            raise AssertionError("it is refused before it is asked")

    class Entry:
        name, value = "bad", "mine:Bad"

        def load(self) -> Any:
            return Bad

    monkeypatch.setattr(machine, "entry_points", lambda group: [Entry()])
    with pytest.raises(errors.Refused, match="'bad' of gantt.collectors"):
        all_collectors()


def test_its_token_is_of_a_host() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    ((entry),) = yaml.safe_load(text).values()
    assert entry == {"user": "host-1", "project": "hosts", "roles": ["host"]}
    assert f"may report {own_host.MAX_NODES} nodes" in TEXT
