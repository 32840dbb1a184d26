"""Figures as text, the same in tables, pages and documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gantt.bench.bench_report import ComparisonResult, LeftOut, RunFacts
from gantt.bench.comparison import TimeRatio
from gantt.bench.path_profile import PathProfile

HEADINGS = ("side", "median", "quartiles", "per second", "processor", "ratio")


def duration(seconds: float) -> str:
    """With three digits, in a suitable unit."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    if seconds >= 0.001:
        return f"{seconds * 1_000:.3g} ms"
    return f"{seconds * 1_000_000:.3g} µs"


def rate(per_s: float) -> str:
    """Requests in a second."""
    return f"{per_s:,.0f}" if per_s >= 10 else f"{per_s:.2g}"


def times(value: float) -> str:
    """A ratio with three digits."""
    return f"{value:,.0f}×" if value >= 100 else f"{value:.3g}×"


def rows_of(result: ComparisonResult) -> list[tuple[str, ...]]:
    """The sides of a comparison, under ``HEADINGS``."""
    return [
        (
            one.side,
            duration(one.median_s),
            f"{duration(one.low_s)} – {duration(one.high_s)}",
            rate(one.per_s),
            duration(one.work_s),
            _ratio_text(result.ratio_of(one.side)),
        )
        for one in result.measured
    ]


def path_row(one: PathProfile, most: int) -> tuple[str, ...]:
    """A path, its median, its processor time and so many of its slowest stages."""
    stages = ", ".join(f"{name} {duration(took)}" for name, took in one.slowest(most))
    return one.path, duration(one.median_s), duration(one.work_s), stages


def _ratio_text(ratio: TimeRatio | None) -> str:
    """How many times as long as its rival, which is named."""
    return (spread(ratio, f" {ratio.rival}") or "none") if ratio else ""


def spread(ratio: TimeRatio, rival: str = "") -> str:
    """The median of the rounds, the least and the most; empty: there is no ratio."""
    if ratio.times is None or ratio.least is None or ratio.most is None:
        return ""
    range_ = f"{times(ratio.least)} – {times(ratio.most)}"
    return f"{times(ratio.times)}{rival} ({range_})"


def circumstances(run: RunFacts) -> str:
    """When it was measured, by what, and what else the machine did."""
    before, after = (
        " ".join(f"{one:g}" for one in loads)
        for loads in (run.load_before, run.load_after)
    )
    return (
        f"Gantt {run.version}, {run.began}, took {run.took_s:,.0f} s; "
        f"load averages {before} before, {after} after."
    )


def left_out_text(these: Iterable[LeftOut]) -> Iterator[str]:
    """A sentence for each reason, with all sides that have it."""
    by_reason: dict[str, list[str]] = {}
    for one in these:
        by_reason.setdefault(one.why, []).append(one.side)
    for why, sides in by_reason.items():
        yield f"Left out: {', '.join(sides)} ({why})."
