"""Lines of CSV files, packed or not, and what of them could not be read."""

from __future__ import annotations

import csv
import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from gantt.errors import Invalid
from gantt.replay.events import Skipped

_BROKEN: Final = (EOFError, OSError, UnicodeDecodeError, lzma.LZMAError, zlib.error)
_ENCODING: Final = "utf-8-sig"
"""Spreadsheets write a byte order mark before the first name."""
LONGEST: Final = 1_000_000
"""Letters of one field."""


def open_text(path: Path) -> IO[str]:
    """The file as text, unpacked by its ending (.xz, .gz). Raises Invalid."""
    try:
        if path.suffix == ".xz":
            return lzma.open(path, "rt", encoding=_ENCODING, newline="")
        if path.suffix == ".gz":
            return gzip.open(path, "rt", encoding=_ENCODING, newline="")
        return path.open(encoding=_ENCODING, newline="")
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.") from error


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Each line's number, from 1, and its text without the end. Raises Invalid as
    ``rows``."""
    number = 0
    with open_text(path) as file:
        try:
            for number, line in enumerate(file, 1):
                yield number, line.rstrip("\r\n")
        except _BROKEN as bad:
            raise _unreadable(path, number + 1, bad) from bad


def _unreadable(path: Path, line: int, bad: Exception) -> Invalid:
    return Invalid(f"{path}:{line}: not readable from here on: {bad}.")


def rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Each line's number, from 1, and its fields. Raises Invalid for a file that is no
    text, or is broken off."""
    csv.field_size_limit(LONGEST)
    with open_text(path) as file:
        reader = csv.reader(file)
        try:
            for fields in reader:
                yield reader.line_num, fields
        except (csv.Error, *_BROKEN) as bad:
            raise _unreadable(path, reader.line_num + 1, bad) from bad


class CsvTable:
    """A CSV file with a line of names. ``skipped``: lines that a caller gave up."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.skipped: list[Skipped] = []

    def __iter__(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Each line's number and its fields by name. Raises Invalid."""
        found = rows(self._path)
        _, names = next(found, (1, []))
        for line, fields in found:
            if len(fields) != len(names):
                self.skip(line, "line", f"{len(fields)} fields, {len(names)} expected")
            else:
                yield line, dict(zip(names, fields, strict=True))

    def skip(self, line: int, field: str, reason: str) -> None:
        """Note a line that is left out."""
        self.skipped.append(Skipped(self._path.name, line, field, reason))


def whole(text: str, scale: float = 1.0) -> int:
    """A number of 0 or more, times ``scale``, rounded up. Raises ValueError."""
    number = float(text) * scale
    if not 0 <= number < 2**53:
        raise ValueError(f"{text!r} is not from 0 to {2**53}")
    return -int(-number // 1)
