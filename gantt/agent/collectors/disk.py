"""local_gb: the size of the file system that would hold instances."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from gantt.agent.collectors.contract import bounded
from gantt.agent.files import Files

BYTES_PER_GB: Final = 1024**3
SECTOR: Final = 512
BLOCK: Final = "/sys/block"
_VIRTUAL: Final = ("loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd")


class DiskCollector(Struct, frozen=True):
    """Asks the file system under ``path`` for its size, used space included. Of a
    recorded tree, which has no file systems: the size of its disks."""

    path: Path = Path("/")

    @property
    def provides(self) -> frozenset[str]:
        return frozenset({"local_gb"})

    def collect(self, files: Files) -> dict[str, Any]:
        """Whole GiB; a part of one is not offered."""
        size = self._file_system(files) if files.is_live else disks(files)
        return {} if size is None else {"local_gb": bounded(size // BYTES_PER_GB)}

    def _file_system(self, files: Files) -> int | None:
        try:
            found = os.statvfs(self.path)
        except OSError as error:
            files.problem(str(self.path), error.strerror or str(error))
            return None
        return found.f_blocks * found.f_frsize


def disks(files: Files) -> int | None:
    """Bytes of all fixed disks; None: none can be read."""
    sizes = []
    for name in files.names(BLOCK):
        if name.startswith(_VIRTUAL):
            continue
        if files.number_if_there(f"{BLOCK}/{name}/removable") == 1:
            continue
        sectors = files.number(f"{BLOCK}/{name}/size")
        if sectors is not None:
            sizes.append(sectors * SECTOR)
    return sum(sizes) if sizes else None
