"""Output of commands: a table for people; JSON, YAML, CSV or values for programs.

Separate from the commands so that each only states its columns, and because names are
untrusted: all output to a terminal passes through here, where control characters and
escape sequences in names are replaced. JSON and YAML keep names exact by escaping them,
CSV in a pipe or file as well; on a terminal CSV is made printable like a table.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import click
import msgspec

from gantt.cli.streams import prepared
from gantt.model.printable import printable

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.text import Text

FORMATS = ("table", "json", "csv", "yaml", "value")
DOCUMENTS = ("json", "yaml")
GAP = "   "
PIECE = 100  # lines
LONGEST = 2**31 - 1  # letters of a line of YAML: no value is broken in two

T = TypeVar("T")

Styled: TypeAlias = Sequence[tuple[str, str]]
"""Texts in a row, each with its style of rich: a colour, or empty."""


class Box(NamedTuple):
    """A part of a picture. ``rows``: a label, and what is beside it: several texts are
    put in columns, as many as the terminal has room for."""

    title: str
    rows: Sequence[tuple[str, Sequence[Styled]]]


def say(text: str = "", *, err: bool = False) -> None:
    """Print lines for people. Names in ``text`` must have passed ``plain`` or
    ``printable``: here every newline ends a line."""
    click.echo("\n".join(map(printable, text.split("\n"))), err=err)


def plain(value: T) -> T:
    """``value`` with each text in it on one line and without control characters, for
    use in sentences."""
    return _plain(value)  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, msgspec.Struct):
        names = value.__struct_fields__
        return type(value)(**{name: _plain(getattr(value, name)) for name in names})
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)(map(_plain, value))
    return value


def print_rows(
    output: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    only: Sequence[str] = (),
) -> None:
    """Print a listing: one line per row, one object per row in JSON and YAML. ``only``:
    the columns to print, in this order; none: all. Raises click.UsageError."""
    places = places_of(only, columns)
    names = [columns[place] for place in places]
    listed = [[row[place] for place in places] for row in map(tuple, rows)]
    if output in DOCUMENTS:
        objects = [dict(zip(names, row, strict=True)) for row in listed]
        print_document(objects, output)
    elif output == "csv":
        print_csv(names, *listed)
    elif output == "value":
        _print_values(listed)
    else:
        _print_table(names, listed)


def print_record(output: str, record: dict[str, Any], only: Sequence[str] = ()) -> None:
    """Print one record: a line per field; CSV has a header and one row. ``only``: as
    in ``print_rows``."""
    names = tuple(record)
    chosen = {names[place]: record[names[place]] for place in places_of(only, names)}
    if output in DOCUMENTS:
        print_document(chosen, output)
    elif output == "csv":
        print_csv(tuple(chosen), tuple(chosen.values()))
    elif output == "value":
        _print_values([value] for value in chosen.values())
    else:
        _print_table(("field", "value"), list(chosen.items()))


def places_of(only: Sequence[str], columns: Sequence[str]) -> Sequence[int]:
    """Where the columns ``only`` are; without any, all. Raises click.UsageError."""
    unknown = [name for name in only if name not in columns]
    if unknown:
        known = ", ".join(map(_plain, columns))
        raise click.UsageError(
            f"There is no column {', '.join(map(repr, unknown))}; columns: {known}."
        )
    names = list(columns)
    return [names.index(name) for name in only] if only else range(len(names))


def print_document(document: Any, output: str = "json") -> None:
    """Print JSON or YAML that is not a table; values become objects."""
    if output == "yaml":
        click.echo(_yaml(document), nl=False)
        return
    click.echo(_escaped(msgspec.json.format(msgspec.json.encode(document), indent=2)))


def print_line(
    output: str, columns: Sequence[str], row: Sequence[Any], only: Sequence[str] = ()
) -> None:
    """Print a row of a listing that goes on: an object on one line in JSON, an item of
    a list in YAML; tables have no heading, as widths are not known."""
    places = places_of(only, columns)
    cells = [row[place] for place in places]
    if output == "json":
        print_json_line({columns[place]: row[place] for place in places})
    elif output == "yaml":
        print_document([{columns[place]: row[place] for place in places}], output)
    elif output == "csv":
        print_csv(cells)
    elif output == "value":
        _print_values([cells])
    else:
        say("  ".join(printable(_cell(value, "-")) for value in cells))


def time_text(at: int | None, timespec: str = "milliseconds") -> str | None:
    """Microseconds since the epoch as ISO 8601 in UTC."""
    if at is None:
        return None
    return datetime.fromtimestamp(at / 1_000_000, UTC).isoformat(timespec=timespec)


def print_json_line(value: Any) -> None:
    """Print JSON on one line."""
    click.echo(_escaped(msgspec.json.encode(value)))


def print_csv(*rows: Sequence[Any]) -> None:
    """Print lines of CSV."""
    shown = printable if sys.stdout.isatty() else str
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([shown(_cell(value, "")) for value in row] for row in rows)
    # color=True: in a pipe, click would strip what looks like a colour.
    click.echo(buffer.getvalue(), nl=False, color=True)


def _print_values(rows: Iterable[Sequence[Any]]) -> None:
    """Print values alone, with a space between; what has none is None, as OpenStack's
    clients print it."""
    _echo(" ".join(printable(_cell(one, "None")) for one in row) for row in rows)


def _echo(lines: Iterator[str]) -> None:
    # In pieces: a reader that has seen enough, such as head, ends the command.
    while piece := list(islice(lines, PIECE)):
        click.echo("\n".join(piece))


def _yaml(document: Any) -> str:
    import yaml

    values = msgspec.to_builtins(document, str_keys=True)
    dump = partial(
        yaml.dump,
        values,
        Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper),
        sort_keys=False,
        width=LONGEST,
        encoding=None,
    )
    text = str(dump(allow_unicode=True))
    is_safe = all(line.isprintable() for line in text.split("\n"))
    return text if is_safe else str(dump(allow_unicode=False))


def _escaped(document: bytes) -> str:
    """``document`` with unprintable characters escaped: outside of strings, JSON has
    no control characters but newlines."""
    text = document.decode("utf-8")
    lines = text.split("\n")
    return "\n".join(line if line.isprintable() else _in_ascii(line) for line in lines)


def _in_ascii(line: str) -> str:
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in line)


def _print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    lines = _lines(columns, rows)
    # Printable already: the one escape sequence here is for the bold heading.
    environ = os.environ
    is_bold = environ.get("TERM") != "dumb" and not environ.get("NO_COLOR")
    click.echo(click.style(next(lines), bold=True) if is_bold else next(lines))
    _echo(lines)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Lines of a table, without an end of line after the last."""
    return "\n".join(_lines(columns, rows))


def _lines(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The heading and a line for each row. Not rich's table, which takes a second for
    each thousand rows. As wide as it has to be: a uuid broken in two cannot be copied,
    and the lines of a terminal wrap by themselves."""
    from rich.cells import cell_len

    cells = [[printable(name) for name in columns]]
    cells += [[printable(_cell(value, "-")) for value in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    is_number = [
        bool(rows) and all(isinstance(value, int | float) for value in column)
        for column in (zip(*rows, strict=True) if rows else [()] * len(columns))
    ]
    for line in cells:
        yield GAP.join(
            " " * (width - cell_len(text)) + text
            if is_right
            else text + " " * (width - cell_len(text))
            for text, width, is_right in zip(line, widths, is_number, strict=True)
        ).rstrip()


def terminal_width() -> int:
    """In columns; 80 where the output is no terminal."""
    return shutil.get_terminal_size().columns


def print_picture(parts: Iterable[Styled | Box]) -> None:
    """Print lines and boxes, as wide as the terminal. All names are made printable."""
    from rich.console import Console

    console = Console(width=terminal_width(), highlight=False)
    with console.capture() as drawn:
        for part in parts:
            console.print(_box(part) if isinstance(part, Box) else _styled(part))
    click.echo(drawn.get(), nl=False)


def _box(part: Box) -> Panel:
    from rich.box import SQUARE
    from rich.columns import Columns
    from rich.panel import Panel
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, texts in part.rows:
        shown = list(map(_styled, texts))
        beside = shown[0] if len(shown) == 1 else Columns(shown, padding=(0, 1))
        grid.add_row(_styled([(label, "")]), beside)
    title = _styled([(part.title, "")])
    return Panel(grid, title=title, title_align="left", box=SQUARE)


def _styled(texts: Styled) -> Text:
    from rich.text import Text

    return Text.assemble(*((printable(text), style) for text, style in texts))


def _cell(value: Any, nothing: str) -> str:
    """One cell; lists and mappings on one line."""
    if value is None:
        return nothing
    if isinstance(value, dict):
        return " ".join(f"{key}={item}" for key, item in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return " ".join(str(item) for item in value)
    return str(value)


def prepare_streams() -> None:
    """Before anything is printed: see ``streams``."""
    sys.stdout = prepared(sys.stdout, sys.stderr)


def drop_output() -> None:
    """What is left to write would fail once more, with a traceback, at the exit."""
    try:
        output = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):  # closed, or not a file
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output)
    os.close(nowhere)


def has_terminal() -> bool:
    """Whether the output is a terminal that can be drawn on."""
    from rich.console import Console

    console = Console()
    return console.is_terminal and not console.is_dumb_terminal


@contextmanager
def screen() -> Iterator[Callable[[str], None]]:
    """The whole terminal, as it was before at the end; the yielded function puts lines
    on it in place of the last ones, and cuts what has no room. Names in them must have
    passed ``plain`` or ``printable``."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(), screen=True, auto_refresh=False) as live:

        def show(text: str) -> None:
            lines = "\n".join(map(printable, text.split("\n")))
            live.update(Text(lines, no_wrap=True, overflow="ellipsis"), refresh=True)

        yield show


@contextmanager
def bars(*, is_shown: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar per task, on standard error if that is a terminal, with its
    rate and the time left; the yielded function takes the name of a task, the count
    done, and the total."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f}/s")

    name = TextColumn("{task.description}", markup=False)
    console = Console(stderr=True)
    drawn = Progress(
        name,
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        console=console,
        disable=not (is_shown and console.is_terminal),
    )
    tasks = {}
    with drawn:

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = drawn.add_task(printable(what), total=total)
            drawn.update(tasks[what], completed=done)

        yield show


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """While work goes on whose length is not known: what it is and since when, on
    standard error if that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    name = TextColumn("{task.description}", markup=False)
    drawn = Progress(
        SpinnerColumn(),
        name,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with drawn:
        drawn.add_task(printable(what), total=None)
        yield
