"""``gantt snapshot``: all of the books and the fleet in a file, for what-if."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable
from pathlib import Path

import click

from gantt.cli.connection_options import BooksLocation, where_options
from gantt.cli.failure import refusals_reported
from gantt.cli.output import plain, say
from gantt.cli.what_if_engines import is_service, service_lines
from gantt.errors import Invalid


@click.command("snapshot")
@click.argument("file", type=click.Path(path_type=Path))
@where_options("Books to copy")
def snapshot(file: Path, *, where: BooksLocation) -> None:
    """Write all rows of the books and the fleet at one revision to FILE.

    gantt select, capacity and replay take it as --url with --what-if. FILE should end
    with .record.gz, and must not be there yet.

    \b
    Example:
      gantt snapshot fleet.record.gz
    """
    with refusals_reported():
        from gantt.model.record import SUFFIX

        if not file.name.endswith(SUFFIX):
            raise click.UsageError(f"The name of the file must end with {SUFFIX}.")
        if is_service(where):
            lines: Iterable[bytes] = service_lines(where)
        else:
            from gantt.replay.snapshots import lines_of_database

            lines = lines_of_database(where.url)
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                _write(descriptor, lines)
            except BaseException:
                file.unlink()  # a part of the books is of no use
                raise
        except OSError as error:
            raise Invalid(f"{file} cannot be written: {error.strerror}.") from error
        say(plain(f"Wrote {file}."))


def _write(descriptor: int, lines: Iterable[bytes]) -> None:
    """Write all lines, packed, and close the file."""
    with os.fdopen(descriptor, "wb") as raw, gzip.open(raw, "wb", 1) as packed:
        for line in lines:
            packed.write(line)
