"""Files of a machine: those under /, or a tree that was recorded on another one.

Separate from the collectors so that each reads any machine's /proc and /sys, and so
that what cannot be read is noted in one way: the file and the reason, never an
exception that keeps out what other files say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

MOST_BYTES: Final = 8 * 1024 * 1024
"""Of one file: /proc/cpuinfo has two kilobytes for each CPU."""
MOST_CPUS: Final = 65_536
_RANGE: Final = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_DIGITS: Final = re.compile(r"(\d+)")


class FileProblem(Struct, frozen=True):
    """``path``: as the machine names it; "": no file."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


class Files:
    """The files under ``root``, for one collector; ``problems``: what it met."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root
        self.problems: list[FileProblem] = []

    @property
    def is_live(self) -> bool:
        """Whether these are of the machine that this runs on."""
        return self.root == Path("/")

    def text(self, path: str) -> str | None:
        """What a file says, stripped; None, and a problem, where it cannot be read."""
        try:
            return _stripped(self.read(path))
        except OSError as error:
            self.problem(path, error.strerror or str(error))
            return None

    def text_if_there(self, path: str) -> str | None:
        """The text of a file that not every machine has; None: it is not there."""
        try:
            return _stripped(self.read(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.problem(path, error.strerror or str(error))
            return None

    def number(self, path: str) -> int | None:
        """A whole number, decimal or 0x…; None, and a problem, where there is none."""
        return self._number(path, self.text(path))

    def number_if_there(self, path: str) -> int | None:
        """The number in a file that not every machine has; None: it is not there."""
        return self._number(path, self.text_if_there(path))

    def cpus(self, path: str) -> frozenset[int] | None:
        """CPUs as the kernel lists them (``0-3,8``); None, and a problem, otherwise."""
        text = self.text(path)
        if text is None:
            return None
        try:
            return frozenset(cpus_of(text))
        except ValueError as error:
            self.problem(path, str(error))
            return None

    def names(self, path: str, start: str = "") -> list[str]:
        """What is in a directory and begins with ``start``, numbers in order; nothing
        where there is no such directory."""
        try:
            found = [one.name for one in self._at(path).iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.problem(path, error.strerror or str(error))
            return []
        return sorted((one for one in found if one.startswith(start)), key=_natural)

    def target(self, path: str) -> str | None:
        """The last part of what a symbolic link names; None: there is no link."""
        try:
            return self._at(path).readlink().name
        except OSError:
            return None

    def problem(self, path: str, reason: str) -> None:
        self.problems.append(FileProblem(path, reason))

    def _number(self, path: str, text: str | None) -> int | None:
        if text is None:
            return None
        try:
            return int(text, 0)
        except ValueError:
            self.problem(path, f"{text[:40]!r} is not a number")
            return None

    def _at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def read(self, path: str) -> str:
        """What a file says, stripped. Raises OSError."""
        with self._at(path).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise OSError(0, f"more than {MOST_BYTES} bytes")
        return raw.decode(errors="replace").strip()


def _stripped(text: str) -> str:
    """Without the NUL that some kernels end a list with."""
    return text.strip("\0 \t\r\n")


def cpus_of(text: str) -> Iterator[int]:
    """The numbers of a list such as ``0-3,8``. Raises ValueError."""
    for one in text.split(",") if text else ():
        match = _RANGE.fullmatch(one.strip())
        if match is None:
            raise ValueError(f"{one[:40]!r} is no list of CPUs")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < MOST_CPUS:
            raise ValueError(f"{one[:40]!r} is no range of CPUs")
        yield from range(first, last + 1)


def _natural(name: str) -> list[tuple[int, str]]:
    """node10 after node9."""
    return [
        (int(part), "") if part.isdigit() else (-1, part)
        for part in _DIGITS.split(name)
    ]
