"""Help as people see it: by sections, whole, on any terminal, and without arguments."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

import click
import pytest

from gantt.cli.main import SECTIONS, gantt
from gantt.cli.manage import manage
from gantt.cli.status import status
from scripts.manual import every
from tests.cli.test_unwritable import command

PROGRAMS = {"gantt": gantt, "gantt-manage": manage, "gantt-status": status}


def said(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words),
        env={**os.environ, "COLUMNS": "80", **environ},
        capture_output=True,
        encoding=environ.get("PYTHONIOENCODING", "utf-8"),
        check=False,
    )


@pytest.mark.parametrize(
    "words",
    [
        ("gantt",),
        ("gantt", "host"),
        ("gantt-manage",),
        ("gantt-manage", "db"),
        ("gantt-status",),
    ],
    ids=" ".join,
)
def test_without_arguments_a_program_prints_its_help(words: tuple[str, ...]) -> None:
    bare, whole = said(*words), said(*words, "--help")
    assert bare.returncode == 2
    assert bare.stderr == whole.stdout
    assert "\\n" not in bare.stderr
    assert len(bare.stderr.splitlines()) > 8


@pytest.mark.parametrize(
    ("name", "sections", "commands"),
    [
        ("gantt", SECTIONS, gantt.commands),
        ("gantt-manage", manage.sections, manage.commands),
    ],
)
def test_every_command_is_in_one_section(
    name: str,
    sections: Mapping[str, Sequence[click.Command]],
    commands: Mapping[str, click.Command],
) -> None:
    told = [one.name for section in sections.values() for one in section]
    assert sorted(filter(None, told)) == sorted(commands)
    lines = said(name, "--help").stdout.splitlines()
    titles = [
        line.rstrip(":") for line in lines if line.endswith(":") and line[0] > " "
    ]
    assert len(sections) > 1
    assert [one for one in titles if one in sections] == list(sections)


def test_no_description_is_cut() -> None:
    for name in PROGRAMS:
        assert "..." not in said(name, "--help").stdout.partition("Options:")[2]
    for name in ("host", "audit", "shadow", "replay"):
        found = said("gantt", name, "--help").stdout
        assert "..." not in found.partition("Commands:")[2]


@pytest.mark.parametrize("encoding", ["iso-8859-1", "iso-8859-15", "cp1252"])
def test_every_help_can_be_printed_on_an_old_terminal(encoding: str) -> None:
    code = (
        "import sys\n"
        "from gantt.cli.main import gantt\n"
        "for words in sys.argv[1:]:\n"
        "    gantt([*words.split(), '--help'], standalone_mode=False)\n"
    )
    names = [one.command_path.partition(" ")[2] for one in every(gantt, "gantt")]
    ended = subprocess.run(
        [sys.executable, "-c", code, *names],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr.decode()[-2000:]
    text = ended.stdout.decode(encoding)
    assert text.count("Usage: ") == len(names)
    assert "\\u" not in text
