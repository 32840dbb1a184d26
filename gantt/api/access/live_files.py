"""Files that an operator changes, and may break, while the service runs.

Apart from what they say because one rule holds for all: a broken file is read once for
each change, told and counted once, and what was read before stays in force.
"""

from __future__ import annotations

import logging
import os
import stat
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from gantt.errors import Refused

LOG = logging.getLogger(__name__)

Stamp: TypeAlias = tuple[Any, ...]
T = TypeVar("T")

# A request waits while a changed file is parsed: some four seconds for this much YAML.
LARGEST_BYTES = 1024 * 1024


class Live(Generic[T]):
    """What files say, or as long as they are broken, what they said before."""

    def __init__(
        self, what: str, stamp: Callable[[], Stamp], read: Callable[[Stamp], T]
    ) -> None:
        """``stamp`` may raise OSError, ``read`` Refused. Raises Refused."""
        self._what = what
        self._now = stamp
        self._read = read
        self._looking = threading.Lock()
        self.errors = 0
        try:
            self._stamp = stamp()
        except OSError as error:
            where = f" {error.filename}" if error.filename else ""
            raise Refused(
                f"The {what}{where} cannot be read: {error.strerror}."
            ) from None
        self.value = read(self._stamp)

    def look(self) -> None:
        """Read the files again if they have changed. One thread does, and the others
        go on with what they have."""
        if not self._looking.acquire(blocking=False):
            return
        try:
            try:
                stamp = self._now()
            except OSError as error:  # gone, or gone between two looks
                stamp = (error.errno,)
            if stamp != self._stamp:
                # Before it is read: a broken file is not read for every request.
                self._stamp = stamp
                self._take_over(stamp)
        finally:
            self._looking.release()

    def _take_over(self, stamp: Stamp) -> None:
        try:
            self.value = self._read(stamp)
        except Refused as error:
            self.errors += 1
            LOG.error("%s The %s read before stays in force.", error, self._what)
        else:
            LOG.info("read the %s again", self._what)


def stamp_of(paths: Iterable[Path]) -> Stamp:
    """Another one as soon as any of them has changed. Raises OSError."""
    return tuple(
        (str(path), status.st_mtime_ns, status.st_size, status.st_ino)
        for path in paths
        for status in [path.stat()]
    )


def read_text(what: str, path: Path) -> tuple[str, int]:
    """The text of a file and its mode. Raises Refused."""
    try:
        # A pipe in its place would keep an open that blocks waiting for its writer.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise Refused(
                    f"The {what} {path} cannot be read: it is not a regular file."
                )
            found = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise Refused(f"The {what} {path} cannot be read: {error.strerror}.") from None
    if len(found) > LARGEST_BYTES:
        raise Refused(
            f"The {what} {path} cannot be read: it is larger than {LARGEST_BYTES} "
            "bytes."
        )
    try:
        return found.decode("utf-8"), mode
    except UnicodeDecodeError as error:
        line = found.count(b"\n", 0, error.start) + 1
        raise Refused(
            f"The {what} {path}, line {line} cannot be read: it is not UTF-8."
        ) from None


def parse(what: str, path: Path, text: str) -> Any:
    """What ``text`` says as YAML, of which JSON is a part. Raises Refused, which does
    not quote the file: there may be a token in it."""
    import yaml  # oslo.config brings it

    try:
        # Not libyaml's parser: it ends the process on brackets nested too deeply.
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f", line {mark.line + 1}"
    except RecursionError:
        raise Refused(f"The {what} {path} is nested too deeply: correct it.") from None
    except Exception:  # such as a date that there is not
        place = ""
    raise Refused(f"The {what} {path}{place} is not YAML: correct it.")


def line_of(name: str, text: str) -> str:
    """Where ``name`` is said, as it goes behind the name of the file."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip(" \t{,\"'-").startswith(name):
            return f", line {number}"
    return ""
