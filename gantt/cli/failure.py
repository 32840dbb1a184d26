"""How every program reports failure: a message and an exit status.

0   done
1   refused or failed; standard error says what was asked, what is, what to do
2   the command line itself is wrong (click's own status)
130 Ctrl-C, in silence
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final

import click

from gantt.cli.output import drop_output, prepare_streams
from gantt.errors import Forbidden, GanttError, shortened
from gantt.model.printable import printable
from gantt.version import __version__

_OTHER: Final = "Name another caller by --token (environment GANTT_TOKEN)."
_WHOLE: Final = 10_000
INTERRUPTED: Final = 128 + signal.SIGINT


class Failed(click.ClickException):
    """A command failed: a message, and ``below`` it lines that are already
    printable."""

    def __init__(self, message: str, below: str = "") -> None:
        text = printable(shortened(message))
        super().__init__(f"{text}\n\n{below}".rstrip() if below else text)


class _Printable(click.Command):
    """Usage errors quote the command line, so they are made printable here: click
    itself would print them raw."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parses the arguments; what is wrong with them is told."""
        prepare_streams()
        with _printable_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; what it refuses is told, with an exit status."""
        with _printable_errors():
            return super().invoke(ctx)


class OneCommand(_Printable):
    """A program that is one command, which another program may have as well: its
    examples type its own name."""

    def __init__(self, name: str, command: click.Command) -> None:
        super().__init__(
            name,
            callback=command.callback,
            params=[*command.params],
            help=(command.help or "").replace(f"gantt {command.name} ", f"{name} "),
            context_settings={"help_option_names": ["-h", "--help"]},
        )
        click.version_option(__version__, prog_name=name)(self)


class Program(_Printable, click.Group):
    """A program of several commands. ``sections``: title -> commands, as its help
    groups them."""

    sections: Mapping[str, Sequence[click.Command]] = MappingProxyType({})

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Keeps the descriptions of commands whole."""
        _keep_whole(self)
        return super().make_context(*args, **kwargs)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Lists the commands by sections."""
        if not self.sections:
            super().format_commands(ctx, formatter)
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(one.name or "", one.get_short_help_str()) for one in commands]
                )


def _keep_whole(group: click.Group) -> None:
    """Descriptions below it that help does not cut: lines are wrapped instead."""
    for command in group.commands.values():
        command.short_help = command.short_help or command.get_short_help_str(_WHOLE)
        if isinstance(command, click.Group):
            _keep_whole(command)


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
    except (Failed, click.exceptions.NoArgsIsHelpError):
        raise  # printable already, and of several lines
    except click.ClickException as error:
        # The text that click shows below the usage.
        error.message = printable(shortened(error.message))  # type: ignore[misc]
        raise


@contextmanager
def refusals_reported() -> Iterator[None]:
    """Turn a refusal into a message on standard error and exit status 1."""
    try:
        yield
    except Forbidden as error:
        raise Failed(f"{error.message.rstrip()} {_OTHER}") from error
    except GanttError as error:
        raise Failed(error.message) from error
    except UnicodeEncodeError as error:
        # The shell passes bytes that are not UTF-8 as halves of surrogate pairs.
        text = f"{error.object!r} is not UTF-8: encode it as UTF-8."
        raise Failed(text) from error
