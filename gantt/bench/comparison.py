"""One comparison: sides that take turns at the same requests on the same fleet.

Each round gives every side the same requests, so that other load meets all of them; the
first round warms up and does not count. A ratio is the median of those of the rounds.
Each side tells which fleet it held and notes what it was asked: where two differ, or
did not place as many, there is no ratio.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from statistics import median, quantiles

from msgspec import Struct

from gantt.bench.side import Side
from gantt.bench.workloads import CALLERS, Ask, asks
from gantt.replay.decision_files import Digest

Progress = Callable[[str, int, int], None]
"""Takes the name of a task, how much of it is done, and of how much."""
_LEAST_ROUNDS = 2


class Comparison(Struct, frozen=True):
    """``asks``: requests of a round; ``rounds``: those that count. ``limit_s``: no
    round begins later, once two have counted. ``absent``: why other sides, which could
    be asked, are not."""

    shape: str
    size: int
    workload: str
    sides: tuple[str, ...]
    asks: int
    rounds: int
    is_mixed: bool = False
    limit_s: float = 30.0
    absent: str = "not part of this comparison"


class Measured(Struct, frozen=True):
    """One side. Times are seconds of a request: the median, the quartiles and the
    extremes; of a burst, seconds of a round per request. ``work_s``: processor time of
    a request, the median of the rounds. ``fleet``, ``requests``: digests of what it
    held and was asked."""

    side: str
    asked: int
    placed: int
    median_s: float
    low_s: float
    high_s: float
    least_s: float
    most_s: float
    per_s: float
    work_s: float
    fleet: str
    requests: str


class TimeRatio(Struct, frozen=True):
    """How many times as long ``side`` takes as ``rival``: the median, the least and the
    most of the rounds; None, and ``refused`` says why not."""

    side: str
    rival: str
    times: float | None = None
    least: float | None = None
    most: float | None = None
    refused: str = ""


class SideRun:
    """A side while it is measured."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.rounds: list[list[float]] = []
        self.wall_s: list[float] = []
        self.work_s: list[float] = []
        self.placed = 0
        self.asked = 0
        self._requests = Digest()
        facts = Digest()
        for fact in sorted(side.facts()):
            facts.add(fact)
        self._fleet = str(facts)

    def round(self, asked: Sequence[Ask], *, is_burst: bool, counts: bool) -> None:
        """Place ``asked``; whether it ``counts`` or warms up."""
        for ask in asked:
            self._requests.add(ask)
        worked = self.side.worked_s()
        began = time.perf_counter()
        if is_burst and self.side.is_threaded:
            with ThreadPoolExecutor(CALLERS) as callers:
                placed = sum(callers.map(self.side.place, asked))
            each: list[float] = []
        else:
            placed, each = self._one_by_one(asked)
        wall_s = time.perf_counter() - began
        work_s = self.side.worked_s() - worked
        self.placed += placed
        self.asked += sum(ask.count for ask in asked)
        if counts:
            self.rounds.append([wall_s / len(asked)] if is_burst else each)
            self.wall_s.append(wall_s)
            self.work_s.append(work_s / len(asked))

    def _one_by_one(self, asked: Sequence[Ask]) -> tuple[int, list[float]]:
        placed, each = 0, []
        for ask in asked:
            began = time.perf_counter()
            placed += self.side.place(ask)
            each.append(time.perf_counter() - began)
        return placed, each

    def measured(self) -> Measured:
        """What came of it."""
        times = [one for each in self.rounds for one in each]
        quarters = quantiles(times, n=4, method="inclusive") if times[1:] else times * 3
        middle = median(times)
        return Measured(
            self.side.name,
            self.asked,
            self.placed,
            median_s=middle,
            low_s=quarters[0],
            high_s=quarters[2],
            least_s=min(times),
            most_s=max(times),
            per_s=1 / middle,
            work_s=median(self.work_s),
            fleet=self._fleet,
            requests=str(self._requests),
        )


def take_turns(
    sides: Sequence[Side],
    of: Comparison,
    progress: Progress,
    clock: Callable[[], float] = time.monotonic,
) -> list[SideRun]:
    """Ask all ``sides`` for all rounds."""
    runs = [SideRun(side) for side in sides]
    source = asks(of.workload)
    began = clock()
    what = f"{of.workload}, {of.size:,} hosts"
    for number in range(of.rounds + 1):
        if number > _LEAST_ROUNDS and clock() - began > of.limit_s:
            break
        asked = list(islice(source, of.asks))
        # Another begins each time: none has always the caches of the same other.
        for at in range(len(runs)):
            run = runs[(number + at) % len(runs)]
            run.round(asked, is_burst=of.workload == "burst", counts=number > 0)
        progress(what, number + 1, of.rounds + 1)
    progress(what, of.rounds + 1, of.rounds + 1)
    return runs


def ratios(runs: Sequence[SideRun], rivals: dict[str, str]) -> Iterator[TimeRatio]:
    """That of each side in ``rivals`` which was measured beside its rival."""
    by_name = {run.side.name: run for run in runs}
    for run in runs:
        rival = by_name.get(rivals.get(run.side.name, ""))
        if rival is not None:
            yield ratio(run, rival)


def ratio(run: SideRun, rival: SideRun) -> TimeRatio:
    """How many times as long ``run`` took; refused where that would say nothing."""
    names = run.side.name, rival.side.name
    if refused := unlike(run.measured(), rival.measured()):
        return TimeRatio(*names, refused=refused)
    each = [one / other for one, other in zip(run.wall_s, rival.wall_s, strict=True)]
    return TimeRatio(*names, times=median(each), least=min(each), most=max(each))


def unlike(one: Measured, other: Measured) -> str:
    """Why two sides cannot be compared; empty: they did the same."""
    if one.fleet != other.fleet:
        return f"they held different fleets ({one.fleet[:8]}, {other.fleet[:8]})"
    if one.requests != other.requests:
        return (
            "they were asked different requests "
            f"({one.requests[:8]}, {other.requests[:8]})"
        )
    if one.placed != other.placed:
        return f"they placed {one.placed} and {other.placed} of {one.asked} instances"
    return ""
