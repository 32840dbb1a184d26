"""The manual pages that packages build: whole, and without faults in roff."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import click
import pytest

from gantt.cli.main import gantt
from scripts import manual
from tests.programs import captured

PAGES = dict(manual.pages())
needs_man = pytest.mark.skipif(shutil.which("man") is None, reason="man is missing")


def test_every_command_of_gantt_has_a_page_that_the_first_names() -> None:
    pages = {f"gantt-{name}" for name in gantt.commands}
    assert PAGES.keys() == pages | manual.PROGRAMS.keys()
    listed = {
        line for line in PAGES["gantt"].splitlines() if line.startswith(".BR gantt\\-")
    }
    assert {
        f".BR gantt\\-{manual.escaped(name)} (1)" for name in gantt.commands
    } <= listed


@pytest.mark.parametrize("program", manual.PROGRAMS)
def test_every_option_is_in_its_page(program: str) -> None:
    missing: list[str] = []

    def look(command: click.Command, page: str) -> None:
        context = click.Context(command, resilient_parsing=True)
        for parameter in command.params:
            words = [*parameter.opts, *parameter.secondary_opts]
            if isinstance(parameter, click.Option) and not parameter.hidden:
                missing.extend(
                    word for word in words if manual.escaped(word) not in PAGES[page]
                )
        for name, below in manual.commands(context):
            look(below, f"gantt-{name}" if command is gantt else page)

    look(manual.PROGRAMS[program], program)
    assert missing == []


@needs_man
def test_man_shows_every_page_without_a_warning(tmp_path: Path) -> None:
    manual.main(tmp_path)
    for path in sorted(tmp_path.iterdir()):
        shown = captured(
            ["man", "--warnings=all", "-E", "UTF-8", "-l", path],
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "80"},
        )
        assert (shown.returncode, shown.stderr) == (0, ""), path.name
        found = subprocess.check_output(["lexgrog", path], text=True)
        assert f'"{path.stem} - ' in found


def test_text_is_not_taken_for_requests() -> None:
    assert manual.escaped(".so x\n'y\na-b\\") == "\\&.so x\n\\&'y\na\\-b\\e"
