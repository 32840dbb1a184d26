"""The report of a run, as one frozen value and as a file with a version.

A file of a newer format is refused with the version that reads it.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from gantt.bench.comparison import Comparison, Measured, TimeRatio
from gantt.bench.machine_facts import BenchMachine, load
from gantt.bench.path_profile import PathProfile
from gantt.errors import Invalid
from gantt.version import __version__

FORMAT: Final = 1
KIND: Final = "gantt bench"


class LeftOut(Struct, frozen=True):
    """A side that was not measured, and why."""

    side: str
    why: str


class ComparisonResult(Struct, frozen=True):
    """One comparison."""

    fleet: str
    comparison: Comparison
    measured: list[Measured]
    ratios: list[TimeRatio]
    left_out: list[LeftOut] = []

    @property
    def title(self) -> str:
        return f"{self.comparison.workload}; {self.fleet}"

    def ratio_of(self, side: str) -> TimeRatio | None:
        """Its ratio to its rival."""
        return next((one for one in self.ratios if one.side == side), None)


class RunFacts(Struct, frozen=True, kw_only=True):
    """When and by what something was measured, and what else the machine did.
    ``began``: ISO 8601 in UTC. ``load_before``, ``load_after``: load averages of 1, 5
    and 15 minutes."""

    version: str = ""
    command: str = ""
    began: str = ""
    took_s: float = 0.0
    load_before: tuple[float, float, float]
    load_after: tuple[float, float, float]


class Begun:
    """A run that begins now."""

    def __init__(self) -> None:
        self._at, self._clock, self._load = datetime.now(UTC), time.monotonic(), load()

    def ended(self, command: str) -> dict[str, Any]:
        """The fields of ``RunFacts``, once all is measured."""
        return {
            "version": __version__,
            "command": command,
            "began": self._at.isoformat(timespec="seconds"),
            "took_s": round(time.monotonic() - self._clock, 1),
            "load_before": self._load,
            "load_after": load(),
        }


class BenchReport(RunFacts, frozen=True, kw_only=True):
    """``left_out``: sides that are not installed."""

    kind: str = KIND
    format: int = FORMAT
    machine: BenchMachine
    left_out: list[LeftOut] = []
    results: list[ComparisonResult] = []
    paths: list[PathProfile] = []


class _Head(Struct):
    kind: str = ""
    format: int = 0
    version: str = ""


def write(run: RunFacts, path: Path) -> None:
    """Write it as JSON. Raises Invalid."""
    text = msgspec.json.format(msgspec.json.encode(run), indent=1)
    write_text(path, text.decode() + "\n")


def check_writable(option: str, path: Path) -> None:
    """Refuse a file that ``write`` could not write, before anything is measured for it.
    ``option`` named it. Raises Invalid."""
    try:
        # Folders that are missing are made.
        place = next(one for one in (path, *path.parents) if one.exists())
        is_folder = place.is_dir()
    except OSError as error:
        raise Invalid(
            f"{option} {path} cannot be written: {error.strerror}."
        ) from error
    if place == path and is_folder:
        raise Invalid(
            f"{option} {path} is a folder: name a file in it, such as "
            f"{path / 'report.json'}."
        )
    if place != path and not is_folder:
        raise Invalid(f"{option} {path}: {place} is no folder; name another.")
    if not os.access(place, os.W_OK):
        raise Invalid(f"{option} {path}: {place} may not be written; name another.")


def write_text(path: Path, text: str) -> None:
    """Raises Invalid."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except OSError as error:
        raise Invalid(f"{path} cannot be written: {error.strerror}.") from error


def read(path: Path) -> BenchReport:
    """The report in a file. Raises Invalid."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.") from error
    try:
        head = msgspec.json.decode(raw, type=_Head)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        head = _Head()
    if head.kind != KIND:
        raise Invalid(
            f"{path} is no report of a benchmark; write one with "
            "gantt bench --out FILE."
        )
    if head.format > FORMAT:
        raise Invalid(
            f"{path} has format {head.format}, this Gantt reads up to {FORMAT}. "
            f"Read it with Gantt {head.version} or newer."
        )
    try:
        return msgspec.json.decode(raw, type=BenchReport)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Invalid(f"{path}: {error}.") from error
