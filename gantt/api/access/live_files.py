"""Files that an operator changes, and may break, while the service runs.

Separate from their contents because one rule holds for all: a broken file is read,
logged and counted once for each change, and the last good contents stay in force.
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

# A request waits while a changed file is parsed: some four seconds for YAML this long.
LARGEST_BYTES = 1024 * 1024
# Lists within lists. No file of ours needs more than four, and Python's own limit is
# what the process made of it.
_DEEPEST = 64


class Live(Generic[T]):
    """The contents of files, and while those are broken, the last good contents."""

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
        """Read the files again if they have changed. One thread reads; others continue
        with the present value."""
        if not self._looking.acquire(blocking=False):
            return
        try:
            try:
                stamp = self._now()
            except OSError as error:  # missing, perhaps only since it was listed
                stamp = (error.errno,)
            if stamp != self._stamp:
                # Set first, so that a broken file is not read for every request.
                self._stamp = stamp
                self._reload(stamp)
        finally:
            self._looking.release()

    def _reload(self, stamp: Stamp) -> None:
        try:
            self.value = self._read(stamp)
        except Refused as error:
            self.errors += 1
            LOG.error("%s The last good %s stays in force.", error, self._what)
        else:
            LOG.info("Reloaded the %s", self._what)


def stamp_of(paths: Iterable[Path]) -> Stamp:
    """Changes when any of the files does. Raises OSError."""
    return tuple(
        (str(path), status.st_mtime_ns, status.st_size, status.st_ino)
        for path in paths
        for status in [path.stat()]
    )


def read_text(what: str, path: Path) -> tuple[str, int]:
    """The text of a file and its mode. Raises Refused."""
    try:
        # Opening a named pipe would block until it has a writer.
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
    """``text`` as YAML, of which JSON is a part. Raises Refused, which does not quote
    the file: it may contain tokens."""
    import yaml  # oslo.config brings it

    # Not libyaml's parser: deeply nested brackets crash it.
    class Loader(yaml.SafeLoader):
        depth = 0

        def compose_node(self, *given: Any) -> Any:
            self.depth += 1
            if self.depth > _DEEPEST:
                raise RecursionError
            node = super().compose_node(*given)
            self.depth -= 1
            return node

    try:
        return Loader(text).get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f", line {mark.line + 1}"
    except RecursionError:
        raise Refused(f"The {what} {path} is nested too deeply: correct it.") from None
    except Exception:  # such as an impossible date
        place = ""
    raise Refused(f"The {what} {path}{place} is not YAML: correct it.")


def line_of(name: str, text: str) -> str:
    """The line that begins with ``name``, to be appended to the name of the file."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip(" \t{,\"'-").startswith(name):
            return f", line {number}"
    return ""
