"""How every program reports failure: a message and an exit status.

0   done
1   refused or failed; standard error says what was asked, what is, what to do
2   the command line itself is wrong (click's own status)
130 Ctrl-C, in silence
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from gantt.cli.output import drop_output
from gantt.errors import GanttError, shortened
from gantt.model.printable import printable

INTERRUPTED: Final = 128 + signal.SIGINT


class Failed(click.ClickException):
    """A command failed: a message, and ``below`` it lines that are already
    printable."""

    def __init__(self, message: str, below: str = "") -> None:
        text = printable(shortened(message))
        super().__init__(f"{text}\n\n{below}".rstrip() if below else text)


class Program(click.Group):
    """A program. Its usage errors quote the command line, so they are made printable
    here: click itself would print them raw."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """As Group."""
        with _printable_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """As Group."""
        with _printable_errors():
            return super().invoke(ctx)


@contextmanager
def _printable_errors() -> Iterator[None]:
    try:
        yield
    except (ConnectionError, TimeoutError):
        raise  # of these, click ends in silence when a pipe's reader has seen enough
    except KeyboardInterrupt:
        # Silent, as of programs that the signal ends; click would print "Aborted!".
        raise click.exceptions.Exit(INTERRUPTED) from None
    except OSError as error:
        drop_output()
        reason = error.strerror or type(error).__name__
        where = error.filename
        what = "Cannot write the output" if where is None else f"Cannot use {where}"
        raise Failed(f"{what}: {reason}.") from error
    except Failed:
        raise
    except click.ClickException as error:
        # The text that click shows below the usage.
        error.message = printable(shortened(error.message))  # type: ignore[misc]
        raise


@contextmanager
def refusals_reported() -> Iterator[None]:
    """Turn a refusal into a message on standard error and exit status 1."""
    try:
        yield
    except GanttError as error:
        raise Failed(error.message) from error
    except UnicodeEncodeError as error:
        # The shell passes bytes that are not UTF-8 as halves of surrogate pairs.
        text = f"{error.object!r} is not UTF-8: encode it as UTF-8."
        raise Failed(text) from error
