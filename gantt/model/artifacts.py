"""What is copied to a host before something starts there: images, model weights,
snapshots. Each has a name that hosts, requests and operators share."""

from __future__ import annotations

from typing import Final, Protocol

from msgspec import Struct

HELP: Final = "gantt:artifacts"
"""The scheduler hint that names those which hosts had better hold."""
NEED: Final = "gantt:need_artifacts"
"""The scheduler hint that names those which they must hold."""
HINTS: Final = HELP, NEED
MOST_ARTIFACTS: Final = 64
"""That one request may name."""


class Artifact(Struct, frozen=True):
    """``size``: bytes, as registered, else the most that a host reports.
    ``is_registered``: whether it may be required; ``hosts``: how many (nodes) hold
    it."""

    name: str
    size: int
    is_registered: bool
    hosts: int


class ArtifactRegister(Protocol):
    """Those that may be required, and all that are known."""

    def list_artifacts(self, *, name: str | None = None) -> tuple[Artifact, ...]:
        """What is registered or held by hosts, the first 1,000; or that one."""

    def register_artifact(self, name: str, size: int | str) -> None:
        """Demands may require it. ``size``: bytes, or "4GiB". Raises Invalid."""

    def remove_artifact(self, name: str) -> None:
        """Demands may not require it any more. Raises NotFound."""


def size_text(size: float) -> str:
    """Bytes as people read them: 4.1 GiB."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
