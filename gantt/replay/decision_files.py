"""Files of decisions: what a replay decided, to be compared with another.

A header, a line of JSON for each decision, and a last line with what it came to; packed
by the ending of the name (.gz, .xz). The header says which trace, fleet, policy and
seed: two files are comparable only where trace and fleet are the same.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from gantt.errors import Invalid
from gantt.replay.machines import Machine
from gantt.replay.run import Decided, ReplaySettings
from gantt.scheduler.options import DEFAULT_MULTIPLIERS, SchedulerOptions

T = TypeVar("T")

FORMAT: Final = 1
KIND: Final = "gantt decisions"


class Header(Struct, frozen=True, kw_only=True):
    """``fleet``: a digest of all machines. ``policy``: the options that differ from the
    defaults. ``version``: the Gantt that wrote it."""

    kind: str = KIND
    format: int = FORMAT
    version: str = ""
    trace: str = ""
    fleet: str = ""
    seed: int = 0
    policy: dict[str, Any] = {}


class Footer(Struct, frozen=True, kw_only=True):
    """``arrivals``: a digest of all that was asked; ``decisions``: of all that was
    decided; ``count``: of arrivals."""

    arrivals: str
    decisions: str
    count: int


class Digest:
    """A digest of values in a row."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._encode = msgspec.msgpack.Encoder(order="deterministic").encode
        self.count = 0

    def add(self, value: object) -> None:
        self._hash.update(self._encode(value))
        self.count += 1

    def __str__(self) -> str:
        return self._hash.hexdigest()[:32]


def fleet_digest(machines: Sequence[Machine]) -> str:
    """A digest of machines: the same for the same ones in the same order."""
    digest = Digest()
    for machine in machines:
        digest.add(machine)
    return str(digest)


def policy_of(settings: ReplaySettings) -> dict[str, Any]:
    """The options that are not as they are by default."""
    return options_of(settings.options)


def options_of(policy: SchedulerOptions) -> dict[str, Any]:
    """Those of them that are not as they are by default."""
    options = msgspec.to_builtins(policy)
    usual = msgspec.to_builtins(SchedulerOptions())
    found = {name: one for name, one in options.items() if one != usual[name]}
    factors = found.pop("multipliers", {})
    return found | {
        name: factor
        for name, factor in factors.items()
        if factor != DEFAULT_MULTIPLIERS.get(name)
    }


class Counted(Generic[T]):
    """What is asked, such as arrivals, as it passes, with a ``digest`` of all, or of a
    ``part`` of each."""

    def __init__(
        self, asked: Iterable[T], part: Callable[[T], object] = lambda one: one
    ) -> None:
        self.digest = Digest()
        self._asked, self._part = asked, part

    def __iter__(self) -> Iterator[T]:
        for one in self._asked:
            self.digest.add(self._part(one))
            yield one


def write(
    path: Path, header: Header, decided: Iterable[Decided], of: Counted[T]
) -> Footer:
    """Write all of ``decided`` while they are made; nothing is overwritten where the
    first cannot be. Raises Invalid."""
    encode = msgspec.json.Encoder().encode
    digest, made = Digest(), iter(decided)
    first = tuple(islice(made, 1))
    try:
        with _open(path, "wb") as file:
            file.write(encode(header) + b"\n")
            for one in chain(first, made):
                digest.add(one)
                file.write(encode(one) + b"\n")
            footer = _footer(digest, of)
            file.write(encode(footer) + b"\n")
    except OSError as error:
        raise Invalid(f"{path} cannot be written: {error.strerror}.") from error
    return footer


def count(decided: Iterable[Decided], of: Counted[T]) -> Footer:
    """What ``write`` would count, without a file."""
    digest = Digest()
    for one in decided:
        digest.add(one)
    return _footer(digest, of)


def _footer(digest: Digest, of: Counted[T]) -> Footer:
    return Footer(arrivals=str(of.digest), decisions=str(digest), count=of.digest.count)


class Decisions:
    """A file of decisions. ``footer`` is known once all were read. Raises Invalid for a
    file of another kind, of a newer format, or that ends too early."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.footer: Footer | None = None
        self._lines = self._read()
        self.header = self._header(next(self._lines, b""))

    def __iter__(self) -> Iterator[Decided]:
        decode = msgspec.json.Decoder(Decided).decode
        for number, line in enumerate(self._lines, 2):
            try:
                if line.startswith(b"{"):
                    self.footer = msgspec.json.decode(line, type=Footer)
                    return
                yield decode(line)
            except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
                raise Invalid(f"{self.path}:{number}: {error}.") from error
        raise Invalid(
            f"{self.path} ends without its last line: the replay that wrote it did not "
            "finish. Run it again."
        )

    def _read(self) -> Iterator[bytes]:
        try:
            with _open(self.path, "rb") as file:
                yield from file
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            raise Invalid(f"{self.path} cannot be read: {error}.") from error

    def _header(self, line: bytes) -> Header:
        try:
            found = msgspec.json.decode(line, type=Header)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            found = Header(kind="")
        if found.kind != KIND:
            raise Invalid(
                f"{self.path} is no file of decisions; write one with "
                "gantt replay --out FILE."
            )
        if found.format > FORMAT:
            raise Invalid(
                f"{self.path} has format {found.format}, this Gantt reads up to "
                f"{FORMAT}. Read it with Gantt {found.version} or newer."
            )
        return found


def _open(path: Path, mode: str) -> IO[bytes]:
    if path.suffix == ".xz":
        preset = 1 if mode == "wb" else None
        return lzma.open(path, mode, preset=preset)  # type: ignore[return-value]
    if path.suffix == ".gz":
        return gzip.open(path, mode, 1)  # type: ignore[return-value]
    return path.open(mode)
