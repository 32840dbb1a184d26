"""A program called in this process, without a service of its own."""

from __future__ import annotations

from collections.abc import Sequence

from click import Command
from click.testing import CliRunner, Result


def called(program: Command, words: Sequence[str], *, status: int = 0) -> Result:
    """What it says. Raises AssertionError with that where it ends with another
    status."""
    found = CliRunner().invoke(program, words)
    assert found.exit_code == status, (found.output, found.exception)
    return found
