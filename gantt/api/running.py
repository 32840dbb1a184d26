"""What the processes of one server tell each other: files in a directory of theirs.

Files, because the parent may not interrupt its workers, whose signals are the HTTP
server's, and because what is in them outlives a worker that dies.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from msgspec import Struct

from gantt.errors import Refused

_PREFIX = "gantt-run-"
_DRAINING = "draining"
_REREAD = "reread"
_METRICS = "metrics"


class RunDirectory(Struct, frozen=True):
    """``is_own``: made for this run, and removed with it."""

    path: str
    is_own: bool = False

    @classmethod
    def begin(cls, path: str) -> RunDirectory:
        """An empty one at ``path`` ("": anywhere). Raises Refused."""
        if not path:
            _remove_left_behind()
            path = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-")
            found = cls(path, is_own=True)
        else:
            found = cls(path)
        try:
            found._folder.mkdir(parents=True, exist_ok=True)
            found._clear()
            found.metrics.mkdir(exist_ok=True)
        except OSError as error:
            raise Refused(
                f"[gantt] run_directory {found.path} cannot be used: {error}."
            ) from error
        return found

    @property
    def _folder(self) -> Path:
        return Path(self.path)

    @property
    def metrics(self) -> Path:
        """Where each process keeps its counters."""
        return self._folder / _METRICS

    def drain(self, pid: int | None = None) -> None:
        """The process (None: all of them) will stop soon."""
        name = _DRAINING if pid is None else f"{_DRAINING}.{pid}"
        with contextlib.suppress(OSError):
            (self._folder / name).touch()

    def is_draining(self, pid: int) -> bool:
        """Whether that was said of this process."""
        folder = self._folder
        return (folder / _DRAINING).exists() or (folder / f"{_DRAINING}.{pid}").exists()

    def welcome(self, pid: int) -> None:
        """The process begins; what was said of another with its number is void."""
        (self._folder / f"{_DRAINING}.{pid}").unlink(missing_ok=True)

    def reread(self) -> None:
        """Everybody is to read the configuration again."""
        with contextlib.suppress(OSError):
            (self._folder / _REREAD).write_text("")

    def reread_at(self) -> int:
        """When that was last said; 0: never."""
        try:
            return (self._folder / _REREAD).stat().st_mtime_ns
        except OSError:
            return 0

    def end(self) -> None:
        """Remove it, if it was made for this run; else what is in it."""
        if self.is_own:
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            self._clear()

    def _clear(self) -> None:
        """Only what is known to be of a server that ran here before."""
        for file in (*self._folder.glob(f"{_DRAINING}*"), self._folder / _REREAD):
            file.unlink(missing_ok=True)
        for file in self.metrics.glob("*_*.db"):
            file.unlink(missing_ok=True)


def _remove_left_behind() -> None:
    """What servers of this user left that were killed."""
    if not Path("/proc/self").exists():
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            is_mine = folder.stat().st_uid == os.getuid()
            if is_mine and pid.isdigit() and not Path("/proc", pid).exists():
                shutil.rmtree(folder, ignore_errors=True)
