"""Records of a service, as files: which process wrote them, and their lines in order.

A file may end early, if its process was killed: what can be read is read, and that it
ends early is told.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Raw, Struct

from gantt.conf.known_values import check_values
from gantt.errors import Invalid
from gantt.model.record import (
    FORMAT,
    KIND,
    SUFFIX,
    Closed,
    Head,
    Line,
    RecordedPolicy,
    Rows,
)
from gantt.model.rows import BOOKINGS, ROW_TYPES, Key, Row, key_of
from gantt.scheduler.options import SchedulerOptions

_GZIP: Final = 31
_OF_DECISIONS: Final = (b'["form"', b'["began"', b'["paused"', b'["ended"')
_CHUNK: Final = 1 << 16
_LONGEST: Final = 1 << 30
_DECODE: Final = msgspec.json.Decoder(Line).decode
_ROWS: Final = {table: msgspec.json.Decoder(kind) for table, kind in ROW_TYPES.items()}
_FORMER: Final = {"gantt_claims": BOOKINGS}
_MANY: Final = msgspec.json.Decoder(list[Raw])


class RecordedProcess(Struct, frozen=True):
    """The files of one process, in order."""

    process: str
    files: tuple[RecordedFile, ...]


class RecordedFile:
    """``head``: of the file at ``path``. ``where``: file and number of the line that
    was read last. ``is_early``: it ended without its last line;
    known when all lines were read. Raises Invalid for a file of another kind, or of a
    newer format."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.where = f"{path}:1"
        self.is_early = False
        self.head = head_of(path, next(_lines(path), b""))

    def __iter__(self) -> Iterator[Line]:
        """All lines after the first. Raises Invalid."""
        lines = _lines(self.path)
        next(lines)
        is_closed = False
        for number, text in enumerate(lines, 2):
            if self.is_older and text.startswith(_OF_DECISIONS):
                continue
            self.where = f"{self.path}:{number}"
            line = line_of(text, self.where)
            is_closed = isinstance(line, Closed)
            yield line
        self.is_early = not is_closed

    @property
    def is_older(self) -> bool:
        """Whether its decisions cannot be compared, and are left out."""
        return self.head.format < FORMAT

    def check_format(self) -> None:
        """Raises Invalid where its decisions are left out."""
        if self.is_older:
            raise Invalid(
                f"{self.path}: decisions in format {self.head.format} have other marks "
                f"than those of format {FORMAT}, so they cannot be compared. Replay "
                "them with a Gantt of their time, or record again."
            )


def is_record(path: Path) -> bool:
    """Whether this is a file of a record, or a directory with one."""
    if path.is_dir():
        return any(path.glob(f"*{SUFFIX}"))
    return path.name.endswith(SUFFIX)


def open_records(
    paths: Iterable[Path], early: list[str]
) -> tuple[RecordedProcess, ...]:
    """All processes in these files and directories, by name. ``early``: takes the
    names of files in directories that end before their first line does, as one that
    was begun when its process was killed. Raises Invalid."""
    files = [RecordedFile(path) for path in _all(paths, early)]
    found: dict[str, list[RecordedFile]] = {}
    for file in sorted(files, key=lambda one: (one.head.process, one.head.number)):
        found.setdefault(file.head.process, []).append(file)
    return tuple(RecordedProcess(name, tuple(mine)) for name, mine in found.items())


def missing_files(one: RecordedProcess) -> Sequence[int]:
    """Numbers of files between others that are not there."""
    numbers = {file.head.number for file in one.files}
    return [at for at in range(min(numbers), max(numbers)) if at not in numbers]


def _all(paths: Iterable[Path], early: list[str]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            for one in sorted(path.glob(f"*{SUFFIX}")):
                if next(_lines(one), None) is None:
                    early.append(one.name)
                else:
                    yield one
        else:
            yield path


def line_of(text: bytes, where: str) -> Line:
    """Any line after the first. Raises Invalid, which begins with ``where``."""
    try:
        line: Line = _DECODE(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Invalid(f"{where}: {error}.") from error
    return line


def policy_of_line(line: RecordedPolicy, where: str) -> SchedulerOptions:
    """The options in force. Raises Invalid, which begins with ``where``, also for
    values that no file of options may have."""
    check_values(line.options, where)
    if line.search_budget < 1:
        raise Invalid(
            f"{where}: search_budget is {line.search_budget}; it must be a whole "
            "number of at least 1."
        )
    try:
        return msgspec.convert(line.options, SchedulerOptions)
    except msgspec.MsgspecError as error:
        raise Invalid(f"{where}: the policy cannot be read: {error}.") from error


def table_of(name: str) -> str:
    """The table that an older record calls so."""
    return _FORMER.get(name, name)


def rows_of(line: Rows) -> dict[Key, Row]:
    """The rows of a snapshot's line, by their keys. Raises Invalid."""
    try:
        found = list(map(_ROWS[table_of(line.table)].decode, _MANY.decode(line.rows)))
    except (msgspec.MsgspecError, UnicodeError, KeyError) as error:
        raise Invalid(f"Rows of {line.table} cannot be read: {error}.") from error
    return {key_of(row): row for row in found}


def row_of(table: str, raw: Raw) -> Row | None:
    """A row as it became; None: it went. Raises Invalid."""
    if table not in _ROWS:
        raise Invalid(f"A row is of the table {table!r}, which this Gantt has not.")
    if bytes(raw) == b"null":
        return None
    try:
        return _ROWS[table].decode(raw)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise Invalid(f"A row of {table} cannot be read: {error}.") from error


def head_of(path: Path | str, line: bytes) -> Head:
    """The first line. Raises Invalid for another kind, or a newer format."""
    try:
        found = msgspec.json.decode(line, type=Head)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        found = Head()
    if found.kind != KIND:
        raise Invalid(
            f"{path} is no record of a service; [gantt] record names the directory "
            "where one is written."
        )
    if found.format > FORMAT:
        raise Invalid(
            f"{path} has format {found.format}, this Gantt reads up to {FORMAT}. Read "
            f"it with Gantt {found.version} or newer."
        )
    return found


def _lines(path: Path) -> Iterator[bytes]:
    """Unpacked, as far as the file goes; what follows its last end of a line is
    incomplete. Raises Invalid."""
    pack = zlib.decompressobj(_GZIP)
    rest = b""
    try:
        with path.open("rb") as file:
            while data := file.read(_CHUNK):
                whole = rest + pack.decompress(data)
                *lines, rest = whole.split(b"\n")
                if len(rest) > _LONGEST:
                    raise Invalid(f"{path} has a line of more than 1 GiB.")
                yield from lines
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.") from error
    except zlib.error as error:
        raise Invalid(f"{path} is damaged: {error}.") from error
