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

from gantt.engine.recording.line_counts import Account, LineBatch, LineTally
from gantt.model.record import SUFFIX

_GZIP: Final = 31
_FAST: Final = 1
_MODE: Final = 0o600
_DIRECTORY_MODE: Final = 0o700
# A file that was written to so lately may be another process's.
_IN_USE_S: Final = 600
_TOUCH_S: Final = 60
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9.-]")


class Removed(OSError):
    """The file is no longer where it was begun; ``str()`` says which."""


class RecordFile:
    """A new file in ``directory``, which is made if need be. ``number``: the next one
    that no file of the process has; it is free again where no reader ever sees the
    file. What fails to be written is cut off, and lost in ``account``. Raises
    OSError."""

    def __init__(self, directory: Path, process: str, account: Account) -> None:
        self._account = account
        self.number = account.number + 1
        directory.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        name = _UNSAFE.sub("-", process)
        while (path := directory / f"{name}.{self.number:06}{SUFFIX}").exists():
            self.number += 1  # one that could not be removed
        self.path = path
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        # Not buffered: what could not be written must not be written later.
        self._file = os.fdopen(os.open(path, flags, _MODE), "wb", buffering=0)
        self._links = os.fstat(self._file.fileno()).st_nlink
        self._pack = zlib.compressobj(_FAST, zlib.DEFLATED, _GZIP)
        self._size = self._shown = self._begun = 0
        self._unseen = LineTally()
        self._is_flushed = True
        self._touched_at = time.monotonic()

    def is_full(self, most: int) -> bool:
        """Whether it has grown by so many bytes since ``begin``: a snapshot may be
        longer than a file is to be."""
        return self._size - self._begun >= most

    def begin(self) -> None:
        """Show readers the snapshot. Raises OSError."""
        self.flush()
        self._begun = self._size

    def write(self, lines: bytes, tally: LineTally | None = None) -> None:
        """Add lines, each with its end, and what they tell; lost where it was cut.
        Raises OSError."""
        if tally is not None:
            self._unseen.add(tally)
        if self._file.closed:
            self._account.lose(self._unseen.take())
        elif lines:
            self._put(self._pack.compress(lines))
            self._is_flushed = False

    def take(self, batch: LineBatch) -> None:
        """Add what waited for it, which is lost where no lines can be made of it.
        Raises OSError."""
        try:
            self.write(*batch.take())
        except BaseException:
            self._account.lose(batch.tally)  # of what was not taken
            raise

    def flush(self) -> None:
        """Let readers see all of it. Raises OSError; Removed where they cannot."""
        if not self._is_flushed:
            self._put(self._pack.flush(zlib.Z_SYNC_FLUSH))
            self._is_flushed = True
        self._show()

    def hold(self) -> None:
        """Show other processes that it is in use, also while nothing happens. Raises
        OSError."""
        if time.monotonic() - self._touched_at >= _TOUCH_S:
            self._touched_at = time.monotonic()
            os.utime(self._file.fileno())

    def close(self, lines: bytes) -> None:
        """Add the last lines and end it, unless it was cut. Raises OSError, Removed."""
        if not self._file.closed:
            self.write(lines)
            self._put(self._pack.flush(zlib.Z_FINISH))
            self._show()
            self._file.close()

    def discard(self) -> None:
        """Remove it."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self.path.unlink()
        self._account.lose(self._unseen.take())

    def _put(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._file.fileno(), left) :]
        except OSError:
            self._cut()
            raise
        self._size += len(data)

    def _show(self) -> None:
        """Count what readers see now."""
        try:
            links = os.fstat(self._file.fileno()).st_nlink
            if links < self._links or not self.path.exists():
                raise Removed(f"{self.path} was removed or moved")
        except OSError:
            self._cut()
            raise
        if not self._shown:
            self._account.show_file(self.number)
        self._account.show(self._size - self._shown, self._unseen.take())
        self._shown = self._size

    def _cut(self) -> None:
        """End it where readers see it end."""
        if not self._shown:
            self.discard()
            return
        with contextlib.suppress(OSError):
            os.ftruncate(self._file.fileno(), self._shown)
        with contextlib.suppress(OSError):
            self._file.close()
        self._account.lose(self._unseen.take())


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
