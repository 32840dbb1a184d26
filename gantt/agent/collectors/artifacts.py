"""holds: what lies on the machine that would be copied before something starts.

Nova's image cache has files by the SHA-1 of the image's id, and behind an underscore
the size to which some were grown; the service finds an image by that. In any other
directory a file's name is the name of the artifact.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from heapq import nlargest
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from gantt.agent.collectors.disk import SECTOR
from gantt.agent.files import Files

MOST: Final = 256
"""As many as a service takes of a host by default: the largest."""
_CACHED: Final = re.compile(r"([0-9a-f]{40})(?:_\d+)?")


class ArtifactCollector(Struct, frozen=True):
    """``image_cache``: Nova's, such as /var/lib/nova/instances/_base; ``directory``: of
    files named as artifacts are. None: there is none."""

    image_cache: Path | None = None
    directory: Path | None = None

    @property
    def provides(self) -> frozenset[str]:
        return frozenset({"holds"})

    def collect(self, files: Files) -> dict[str, Any]:
        """Bytes on disk by name; nothing where a directory cannot be read, so that what
        was reported stays."""
        if self.image_cache is None and self.directory is None:
            return {}
        found: dict[str, int] = {}
        try:
            for name, size in _sizes(self.image_cache):
                cached = _CACHED.fullmatch(name)
                if cached is not None:
                    found[cached[1]] = max(size, found.get(cached[1], 0))
            found.update(_sizes(self.directory))
        except OSError as error:
            files.problem(str(error.filename or ""), error.strerror or str(error))
            return {}
        largest = nlargest(MOST, found, key=found.__getitem__)
        return {"holds": {name: found[name] for name in sorted(largest)}}


def _sizes(directory: Path | None) -> Iterator[tuple[str, int]]:
    """Name and bytes on disk of each file; those that begin with a dot, or that no
    report could name, are none. Raises OSError."""
    if directory is None:
        return
    with os.scandir(directory) as entries:
        for one in entries:
            is_named = one.name.isprintable() and not one.name.startswith(".")
            try:
                if is_named and one.is_file():
                    yield one.name, one.stat().st_blocks * SECTOR
            except FileNotFoundError:
                continue  # it went meanwhile
