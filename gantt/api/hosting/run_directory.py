"""What the processes of one server share: their configuration and a run directory.

The parent tells its workers by files, because their signals belong to the HTTP server,
and because files outlive a worker that dies.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from gantt.conf import ConfigSource, Mutable, Settings, check_guests
from gantt.engine.factory import check_options
from gantt.errors import Refused
from gantt.observe.run_folder import made, place

_PREFIX = "gantt-run-"
_DRAINING = "draining"
_STOPPING = "stopping"
_CHANGED = "changed"
_SERVING = "serving"
_METRICS = "metrics"


class RunDirectory(Struct, frozen=True):
    """Files at ``path``. ``is_own``: created for this run and removed after it."""

    path: str
    is_own: bool = False

    @classmethod
    def begin(cls, path: str) -> RunDirectory:
        """An empty directory at ``path`` ("": one for this run). Raises Refused."""
        if not path:
            _remove_left_behind()
            path = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=place())
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
        """The directory of the counters of each process."""
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

    def serve(self) -> None:
        """This worker serves."""
        self._mark(f"{_SERVING}-{os.getpid()}")

    def is_serving(self, pid: int | None) -> bool:
        """Whether the worker with this ``pid`` has said so."""
        return (self._folder / f"{_SERVING}-{pid}").exists()

    def _mark(self, name: str) -> None:
        with contextlib.suppress(OSError):
            made(self._folder)
            (self._folder / name).touch()

    def change(self, settings: Mutable) -> None:
        """Make all workers use ``settings``. Raises OSError."""
        made(self._folder)
        draft = self._folder / f"{_CHANGED}.new"
        draft.write_bytes(msgspec.json.encode(settings))
        draft.replace(self._folder / _CHANGED)  # workers never read half of it

    def changed(self, since: int) -> tuple[int, Mutable] | None:
        """The settings of the last ``change`` and its number; None: ``since`` is that
        number, or there was no change. 0 is before the first."""
        path = self._folder / _CHANGED
        try:
            at = path.stat().st_mtime_ns
            if at == since:
                return None
            return at, msgspec.json.decode(path.read_bytes(), type=Mutable)
        except OSError:
            return None

    def end(self) -> None:
        """Remove the directory, or if it is not its own, our files in it."""
        if self.is_own:
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            self._clear()

    def _clear(self) -> None:
        """Remove files that are known to be of an earlier server."""
        names = (_DRAINING, _STOPPING, _CHANGED, _SERVING)
        for file in (one for name in names for one in self._folder.glob(f"{name}*")):
            file.unlink(missing_ok=True)
        for file in self.metrics.glob("*_*.db"):
            file.unlink(missing_ok=True)


def _remove_left_behind() -> None:
    """Remove directories of killed servers of this user."""
    if not Path("/proc/self").exists():
        return
    for folder in Path(place()).glob(f"{_PREFIX}*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            is_mine = folder.stat().st_uid == os.getuid()
            if is_mine and pid.isdigit() and not Path("/proc", pid).exists():
                shutil.rmtree(folder, ignore_errors=True)


class Configured:
    """The settings in force: the last good ones, whatever the files contain by now.

    A forked worker inherits those of its parent, even while a file is being edited; a
    spawned one reads the files.
    """

    def __init__(self, source: ConfigSource) -> None:
        """Raises Refused."""
        self._source = source
        self.settings = self._read()

    def reread(self) -> Settings:
        """The settings as configured now. Raises Refused, and then nothing changes."""
        self.settings = self._read()
        return self.settings

    def __reduce__(self) -> tuple[Any, ...]:
        return (Configured, (self._source,))

    def _read(self) -> Settings:
        settings = self._source.load()
        check_options(settings.engine)
        check_guests()
        return settings
