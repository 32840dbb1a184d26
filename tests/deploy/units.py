"""The systemd units of ``deploy/``, read as systemd reads them."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from tests.tidy.source import ROOT

FOLDER = ROOT / "deploy"


class Unit(Struct, frozen=True):
    """``settings``: those of [Service], in their order; a name may occur again."""

    path: Path
    settings: tuple[tuple[str, str], ...]

    def all(self, name: str) -> list[str]:
        """Every value of ``name``."""
        return [value for key, value in self.settings if key == name]

    def one(self, name: str) -> str:
        """The value of ``name``, which is given once."""
        (value,) = self.all(name)
        return value


def unit(path: Path) -> Unit:
    """The unit or drop-in at ``path``."""
    text = path.read_text(encoding="utf-8")
    (section,) = re.findall(r"^\[Service\]\n(.*?)(?:\n\[|\Z)", text, re.DOTALL | re.M)
    lines = [one for one in section.splitlines() if one and not one.startswith("#")]
    settings = [one.partition("=") for one in lines]
    return Unit(path, tuple((name, value) for name, _, value in settings))


def units() -> list[Unit]:
    """All of them, without drop-ins."""
    return [unit(path) for path in sorted(FOLDER.glob("*.service"))]
