"""The units of ``deploy/``: what they start, what they take away, what that leaves."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gantt.cli.agent import agent
from gantt.cli.main import gantt
from gantt.cli.manage import manage
from tests import live
from tests.deploy.units import FOLDER, Unit, unit, units
from tests.notified import manager
from tests.programs import captured, printed
from tests.tidy.source import ROOT

# Of `systemd-analyze security`, from 0 (a program may do nothing) to 10 (anything).
MOST_EXPOSED = 3.0
PROGRAMS = {"gantt": gantt, "gantt-agent": agent, "gantt-manage": manage}
DOCUMENT = ROOT / "docs" / "how-to" / "installing.md"
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd is not installed"
)
each_unit = pytest.mark.parametrize("one", units(), ids=lambda one: one.path.stem)


@each_unit
def test_its_commands_exist(one: Unit) -> None:
    for name in ("ExecStartPre", "ExecStart"):
        for value in one.all(name):
            program, *words = shlex.split(value)
            command = PROGRAMS[Path(program).name]
            if not isinstance(command, click.Group):
                assert words == []
                continue
            context = click.Context(command, resilient_parsing=True)
            _, found, _ = command.resolve_command(context, _without_options(words))
            assert found is not None, value


def _without_options(words: list[str]) -> list[str]:
    return words[2:] if words[0] == "--config-file" else words


@each_unit
def test_it_notifies_and_restarts(one: Unit) -> None:
    assert one.one("Type") == "notify"
    assert one.one("Restart") == "on-failure"


def test_programs_that_reload_are_told_to() -> None:
    reloading = {one.path.stem for one in units() if one.all("ExecReload")}
    assert reloading == {"gantt", "gantt-scheduler"}
    for one in units():
        for value in one.all("ExecReload"):
            assert value == "/bin/kill -HUP $MAINPID"


@needs_systemd
@each_unit
def test_it_is_hardly_exposed(one: Unit) -> None:
    told = printed(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", one.path]
    )
    (level,) = re.findall(r"Overall exposure level for \S+: ([\d.]+) ", told)
    assert float(level) <= MOST_EXPOSED


@needs_systemd
@each_unit
def test_systemd_knows_every_line(one: Unit) -> None:
    told = captured(["systemd-analyze", "verify", "--man=no", one.path]).stderr
    own = [line for line in told.splitlines() if line.startswith(one.path.name)]
    # The programs are not installed here.
    strange = [line for line in own if "is not executable" not in line]
    assert strange == []
    assert "Unknown key" not in told and "Failed to parse" not in told


@needs_systemd
@pytest.mark.parametrize("workers", ["1", "2"])
def test_gantt_serves_with_what_its_unit_leaves(tmp_path: Path, workers: str) -> None:
    path = FOLDER / "gantt.service"
    within = [sys.executable, "-m", "tests.deploy.confined", str(path)]
    options = ("--auth", "noauth2", "--workers", workers)
    with manager(tmp_path) as listener:
        service = live.start(
            f"sqlite:///{tmp_path / 'gantt.db'}",
            tmp_path / "log",
            options=options,
            within=within,
            environ={**listener.environ, "PYTHONPATH": str(ROOT)},
        )
        try:
            listener.until("READY=1")
            environ = {"GANTT_URL": service.url, "PATH": "/usr/bin:/bin"}
            for words in (
                "provider create new",
                "inventory set new VCPU=4",
                "allocation set new --provider new VCPU=1",
            ):
                subprocess.run(
                    live.program(*words.split()), check=True, env=environ, cwd=ROOT
                )
            shown = live.program("usage", "show", "new", "-o", "json")
            found = json.loads(subprocess.check_output(shown, env=environ, cwd=ROOT))
            assert [(row["resource_class"], row["used"]) for row in found] == [
                ("VCPU", 1)
            ]
            service.process.send_signal(signal.SIGHUP)
            listener.until("RELOADING=1")
            assert service.stop() == 0
        finally:
            service.kill()
        assert "Traceback" not in service.log.read_text()


@needs_systemd
def test_the_confinement_confines() -> None:
    """Else the test above proves nothing."""
    within = [sys.executable, "-m", "tests.deploy.confined"]
    attempt = (
        "import ctypes, os, socket; libc = ctypes.CDLL(None, use_errno=True);"
        "print(libc.mount(b'x', b'/', b'y', 0, 0), ctypes.get_errno());"
        "socket.socket(socket.AF_INET).close();"
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)"
    )
    ended = captured(
        [*within, str(FOLDER / "gantt.service"), sys.executable, "-c", attempt],
        cwd=ROOT,
    )
    assert ended.stdout == "-1 1\n"
    assert ended.returncode == 1 and "PermissionError" in ended.stderr


def test_the_document_explains_every_line() -> None:
    """Of all units together: they share most of them."""
    text = DOCUMENT.read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", text, re.MULTILINE)
    explained = {
        name for cell in cells for name in re.findall(r"`(\w+)(?:=[^`]*)?`", cell)
    }
    assert {name for one in units() for name, _ in one.settings} - explained == set()
    values = {f"{name}={value}" for one in units() for name, value in one.settings}
    quoted = {q for cell in cells for q in re.findall(r"`(\w+=[^`]*)`", cell)}
    assert quoted <= values, "a line is explained that no unit has"


def test_workers_meet_where_no_cleaner_comes() -> None:
    """Cleaners remove what is old in /tmp, also in one that a unit has of its own;
    a folder of two units would go when either stops."""
    folders = {
        one.path.stem: one.all("RuntimeDirectory")
        for one in units()
        if {"serve", "scheduler"} & set(shlex.split(one.one("ExecStart")))
    }
    assert folders == {name: [name] for name in ("gantt", "gantt-scheduler")}


def test_drop_ins_only_add_capabilities() -> None:
    drop_in = unit(FOLDER / "gantt-agent-processes.conf")
    names = {name for name, _ in drop_in.settings}
    assert names == {"AmbientCapabilities", "CapabilityBoundingSet"}
