"""Guides that are followed only with GANTT_GUIDES=1, as on a build server: each starts
services and a dozen programs. One needs the published traces besides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import is_wanted
from tests.replay.conftest import AZURE, TRACES
from tests.shown import Terminal

_IS_WANTED = is_wanted("GANTT_GUIDES")
collect_ignore = (
    []
    if _IS_WANTED
    else [
        "test_commands.py",
        "test_extending.py",
        "test_measuring.py",
        "test_operating.py",
        "test_programs.py",
        "test_streams.py",
        "test_wsgi_servers.py",
    ]
)
if not (_IS_WANTED and AZURE.is_dir()):
    collect_ignore.append("test_traces.py")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell what did not run for want of traces."""
    if _IS_WANTED and not AZURE.is_dir():
        terminalreporter.write_line(
            f"left out: tests/guides/test_traces.py, because {TRACES} has no traces; "
            "name their folder with GANTT_TRACES"
        )


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with Terminal(folder=tmp_path) as found:
        yield found
