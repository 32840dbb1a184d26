"""Where the processes of one service keep what they tell each other, and what becomes
of their counts when a cleaner removes it.

Separate from the metrics because services begin with it: the library of metrics must
not be loaded before it is told of the folder.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

_RUN = "/run"


def place() -> str:
    """Where no cleaner removes what is old: systemd's RuntimeDirectory, else /run; a
    user who may write neither gets the system's temporary directory."""
    given = os.environ.get("RUNTIME_DIRECTORY", "").partition(":")[0]
    for one in (given, _RUN):
        if one and os.access(one, os.W_OK | os.X_OK):
            return one
    return tempfile.gettempdir()


def made(folder: Path) -> None:
    """The folder, made anew if it was removed."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def keep_counts(folder: Path) -> None:
    """Have this process count in files of ``folder`` again, from 0, where they were
    removed: what it has open is of no folder any more."""
    if any(folder.glob(f"*_{os.getpid()}.db")):
        return
    made(folder)
    from prometheus_client import values

    # As after a fork, where the library begins new files at the next count.
    check: Any = getattr(values.ValueClass, "_MmapedValue__check_for_pid_change", None)
    if check is not None:
        cells = dict(zip(check.__code__.co_freevars, check.__closure__, strict=True))
        cells["pid"].cell_contents["value"] = None
