"""The examples in the help of all commands.

Two tests run them: one here, and for what serves beside Nova one where a cloud of
databases is (tests/openstack/feed).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from scripts import manual

# Reads may stand anywhere; what is deleted was made before.
_ORDER: Final = (
    "sync",
    "create",
    "set",
    "add",
    "label",
    "",
    "remove",
    "release",
    "delete",
)
OF_A_CLOUD: Final = ("gantt feed", "gantt scheduler", "gantt shadow listen")


def commands() -> list[click.Context]:
    """Every command that does something, rather than have others below it."""
    return [
        one
        for name, program in manual.PROGRAMS.items()
        for one in manual.every(program, name)
        if not isinstance(one.command, click.Group)
    ]


def lines(*paths: str) -> list[str]:
    """Their examples, or those of all commands, as they can be typed in this order."""

    def place(context: click.Context) -> int:
        verb = context.command_path.split()[-1]
        return _ORDER.index(verb if verb in _ORDER else "")

    ordered: Sequence[click.Context] = sorted(commands(), key=place)
    return [
        line
        for one in ordered
        if not paths or one.command_path in paths
        for line in manual.examples(one.command)
    ]
