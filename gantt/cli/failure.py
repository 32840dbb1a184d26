"""How every program ends when it cannot do what was asked: a sentence and a status.

0   done
1   refused or failed; standard error says what was asked, what is, what to do
2   the command line itself is wrong (click's own status)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from gantt.errors import GanttError, shortened
from gantt.model.printable import printable


class Failed(click.ClickException):
    """The end of a command: a sentence, and ``below`` it lines that are printable
    already."""

    def __init__(self, message: str, below: str = "") -> None:
        text = printable(shortened(message))
        super().__init__(f"{text}\n\n{below}".rstrip() if below else text)


class Program(click.Group):
    """A program. What it says of a wrong command line repeats that, and is made
    printable here: click itself would print it raw."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """As Group."""
        with _printable():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """As Group."""
        with _printable():
            return super().invoke(ctx)


@contextmanager
def _printable() -> Iterator[None]:
    try:
        yield
    except Failed:
        raise
    except click.ClickException as error:
        # What click shows of it, with the usage above.
        error.message = printable(shortened(error.message))  # type: ignore[misc]
        raise


@contextmanager
def told_plainly() -> Iterator[None]:
    """Turn a refusal into a message on standard error and exit status 1."""
    try:
        yield
    except GanttError as error:
        raise Failed(error.message) from error
    except UnicodeEncodeError as error:
        # The shell hands over bytes that are no UTF-8 as halves of surrogate pairs.
        text = f"{error.object!r} is no UTF-8 text: write it in UTF-8."
        raise Failed(text) from error
