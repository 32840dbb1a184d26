"""What commands print: a table for people, JSON or CSV for programs.

Separate from the commands so that each of them says only which columns it has.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import click
import msgspec

FORMATS = ("table", "json", "csv")
WIDE = 100_000


def print_rows(
    output: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """A listing: one line per row, one object per row in JSON."""
    listed = [tuple(row) for row in rows]
    if output == "json":
        _print_json([dict(zip(columns, row, strict=True)) for row in listed])
    elif output == "csv":
        click.echo(_csv([columns, *listed]), nl=False)
    else:
        click.echo(table(columns, listed))


def print_record(output: str, record: dict[str, Any]) -> None:
    """One thing: a line per field; CSV has a header and one row."""
    if output == "json":
        _print_json(record)
    elif output == "csv":
        click.echo(_csv([tuple(record), tuple(record.values())]), nl=False)
    else:
        click.echo(table(("field", "value"), list(record.items())))


def print_document(document: Any) -> None:
    """JSON that is no table."""
    _print_json(document)


def _print_json(value: Any) -> None:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    click.echo(text.decode("utf-8"))


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([_cell(value, "") for value in row] for row in rows)
    return buffer.getvalue()


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Lines of a table, without an end of line after the last."""
    # rich takes a while to import, and the other formats do without.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Wider than any screen: a uuid broken in two cannot be copied, and the lines of a
    # terminal wrap by themselves.
    console = Console(highlight=False, width=WIDE)
    drawn = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    for position, name in enumerate(columns):
        is_number = bool(rows) and all(
            isinstance(row[position], int | float) for row in rows
        )
        drawn.add_column(name, justify="right" if is_number else "left", no_wrap=True)
    for row in rows:
        drawn.add_row(*(Text(_cell(value, "-")) for value in row))
    with console.capture() as captured:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _cell(value: Any, nothing: str) -> str:
    """One cell; lists and mappings on one line."""
    if value is None:
        return nothing
    if isinstance(value, dict):
        return " ".join(f"{key}={item}" for key, item in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return " ".join(str(item) for item in value)
    return str(value)
