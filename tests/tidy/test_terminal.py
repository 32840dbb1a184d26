"""All that programs print goes through ``gantt/cli/output.py``, where names that hold
escape sequences are made printable; and they fail through ``gantt/cli/failure.py``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gantt.cli.failure import Program
from gantt.cli.main import gantt
from gantt.cli.manage import manage
from gantt.cli.status import status
from tests.tidy.source import Source, sources

SEAM = ("cli", "output")
FAILURE = ("cli", "failure")
PRINTERS = frozenset(
    {"print", "echo", "secho", "echo_via_pager", "style", "Console", "Progress"}
)
STREAMS = frozenset({"stdout", "stderr", "__stdout__", "__stderr__"})


def _breaches(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in PRINTERS and source.parts != SEAM:
                yield f"{source.at(node.lineno)}: {name}() prints around the seam"
            if name == "ClickException" and source.parts != FAILURE:
                yield f"{source.at(node.lineno)}: raise Failed instead"
        elif (
            isinstance(node, ast.Attribute)
            and node.attr in STREAMS
            and source.parts != SEAM
        ):
            yield f"{source.at(node.lineno)}: a stream is written around the seam"
    for line, module in source.imports():
        if module.partition(".")[0] == "rich" and source.parts != SEAM:
            yield f"{source.at(line)}: rich draws in cli/output.py alone"


def _programs() -> list[Source]:
    return [source for source in sources() if source.floor == "cli"]


def test_no_command_prints_around_the_one_place() -> None:
    breaches = [breach for source in _programs() for breach in _breaches(source)]
    assert not breaches, "\n".join(breaches)


def test_every_program_is_one_that_makes_wrong_usage_printable() -> None:
    for program in (gantt, manage, status):
        assert isinstance(program, Program), program.name
