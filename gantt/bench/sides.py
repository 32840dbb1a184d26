"""Opens the sides of a comparison on one fleet, and says why one cannot take part.

A fleet is written once, into a file; each side begins with a copy of it. What is not
installed, and what a side cannot be asked, is left out by name.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from warnings import catch_warnings, simplefilter

from gantt.bench.bench_fleets import BenchFleet
from gantt.bench.fleet_setup import Progress, furnish
from gantt.bench.gantt_side import GanttSide, filters_of, open_books
from gantt.bench.placement_side import PlacementSide
from gantt.bench.plain_side import PlainSide
from gantt.bench.servers import Server
from gantt.bench.side import Side

SIDES: Final = {
    "gantt": "the library, in memory",
    "gantt-durable": "the library on SQLite, every commit synced",
    "gantt-api": "gantt serve: candidates and a claim by the Placement API",
    "placement": "upstream Placement: the same requests by the same client",
    "nova": "Nova's filters and weighers on host states in memory",
    "nova-placement": "the same on candidates of upstream Placement, claimed there",
    "plain": "a loop over hosts in plain Python, in memory",
}
RIVALS: Final = {
    "plain": "gantt",
    "nova": "gantt",
    "placement": "gantt-api",
    "nova-placement": "gantt-durable",
}
"""Side -> the one of Gantt that does as much: a ratio is of these two."""

NEEDS: Final = {
    "placement": {"placement": "openstack-placement"},
    "nova": {"nova": "nova"},
    "nova-placement": {"nova": "nova", "placement": "openstack-placement"},
}
"""Side -> its modules, and the packages that have them."""
_CANNOT: Final = {
    ("placement", "anti-affinity"): "the Placement API has no server groups",
    ("gantt-api", "anti-affinity"): "the Placement API has no server groups",
    ("nova", "churn"): "departures become known by reports of hosts",
    ("nova-placement", "churn"): "departures become known by reports of hosts",
    ("nova-placement", "multi-create"): "as nova, with a claim for each instance",
    ("nova-placement", "pinned"): "claims would need a mapping of devices",
}
_CANNOT_SHARE: Final = "host states know no shared disks"
_MOST_FITTED: Final = 10_000
_TOO_MANY_TO_FIT: Final = (
    f"beyond {_MOST_FITTED:,} hosts each request is fitted to cells for minutes"
)
"""A request took Nova 18 s on 1,000 hosts of four cells, and ten times as long on ten
times as many."""


def lack_of(side: str) -> str:
    """Why ``side`` cannot be measured here; empty: it can."""
    missing = [
        package
        for module, package in NEEDS.get(side, {}).items()
        if find_spec(module) is None
    ]
    return f"{' and '.join(missing)} not installed" if missing else ""


def why_not(side: str, workload: str, fleet: BenchFleet) -> str:
    """Why ``side`` cannot be asked this; empty: it can."""
    if fleet.pools and side.startswith("nova"):
        return _CANNOT_SHARE
    if (side, workload) == ("nova", "pinned") and len(fleet.hosts) > _MOST_FITTED:
        return _TOO_MANY_TO_FIT
    return _CANNOT.get((side, workload), "")


def version_of(package: str) -> str:
    """The installed version; empty: none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


class Furnished:
    """``fleet``, written into ``file`` when it is first needed."""

    def __init__(self, fleet: BenchFleet, file: Path) -> None:
        self.fleet = fleet
        self._file = file

    def file(self, progress: Progress) -> Path:
        """The database, closed and whole."""
        if not self._file.exists():
            # One that failed half-way must not serve the next comparison.
            with tempfile.TemporaryDirectory(dir=self._file.parent) as name:
                part, filters = Path(name) / "part.db", filters_of(self.fleet)
                with closing(open_books(f"sqlite:///{part}", filters)) as books:
                    furnish(books, self.fleet, progress)
                part.rename(self._file)
        return self._file


class Sides:
    """All that can be opened on a fleet; ``folder`` is for databases and logs."""

    def __init__(self, furnished: Furnished, folder: Path) -> None:
        self._furnished = furnished
        self._fleet = furnished.fleet
        self._folder = folder
        self._copies = 0

    def open(self, name: str, progress: Progress) -> Side:
        """One of ``SIDES``, with the whole fleet. The caller closes it."""
        openers: dict[str, Callable[[], Side]] = {
            "gantt": lambda: self._in_memory(progress),
            "gantt-durable": lambda: self._durable(progress),
            "gantt-api": lambda: self._served(name, Server.gantt, progress),
            "placement": lambda: self._served(name, Server.upstream, progress),
            "nova": self._nova,
            "nova-placement": lambda: self._nova_with(progress),
            "plain": lambda: PlainSide(self._fleet),
        }
        return openers[name]()

    def _in_memory(self, progress: Progress) -> Side:
        return GanttSide.in_memory(self._furnished.file(progress), self._fleet)

    def _durable(self, progress: Progress) -> Side:
        url = f"sqlite:///{self._copy(progress)}"
        return GanttSide("gantt-durable", open_books(url, filters_of(self._fleet)))

    def _served(
        self, name: str, serve: Callable[[Path], Server], progress: Progress
    ) -> PlacementSide:
        file = self._copy(progress)
        server = serve(file)
        server.__enter__()
        try:
            return PlacementSide(name, server, server.database or file)
        except BaseException:
            server.__exit__(None, None, None)
            raise

    def _nova(self, books: PlacementSide | None = None) -> Side:
        # Imported late: it is large, may not be there, and warns of its libraries.
        with catch_warnings():
            simplefilter("ignore")
            from gantt.bench.nova_side import NovaSide

            return NovaSide(self._fleet, books)

    def _nova_with(self, progress: Progress) -> Side:
        books = self._served("placement", Server.upstream, progress)
        try:
            return self._nova(books)
        except BaseException:
            books.close()
            raise

    def _copy(self, progress: Progress) -> Path:
        self._copies += 1
        copy = self._folder / f"copy-{self._copies}.db"
        return Path(shutil.copy(self._furnished.file(progress), copy))
