"""The files of a record: packed, readable for their owner alone, and few.

What was written is readable after each ``flush``, even if the process is killed then.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import zlib
from pathlib import Path
from typing import Final

from msgspec import Struct

from gantt.model.record import SUFFIX

_GZIP: Final = 31
_FAST: Final = 1
_MODE: Final = 0o600
_DIRECTORY_MODE: Final = 0o700
# A file that was written to so lately may be another process's.
_IN_USE_S: Final = 600
_TOUCH_S: Final = 60
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9.-]")


class Written(Struct):
    """Packed bytes of all files of a process so far."""

    size: int = 0


class RecordFile:
    """A new file in ``directory``, which is made if need be; what it writes is counted
    in ``of_all``. ``size``: its packed bytes. Raises OSError."""

    def __init__(
        self, directory: Path, process: str, number: int, of_all: Written
    ) -> None:
        self._of_all = of_all
        directory.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        name = _UNSAFE.sub("-", process)
        self.path = directory / f"{name}.{number:06}{SUFFIX}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        self._file = os.fdopen(os.open(self.path, flags, _MODE), "wb")
        self._pack = zlib.compressobj(_FAST, zlib.DEFLATED, _GZIP)
        self.size = 0
        self._is_flushed = True
        self._touched_at = time.monotonic()

    def write(self, lines: bytes) -> None:
        """Add lines, each with its end. Raises OSError."""
        if lines:
            self._put(self._pack.compress(lines))
            self._is_flushed = False

    def flush(self) -> None:
        """Let readers see all of it. Raises OSError."""
        if not self._is_flushed:
            self._put(self._pack.flush(zlib.Z_SYNC_FLUSH))
            self._file.flush()
            self._is_flushed = True

    def hold(self) -> None:
        """Show other processes that it is in use, also while nothing happens. Raises
        OSError where it is no longer there."""
        if time.monotonic() - self._touched_at >= _TOUCH_S:
            self._touched_at = time.monotonic()
            os.utime(self.path)

    def close(self) -> None:
        """End it. Raises OSError."""
        try:
            self._put(self._pack.flush(zlib.Z_FINISH))
        finally:
            self._file.close()

    def discard(self) -> None:
        """Remove it."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self.size += len(data)
        self._of_all.size += len(data)


def trim(directory: Path, keep: int) -> int:
    """Remove the oldest files beyond ``keep`` that are no longer written to; how
    many."""
    found = []
    for path in directory.glob(f"*{SUFFIX}"):
        with contextlib.suppress(OSError):
            found.append((path.stat().st_mtime, path))
    removed = 0
    for at, path in sorted(found)[: max(0, len(found) - keep)]:
        if time.time() - at > _IN_USE_S:
            with contextlib.suppress(OSError):
                path.unlink()
                removed += 1
    return removed
