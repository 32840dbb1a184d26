"""What an operator asks of a replay, as one frozen value."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from gantt.replay.measures import Sample
from gantt.replay.run import ReplayOutcome


class ClassShares(Struct, frozen=True):
    """Shares of one resource class over the samples, from 0; capacity in its unit."""

    capacity: float
    used_mean: float
    used_peak: float
    stranded_mean: float
    stranded_at_peak: float


class ReplayReport(Struct, frozen=True, kw_only=True):
    """Counts are of instances, hosts are means over the samples. ``refused``: by what
    removed the most hosts. ``skipped``: places of the trace that could not be read."""

    trace: str
    arrived: int
    placed: int
    refused: dict[str, int]
    departed: int
    conflicts: int
    violations: int
    skipped: int
    hosts: int
    empty_hosts_mean: float
    empty_hosts_least: int
    classes: dict[str, ClassShares]
    samples: list[Sample] = []
    arrivals: str = ""
    decisions: str = ""


def report_of(
    trace: str, outcome: ReplayOutcome, skipped: int, arrivals: str, decisions: str
) -> ReplayReport:
    """``arrivals``, ``decisions``: their digests."""
    samples = outcome.samples
    empty = [one.empty_hosts for one in samples]
    return ReplayReport(
        trace=trace,
        arrived=outcome.arrived,
        placed=outcome.placed,
        refused=dict(outcome.refused.most_common()),
        departed=outcome.departed,
        conflicts=outcome.conflicts,
        violations=outcome.violations,
        skipped=skipped,
        hosts=samples[0].hosts if samples else 0,
        empty_hosts_mean=_mean(empty),
        empty_hosts_least=min(empty, default=0),
        classes={name: _class_use(name, samples) for name in _classes(samples)},
        samples=samples,
        arrivals=arrivals,
        decisions=decisions,
    )


def _classes(samples: Sequence[Sample]) -> list[str]:
    return list(samples[0].classes) if samples else []


def _class_use(name: str, samples: Sequence[Sample]) -> ClassShares:
    each = [one.classes[name] for one in samples]
    peak = max(each, key=lambda one: one.share)
    return ClassShares(
        peak.capacity,
        _mean([one.share for one in each]),
        peak.share,
        _mean([one.stranded_share for one in each]),
        peak.stranded_share,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
