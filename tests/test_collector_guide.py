"""The kind of resource that docs/how-to/write-a-collector.md adds works as shown there.

The package that is shown is written, tested, built and installed into a folder, where
its entry points are found. Then its commands run on recorded machines, against a
service that does not know the filter, and one that enables it as shown.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import live
from tests.agent.trees import Tree
from tests.programs import captured
from tests.shown import FENCE, document, pattern
from tests.test_contributing import OPTIONS
from tests.tidy.source import ROOT

SHOWN = document("docs/how-to/write-a-collector.md")
FILE = re.compile(r"`([\w.]+)` in `([\w/-]+/)`.*?:\n\n```\w+\n(.*?)^```$", re.S | re.M)
FILES = {folder + name: text for name, folder, text in FILE.findall(SHOWN)}
BLOCKS = FENCE.findall(SHOWN)
COMMANDS = [text for language, text in BLOCKS if language == "sh"]
(REFUSAL,) = (text for language, text in BLOCKS if language == "text")
COLUMN = "stats.sgx_epc_mb"
# Adds where the machine was recorded to the commands of the agent.
WRAPPER = """#!/bin/sh
recorded="--root $MACHINE --host ${{MACHINE##*/}}"
exec {python} -m gantt "$@" $([ "$1" = agent ] && echo "$recorded")
"""


@dataclass
class Place:
    """Where the package is installed, and two recorded machines: the first has 256 MiB
    of enclave memory."""

    folder: Path
    url: str = ""

    @property
    def environ(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "PYTHONPATH": f"{self.folder}/installed:{ROOT}",
            "GANTT_URL": self.url,
        }

    def run(self, *command: str, host: str = "host-1", status: int = 0) -> str:
        """What it prints."""
        done = captured(
            command,
            cwd=self.folder,
            env={**self.environ, "MACHINE": str(self.folder / host)},
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr if status else done.stdout

    def shown(self, part: str, **more: Any) -> str:
        """What the one command that is shown with ``part`` prints."""
        (line,) = {
            line
            for text in COMMANDS
            for line in text.splitlines()
            if line.startswith("gantt ") and re.search(part, line)
        }
        return self.run("sh", "-c", line, **more)

    @contextmanager
    def service(self, *options: str) -> Iterator[None]:
        """A service on the same database every time."""
        running = live.start(
            f"sqlite:///{self.folder}/gantt.db",
            self.folder / "log",
            options=("--auth", "noauth2", *options),
            environ=self.environ,
        )
        self.url = running.url
        try:
            yield
        finally:
            running.stop()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("plugin")
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    for name, size in (("host-1", 128 * 2**20), ("host-2", None)):
        tree = Tree(folder / name)
        for node in ("node0", "node1") if size else ():
            file = f"sys/devices/system/node/{node}/x86/sgx_total_bytes"
            tree.write(file, f"{size}\n")
    wrapper = folder / "bin" / "gantt"
    wrapper.parent.mkdir()
    wrapper.write_text(WRAPPER.format(python=sys.executable))
    wrapper.chmod(0o755)
    found = Place(folder)
    assert COMMANDS[0].startswith("/opt/gantt/bin/pip install ./gantt-sgx\n")
    found.run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        "installed",
        "./gantt-sgx",
    )
    return found


def test_the_package_is_shown_whole(place: Place) -> None:
    modules = {f"gantt_sgx/{name}.py" for name in ("__init__", "collector", "filter")}
    names = {"pyproject.toml", "test_sgx.py", *modules}
    assert set(FILES) == {f"gantt-sgx/{name}" for name in names}
    code = [path for path in FILES if path.endswith(".py")]
    ours = 'lint.isort.known-first-party = ["gantt", "gantt_sgx"]'
    settings = ("--config", f"{ROOT}/pyproject.toml", "--config", ours, "--no-cache")
    ruff = (sys.executable, "-m", "ruff")
    place.run(*ruff, "check", *settings, *code)
    place.run(*ruff, "format", *settings, "--check", *code)


def test_the_tests_that_are_shown_pass(place: Place) -> None:
    pytest_ = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    said = place.run(*pytest_, "gantt-sgx/test_sgx.py")
    shown = FILES["gantt-sgx/test_sgx.py"].count("def test_")
    assert f"{shown} passed" in said and "skipped" not in said


@pytest.mark.slow
def test_from_the_machine_to_the_decision(place: Place) -> None:
    """Without the filter the column is not sent, and asking for it moves nothing."""
    (enabled,) = OPTIONS.findall(SHOWN)
    without = place.folder / "without.conf"
    without.write_text(enabled.replace(", EnclaveMemoryFilter", ""))
    with_filter = place.folder / "with.conf"
    with_filter.write_text(enabled)

    with place.service("--config-file", str(without)):
        assert COLUMN not in place.shown("needs")
        assert "sgx" not in place.shown("--show")
        for host in ("host-1", "host-2"):
            place.shown("--once$", host=host)
        assert "host-2" in place.shown("epc_mb=4096")

    with place.service("--config-file", str(with_filter)):
        (row,) = re.findall(rf"^{COLUMN} +(.*)$", place.shown("needs"), re.M)
        assert row.split() == ["EnclaveMemoryFilter"]
        shown = json.loads(place.shown("--show"))
        assert shown["report"]["fields"]["stats"] == {"sgx_epc_mb": 256}
        for host in ("host-1", "host-2"):
            place.shown("--once$", host=host)
        assert "host-1" in place.shown("epc_mb=128")
        refusal = place.shown("epc_mb=4096", status=1)
        assert re.fullmatch(pattern(REFUSAL), refusal, re.S), refusal
