"""Settings as a configuration file has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gantt.conf import Settings, load


def settings_of(folder: Path, text: str, **more: Any) -> Settings:
    """What ``gantt.conf`` with this text in ``folder`` says, whatever the environment
    has."""
    file = folder / "gantt.conf"
    file.write_text(text)
    return load([str(file)], environ={}, **more)
