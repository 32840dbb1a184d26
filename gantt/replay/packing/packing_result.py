"""One policy on one drawing of a trace, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from gantt.replay import decision_files
from gantt.replay.events import Arrival
from gantt.replay.packing.arrivals import Scarce
from gantt.replay.packing.policies import POLICIES, Case
from gantt.replay.replay_report import report_of
from gantt.replay.run import Decided, Replay, ReplaySettings

POINTS: Final = (90, 95, 100, 110, 120, 130)
"""Percent of the scarce class that were asked for, at which it is told how much was
placed."""


class PackingResult(Struct, frozen=True):
    """``placed`` and ``refused``: instances. ``scarce``: the class; ``placed_at``:
    percent of it that were asked for -> percent that were placed. ``used_mean``,
    ``stranded_mean``: parts by class, over the samples. ``digest``: of the
    decisions."""

    policy: str
    seed: int
    placed: int
    refused: int
    scarce: str
    placed_at: dict[int, float]
    empty_hosts_mean: float
    empty_hosts_least: int
    hosts: int
    used_mean: dict[str, float]
    stranded_mean: dict[str, float]
    violations: int
    digest: str
    cpu_s: float


def run(
    policy: str,
    case: Case,
    arrivals: Sequence[Arrival],
    scarce: Scarce,
    settings: ReplaySettings,
    told: Callable[[int], None] = lambda _: None,
) -> PackingResult:
    """``told``: of each arrival that was decided."""
    began = time.process_time()
    replay = Replay(case.machines, settings, POLICIES[policy](case))
    asked = decision_files.Counted(arrivals)
    curve = _Curve(scarce)

    def watched() -> Sequence[Decided]:
        found = []
        for arrival, decided in zip(arrivals, replay.run(asked), strict=False):
            curve.add(arrival, decided)
            told(1)
            found.append(decided)
        return found

    footer = decision_files.count(watched(), asked)
    report = report_of("", replay.outcome, 0, footer.arrivals, footer.decisions)
    return PackingResult(
        policy,
        settings.seed,
        report.placed,
        sum(report.refused.values()),
        scarce.name,
        curve.placed_at,
        round(report.empty_hosts_mean, 2),
        report.empty_hosts_least,
        report.hosts,
        {name: round(one.used_mean, 5) for name, one in report.classes.items()},
        {name: round(one.stranded_mean, 5) for name, one in report.classes.items()},
        report.violations,
        footer.decisions,
        round(time.process_time() - began, 1),
    )


class _Curve:
    """How much of the scarce class was placed by when how much was asked for."""

    def __init__(self, scarce: Scarce) -> None:
        self._scarce = scarce
        self._asked = self._placed = 0
        self.placed_at: dict[int, float] = {}

    def add(self, arrival: Arrival, decided: Decided) -> None:
        amount = self._scarce.of(arrival)
        self._asked += amount
        self._placed += amount if decided.hosts else 0
        capacity = self._scarce.capacity
        for point in POINTS:
            if 100 * self._asked < point * capacity:
                break
            if point not in self.placed_at:
                self.placed_at[point] = round(100 * self._placed / capacity, 3)
