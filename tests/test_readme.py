"""What the README shows, in Python and at the command line, is what happens.

Its commands run as they stand there, one after the other, on a service started as
``make run`` starts it. Numbers, uuids, times and the name of the machine may differ; …
stands for anything.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import live
from tests.tidy.source import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
STORY = "## A walk through", "## From Python"
MACHINE = "debian"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"(gantt|curl|PATH=|U=)")
WILD = {
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}": r"[0-9a-f-]{36}",
    r"\d{4}-\d\d-\d\dT[\d:.+]+": r"\S+",
    r"(?<![\w-])\d+(\.\d+)?": r"\d+(\.\d+)?",
    "…": ".*",
}
# How ``make run`` serves, but for the database and the port.
SERVED = ("--auth", "noauth2", "--register-machine")


def story() -> Iterator[tuple[str, str | None]]:
    """Every block of commands, and what is shown below it, if anything is."""
    part = README.partition(STORY[0])[2].partition(STORY[1])[0]
    commands = None
    for language, text in FENCE.findall(part):
        if language or COMMAND.match(text):
            if commands is not None:
                yield commands, None
            commands = None if language else text
        elif commands is not None:
            yield commands, text
            commands = None
    if commands is not None:
        yield commands, None


def pattern(shown: str) -> str:
    """What matches an answer like the one that is shown, however it is wrapped."""
    parts = re.compile("|".join(f"({wild})" for wild in (*WILD, re.escape(MACHINE))))
    found, end = [], 0
    for hit in parts.finditer(shown):
        found += [_plain(shown[end : hit.start()]), _wild(hit.group())]
        end = hit.end()
    return "".join((r"\s*", *found, _plain(shown[end:].rstrip()), r"\s*"))


def _plain(text: str) -> str:
    return r"\s+".join(re.escape(word) for word in re.split(r"\s+", text))


def _wild(text: str) -> str:
    for wild, stands_for in WILD.items():
        if re.fullmatch(wild, text):
            return stands_for
    return re.escape(socket.gethostname())


class Terminal:
    """A shell in the folder of the repository, whose variables last."""

    def __init__(self, url: str) -> None:
        self._port = url.rpartition(":")[2]
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._environ = {**os.environ, "GANTT_URL": url, "PATH": path}
        self._variables = ""

    def type(self, text: str) -> str:
        """What these commands print, errors too."""
        text = text.replace("8778", self._port)
        if re.match("[A-Z]+=", text):
            self._variables += text.splitlines()[0] + "\n"
        ended = subprocess.run(
            ["sh", "-c", self._variables + text],
            cwd=ROOT,
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return ended.stdout


def shown_hosts() -> tuple[str, str]:
    """The example that picks hosts, and what it is said to print."""
    part = README.partition("## Pick and claim hosts")[2]
    shown = re.search(r"```python\n(.*?)```\s+```\n(.*?)```", part, re.DOTALL)
    assert shown is not None
    return shown[1], shown[2]


def test_readme_selection_is_reproduced() -> None:
    code, expected = shown_hosts()
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ran.stdout == expected


def test_every_python_example_runs() -> None:
    for language, code in FENCE.findall(README):
        if language == "python":
            subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def two_processors() -> Iterator[None]:
    """For all that is started meanwhile: the README tells of such a machine."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(processors)[:2])
    yield
    os.sched_setaffinity(0, processors)


@pytest.mark.usefixtures("two_processors")
def test_readme_output_matches_the_commands(tmp_path: Path) -> None:
    assert " ".join(SERVED) in (ROOT / "scripts" / "run").read_text()
    url = f"sqlite:///{tmp_path}/gantt.db"
    service = live.start(url, tmp_path / "first.log", options=SERVED)
    again = None
    try:
        terminal = Terminal(service.url)
        tried = 0
        for commands, shown in story():
            if commands.startswith(("curl", "U=")) and shutil.which("curl") is None:
                continue
            said = terminal.type(commands)
            tried += 1
            if shown is None:
                assert "Error" not in said, f"{commands}\n{said}"
                assert '"errors"' not in said, f"{commands}\n{said}"
            else:
                match = re.fullmatch(pattern(shown), said, re.DOTALL)
                assert match, f"{commands} shown:\n{shown}\nsaid:\n{said}"
        assert tried > 10
        used = terminal.type("gantt usage show $(hostname)")
        assert service.stop() == 0
        again = live.start(url, tmp_path / "second.log", options=SERVED)
        assert Terminal(again.url).type("gantt usage show $(hostname)") == used
    finally:
        service.kill()
        if again is not None:
            again.kill()


def test_readme_matches_the_output_of_make_run(tmp_path: Path) -> None:
    """The commands that it ends with are the first of the walk, but for the place."""
    log = tmp_path / "log"
    service = live.start(f"sqlite:///{tmp_path}/gantt.db", log, options=SERVED)
    service.kill()
    printed = re.findall(r"^  gantt (.*)$", log.read_text(), re.MULTILINE)
    assert len(printed) == 4
    for command in printed:
        told = command.removesuffix(f" --url {service.url}")
        told = told.replace(socket.gethostname(), "$(hostname)")
        assert f"\ngantt {told}\n" in README
