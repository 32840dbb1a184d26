"""Makes the comparisons and profiles of a report, one after the other, each in a folder
of its own that is gone afterwards. Those in a row on one fleet begin with copies of it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path

from gantt.bench import machine_facts
from gantt.bench.bench_fleets import BenchFleet, fleet_of
from gantt.bench.bench_report import Begun, BenchReport, ComparisonResult, LeftOut
from gantt.bench.comparison import Comparison, Progress, ratios, take_turns
from gantt.bench.paths import REQUESTS, profiles
from gantt.bench.sides import RIVALS, SIDES, Furnished, Sides, lack_of, why_not
from gantt.errors import GanttError


def measure(
    comparisons: Sequence[Comparison],
    folder: Path,
    progress: Progress,
    *,
    command: str = "",
    profiled_hosts: int = 0,
    requests: int = REQUESTS,
) -> BenchReport:
    """All of ``comparisons``; with ``profiled_hosts`` the paths on so many as well.
    Databases are made below ``folder``."""
    begun = Begun()
    results: list[ComparisonResult] = []
    for fleet, alike in groupby(comparisons, _fleet_of):
        with tempfile.TemporaryDirectory(prefix="gantt-bench-", dir=folder) as name:
            furnished = Furnished(fleet, Path(name) / "fleet.db")
            for one in alike:
                progress("comparisons", len(results), len(comparisons))
                results.append(_attempt(one, furnished, Path(name), progress))
    progress("comparisons", len(results), len(comparisons))
    paths = []
    if profiled_hosts:
        fleet = fleet_of("flat", profiled_hosts, is_mixed=False)
        with tempfile.TemporaryDirectory(prefix="gantt-bench-", dir=folder) as name:
            paths = list(profiles(fleet, Path(name), progress, requests))
    asked = {side for one in comparisons for side in one.sides}
    return BenchReport(
        **begun.ended(command),
        machine=machine_facts.describe(),
        left_out=[
            LeftOut(side, why)
            for side in SIDES
            if side in asked and (why := lack_of(side))
        ],
        results=results,
        paths=paths,
    )


def _fleet_of(of: Comparison) -> BenchFleet:
    return fleet_of(of.shape, of.size, is_mixed=of.is_mixed)


def _attempt(
    of: Comparison, furnished: Furnished, folder: Path, progress: Progress
) -> ComparisonResult:
    """Compares as ``compare`` does; what fails becomes a result that says so, so that
    others are not lost."""
    try:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            return compare(of, furnished, Path(name), progress)
    except (GanttError, OSError, RuntimeError) as error:
        failed = LeftOut("every side", f"the comparison failed: {error}")
        return ComparisonResult(furnished.fleet.name, of, [], [], [failed])


def compare(
    of: Comparison, furnished: Furnished, folder: Path, progress: Progress
) -> ComparisonResult:
    """One comparison on its fleet, of the sides that can take part; each of the others
    is named."""
    fleet = furnished.fleet
    reasons = {name: _reason(name, of, fleet) for name in SIDES}
    left_out = [LeftOut(name, why) for name, why in reasons.items() if why]
    with ExitStack() as opened:
        sides, opener = [], Sides(furnished, folder)
        for name in of.sides:
            if reasons[name]:
                continue
            what = f"{name}, {of.size:,} hosts"
            side = opener.open(name, lambda done, total: progress(what, done, total))  # noqa: B023
            opened.callback(side.close)
            sides.append(side)
        runs = take_turns(sides, of, progress)
    return ComparisonResult(
        fleet.name,
        of,
        [run.measured() for run in runs],
        list(ratios(runs, RIVALS)),
        left_out,
    )


def _reason(side: str, of: Comparison, fleet: BenchFleet) -> str:
    """Why ``side`` does not take part; empty: it does."""
    why = lack_of(side) or why_not(side, of.workload, fleet)
    return why or ("" if side in of.sides else of.absent)
