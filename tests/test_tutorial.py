"""The tutorial, followed command by command: what it shows is what happens.

Its commands run as they stand there, one after the other, on a service started as
``make run`` starts it.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import live
from tests.programs import printed
from tests.shown import Terminal, document, programs, said_as_shown
from tests.tidy.source import ROOT

FIRST = document("docs/tutorial/first-decision.md")
PYTHON = document("docs/tutorial/from-python.md")
# How ``make run`` serves, but for the database and the port.
SERVED = ("--auth", "noauth2", "--register-machine")


def test_every_program_prints_what_is_shown() -> None:
    shown = list(programs(PYTHON))
    assert len(shown) == 3
    for one in shown:
        ran = printed([sys.executable, "-c", one.text])
        assert one.printed is not None
        said_as_shown(one, ran)


@pytest.fixture
def two_processors() -> Iterator[None]:
    """For all that is started meanwhile: the tutorial tells of such a machine."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(processors)[:2])
    yield
    os.sched_setaffinity(0, processors)


@pytest.mark.usefixtures("two_processors")
def test_its_commands_print_what_is_shown(tmp_path: Path) -> None:
    assert " ".join(SERVED) in (ROOT / "scripts" / "run").read_text()
    url = f"sqlite:///{tmp_path}/gantt.db"
    service = live.start(url, tmp_path / "first.log", options=SERVED)
    again = None
    try:
        started: list[str] = []
        instead = {"make run": lambda: started.append("make run")}
        terminal = Terminal(service.url, instead=instead)
        assert terminal.follow(FIRST) > 10
        assert started == ["make run"]
        with_curl = int(shutil.which("curl") is not None)
        assert terminal.follow(_without_programs(PYTHON)) == with_curl
        used = terminal.type("gantt usage show $(hostname)")
        assert service.stop() == 0
        again = live.start(url, tmp_path / "second.log", options=SERVED)
        assert Terminal(again.url).type("gantt usage show $(hostname)") == used
    finally:
        service.kill()
        if again is not None:
            again.kill()


def _without_programs(text: str) -> str:
    return re.sub(r"^```python\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def test_it_begins_with_the_commands_that_make_run_ends_with(tmp_path: Path) -> None:
    log = tmp_path / "log"
    service = live.start(f"sqlite:///{tmp_path}/gantt.db", log, options=SERVED)
    service.kill()
    printed = re.findall(r"^  gantt (.*)$", log.read_text(), re.MULTILINE)
    assert len(printed) == 4
    for command in printed:
        told = command.removesuffix(f" --url {service.url}")
        told = told.replace(socket.gethostname(), "$(hostname)")
        assert f"\ngantt {told}\n" in FIRST
