"""docs/how-to/advise-nova.md, followed word for word: commands run, lines go into
nova.conf.

Nova is that of this environment, in one where Gantt cannot be imported; its scheduler
is tests/plugin/nova_scheduler.py, which `systemctl restart` makes anew; Gantt is a real
service.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from gantt_nova_plugin.options import GROUP, OPTIONS
from oslo_config import cfg

from tests import live
from tests.plugin.clouds import spec
from tests.plugin.service import DOCUMENT, FREE_RAM_MB, call
from tests.programs import captured
from tests.tidy.source import ROOT

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
URL = "http://gantt.example:8778"
RESTART = "systemctl restart nova-scheduler"
HERE = Path(__file__).parent

NOVAS_ORDER = "node1 node2 node3"


def section(heading: str) -> list[tuple[str, str]]:
    """The blocks below a heading: language, text."""
    part = DOCUMENT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    assert part, heading
    return BLOCK.findall(part)


class Machine:
    """One that runs nova-scheduler: follows the document's blocks."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self._conf = folder / "nova.conf"
        self._log = folder / "nova-scheduler.log"
        self._conf.write_text("[DEFAULT]\ndebug = false\n")
        self._places = {
            URL: url,
            "/opt/nova": str(folder / "nova"),
            "/var/log/nova/nova-scheduler.log": str(self._log),
        }
        (folder / "nova-plugin").symlink_to(ROOT / "nova-plugin")
        self._install_nova()
        self.chosen = ""

    def _install_nova(self) -> None:
        """An environment that sees what is installed in this one; links to packages
        under work, Gantt's too, are not followed."""
        nova = self._folder / "nova"
        venv.create(nova)
        purelib = nova / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
        (purelib / "nova.pth").write_text(sysconfig.get_path("purelib"))
        pip = nova / "bin" / "pip"
        python = nova / "bin" / "python"
        pip.write_text(
            f'#!/bin/sh\nexec {sys.executable} -m pip --python {python} "$@"\n'
        )
        pip.chmod(0o755)
        for name in ("clouds.py", "nova_scheduler.py"):
            shutil.copy(HERE / name, self._folder)
        with (self._folder / "stderr").open("wb") as errors:
            self._scheduler = subprocess.Popen(
                [python, "nova_scheduler.py"],
                cwd=self._folder,
                env=self._environ(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def close(self) -> None:
        self._scheduler.kill()
        self._scheduler.communicate()

    def follow(self, *blocks: tuple[str, str]) -> None:
        """Do what the blocks say."""
        for language, text in blocks:
            if language == "ini":
                self._configure(self._placed(text))
            else:
                assert language == "console"
                self._type(self._placed(text))

    def run(self, command: str) -> str:
        """What a command prints, errors too."""
        return captured(
            ["sh", "-c", command],
            cwd=self._folder,
            env=self._environ(),
            stderr=subprocess.STDOUT,
        ).stdout

    def boot(self) -> str:
        """The hosts for a request, the best first, by what nova.conf says now."""
        assert self._scheduler.stdin is not None
        assert self._scheduler.stdout is not None
        order = f"--config-file {self._conf} --log-file {self._log}\n"
        self._scheduler.stdin.write(order)
        self._scheduler.stdin.flush()
        return self._scheduler.stdout.readline().strip()

    def remove(self, pattern: str) -> None:
        """Take lines out of nova.conf."""
        text, count = re.subn(pattern, "", self._conf.read_text(), flags=re.M | re.S)
        assert count == 1
        self._conf.write_text(text)

    def _type(self, block: str) -> None:
        for typed in block.removeprefix("$ ").split("\n$ "):
            command, _, shown = typed.strip().partition("\n")
            if command.startswith("curl") and shutil.which("curl") is None:
                continue
            if command == RESTART:
                self.chosen = self.boot()
            else:
                assert self.run(command).strip() == shown, command

    def _configure(self, block: str) -> None:
        """Write these options, in the place of those of the same names."""
        for part in block.strip().split("\n\n"):
            heading, *lines = part.splitlines()
            text = self._conf.read_text()
            before, found, after = text.partition(f"{heading}\n")
            inside, end, rest = after.partition("\n[")
            names = {line.partition("=")[0].strip() for line in lines}
            kept = [
                line
                for line in inside.splitlines()
                if line.partition("=")[0].strip() not in names
            ]
            before += "" if found else "\n"
            new = "\n".join([heading, *lines, *filter(None, kept), ""])
            self._conf.write_text(f"{before}{new}{end}{rest}")

    def _placed(self, text: str) -> str:
        for there, here in self._places.items():
            text = text.replace(there, here)
        return text

    def _environ(self) -> dict[str, str]:
        """No network: what builds the wheel is installed here."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        return {
            **environ,
            "PATH": path,
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_ROOT_USER_ACTION": "ignore",
        }


@pytest.fixture
def machine(tmp_path: Path, service: live.Live) -> Iterator[Machine]:
    found = Machine(tmp_path, service.url)
    yield found
    found.close()


@pytest.mark.slow
def test_document_is_followed_word_for_word(machine: Machine) -> None:
    assert "No module named 'gantt'" in machine.run("nova/bin/python -c 'import gantt'")
    own, reached = section("Before")
    assert own[1].startswith("[gantt]\nadvice_from"), "the service has it"
    machine.follow(reached)
    machine.follow(*section("Install"))
    machine.follow(*section("Observe"))
    assert machine.chosen == NOVAS_ORDER
    machine.follow(*section("Advise"))
    assert machine.chosen == "node3 node2 node1"
    machine.follow(*section("Decide"))
    assert machine.chosen == "node3 node2"
    fast, restart, rest = section("Take it out")
    machine.follow(fast, restart)
    assert machine.chosen == NOVAS_ORDER
    machine.remove(r"^available_filters = gantt_nova_plugin.nova.GanttFilter\n")
    machine.remove(r"^\[gantt\]\n[^\[]*")
    machine.follow(rest)
    assert machine.chosen == NOVAS_ORDER
    gone = machine.run("nova/bin/python -c 'import gantt_nova_plugin'")
    assert "No module named 'gantt_nova_plugin'" in gone


def test_external_schedulers_need_one_line(service: live.Live) -> None:
    ((_, block),) = section("Clouds with an external scheduler")
    url = block.rpartition(" = ")[2].strip()
    answer = call(
        service.url,
        "POST",
        url.removeprefix(URL),
        {
            "spec": spec().obj_to_primitive(),
            "context": {},
            "hosts": [
                {"host": name, "hypervisor_hostname": f"{name}.node"}
                for name in FREE_RAM_MB
            ],
            "weights": dict.fromkeys(FREE_RAM_MB, 1.0),
        },
    )
    assert answer == {"hosts": ["node3", "node2", "node1"]}


def test_lists_of_storage_end_with_what_the_plug_in_brings(tmp_path: Path) -> None:
    """Cinder reads these, not Gantt: its lists of stages in [DEFAULT] are Nova's former
    ones by name."""
    ((language, text),) = section("Cinder and Manila")
    assert language == "ini"
    file = tmp_path / "cinder.conf"
    file.write_text(text, encoding="utf-8")
    lists = {
        "scheduler_default_filters": ("cinder.scheduler.filters", "GanttFilter"),
        "scheduler_default_weighers": ("cinder.scheduler.weights", "GanttWeigher"),
    }
    project = tomllib.loads((ROOT / "nova-plugin/pyproject.toml").read_text())
    conf = cfg.ConfigOpts()
    conf.register_opts(OPTIONS, GROUP)
    conf.register_opts([cfg.ListOpt(name) for name in lists])
    conf(["--config-file", str(file)])
    for name, (group, brought) in lists.items():
        assert conf[name][-1] == brought
        assert brought in project["project"]["entry-points"][group]
    assert (conf.gantt.url, conf.gantt.mode) == (URL, "observe")
    shown = re.findall(r"^(\w+) = ", text.partition("[gantt]")[2], re.MULTILINE)
    assert set(shown) <= {option.name for option in OPTIONS}


@pytest.mark.parametrize("name", ["cinder", "manila"])
def test_storage_is_answered_with_its_own_order(name: str, service: live.Live) -> None:
    path = f"/scheduler/{name}/external"
    assert f"`{path}`" in DOCUMENT
    names = ["h@lvm#a", "h@lvm#b"]
    body = {
        "spec": {},
        "hosts": [{"host": name} for name in names],
        "weights": {names[0]: 1.0, names[1]: 2.0},
    }
    assert call(service.url, "POST", path, body) == {"hosts": names[::-1]}


def test_document_has_every_option_and_its_default() -> None:
    table = DOCUMENT.partition("\n## Options\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|(.*?)\|", table, re.MULTILINE)
    shown = {name: default.strip(" `") for name, default in rows}
    for option in OPTIONS:
        default = shown[option.name]
        if isinstance(option.default, (int, float)):
            told = default.replace(" MiB", "")
            scale = 2**20 if "MiB" in default else 1
            assert float(told) * scale == option.default, option.name
        elif option.default is not None:
            assert default == option.default
    assert set(shown) == {option.name for option in OPTIONS}
