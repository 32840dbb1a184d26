"""The machine that was measured on, as far as it says why figures differ."""

from __future__ import annotations

import os
import platform
import re
import sqlite3
from pathlib import Path
from typing import Final

from msgspec import Struct

from gantt.bench.sides import version_of

_PACKAGES: Final = (
    "numpy",
    "msgspec",
    "SQLAlchemy",
    "granian",
    "openstack-placement",
    "nova",
)
_KB_PER_GB: Final = 1024 * 1024


class BenchMachine(Struct, frozen=True):
    """``packages``: name -> version of those that are installed."""

    cores: int
    processor: str
    memory_gb: int
    system: str
    python: str
    sqlite: str
    packages: dict[str, str]

    def __str__(self) -> str:
        packages = (f"{name} {found}" for name, found in self.packages.items())
        return ", ".join(
            (
                f"{self.cores} × {self.processor}",
                f"{self.memory_gb} GB",
                self.system,
                f"Python {self.python}",
                f"SQLite {self.sqlite}",
                *packages,
            )
        )


def describe() -> BenchMachine:
    """This machine."""
    model = _find(r"model name\s*: (.*)", "/proc/cpuinfo")
    memory_kb = _find(r"MemTotal:\s+(\d+)", "/proc/meminfo")
    found = {name: version_of(name) for name in _PACKAGES}
    return BenchMachine(
        os.cpu_count() or 1,
        model or platform.machine(),
        round(int(memory_kb or 0) / _KB_PER_GB),
        f"{platform.system()} {platform.release()}",
        platform.python_version(),
        sqlite3.sqlite_version,
        {name: one for name, one in found.items() if one},
    )


def load() -> tuple[float, float, float]:
    """The load averages of 1, 5 and 15 minutes: what else ran."""
    one, five, fifteen = os.getloadavg()
    return round(one, 2), round(five, 2), round(fifteen, 2)


def _find(pattern: str, path: str) -> str:
    try:
        found = re.search(pattern, Path(path).read_text())
    except OSError:
        return ""
    return found[1].strip() if found else ""
