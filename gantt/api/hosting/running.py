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

import msgspec
from msgspec import Struct

from gantt.conf import Mutable
from gantt.errors import Refused

_PREFIX = "gantt-run-"
_DRAINING = "draining"
_STOPPING = "stopping"
_CHANGED = "changed"
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

    def drain(self) -> None:
        """The service will stop soon."""
        self._mark(_DRAINING)

    def stop(self) -> None:
        """The service stops now."""
        self._mark(_DRAINING)
        self._mark(_STOPPING)

    def is_draining(self) -> bool:
        """Whether the service will stop soon, or stops now."""
        return (self._folder / _DRAINING).exists()

    def is_stopping(self) -> bool:
        """Whether the service stops now."""
        return (self._folder / _STOPPING).exists()

    def _mark(self, name: str) -> None:
        with contextlib.suppress(OSError):
            (self._folder / name).touch()

    def change(self, settings: Mutable) -> None:
        """All workers are to go on with these. Raises OSError."""
        draft = self._folder / f"{_CHANGED}.new"
        draft.write_bytes(msgspec.json.encode(settings))
        draft.replace(self._folder / _CHANGED)  # no worker reads a half of it

    def changed(self, since: int) -> tuple[int, Mutable] | None:
        """What was said by that after ``since`` (0: the beginning), and a number that
        stands for it; None: nothing."""
        path = self._folder / _CHANGED
        try:
            at = path.stat().st_mtime_ns
            if at == since:
                return None
            return at, msgspec.json.decode(path.read_bytes(), type=Mutable)
        except OSError:
            return None

    def end(self) -> None:
        """Remove it, if it was made for this run; else what is in it."""
        if self.is_own:
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            self._clear()

    def _clear(self) -> None:
        """Only what is known to be of a server that ran here before."""
        said = (_DRAINING, _STOPPING, _CHANGED)
        for file in (one for name in said for one in self._folder.glob(f"{name}*")):
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
