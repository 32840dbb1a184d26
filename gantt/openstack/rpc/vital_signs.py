"""What the workers of ``gantt scheduler`` tell the process that watches them, which
answers for all: counts, and whether each is ready.

By files in a folder, because they are read at any time and outlive a worker that dies.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from gantt.errors import GanttError

LOG = logging.getLogger(__name__)

PERIOD_S: Final = 1.0
# A worker that said nothing for so long is not ready.
SILENCE_S: Final = 10.0
_decode: Final = msgspec.json.Decoder(tuple[str, str]).decode


class VitalSigns:
    """A thread that once a second calls ``mirror`` and writes what ``unready`` and
    ``notice`` say.

    ``unready``: why this worker is not ready; "": it is. ``notice``: what operators
    should know although it is; "": nothing.
    """

    def __init__(
        self,
        folder: Path,
        number: int,
        mirror: Callable[[], None],
        unready: Callable[[], str],
        notice: Callable[[], str] = str,
    ) -> None:
        self._file = file_of(folder, number)
        self._mirror = mirror
        self._unready = unready
        self._notice = notice
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="gantt-vital-signs", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop, and count what has happened since the last turn."""
        self._stop.set()
        self._thread.join()
        self._try(self._mirror)

    def _run(self) -> None:
        while True:
            self._try(self._mirror)
            self._try(self._tell)
            if self._stop.wait(PERIOD_S):
                return

    def _tell(self) -> None:
        draft = self._file.with_suffix(".new")
        draft.write_bytes(msgspec.json.encode((self._unready(), self._notice())))
        draft.replace(self._file)  # it is never read half written

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except (GanttError, OSError) as error:
            LOG.warning("%s", error)
        except Exception:
            LOG.exception("The vital signs failed")


def file_of(folder: Path, number: int) -> Path:
    """Where worker ``number`` says whether it is ready."""
    return folder / f"worker-{number}"


def unready(folder: Path, count: int) -> str:
    """Why not all of ``count`` workers are ready; "": they are."""
    for number in range(count):
        file = file_of(folder, number)
        try:
            reason, _ = _told(file)
            is_silent = time.time() - file.stat().st_mtime > SILENCE_S
        except FileNotFoundError:
            return f"worker {number} does not serve yet"
        if reason or is_silent:
            return f"worker {number}: {reason or 'it has not reported lately'}"
    return ""


def notice(folder: Path, count: int) -> str:
    """What a worker tells although it is ready, the first that does; "": nothing."""
    for number in range(count):
        with contextlib.suppress(FileNotFoundError):
            _, told = _told(file_of(folder, number))
            if told:
                return told
    return ""


def _told(file: Path) -> tuple[str, str]:
    found: tuple[str, str] = _decode(file.read_bytes())
    return found
