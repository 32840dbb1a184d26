"""DISK_GB: the size of the file system that would hold instances."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from gantt.agent.collectors.contract import Part, amounts

BYTES_PER_GB = 1024**3


class DiskCollector(Struct, frozen=True):
    """Asks the file system under ``path`` for its size, used space included."""

    path: Path = Path("/")

    @property
    def provides(self) -> frozenset[str]:
        """The class this collector owns."""
        return frozenset({"DISK_GB"})

    def collect(self) -> Part:
        """Whole GiB; a part of one is not offered."""
        found = os.statvfs(self.path)
        return amounts("DISK_GB", found.f_blocks * found.f_frsize // BYTES_PER_GB)
