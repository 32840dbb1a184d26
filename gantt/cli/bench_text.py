"""Reports of ``gantt bench`` as text."""

from __future__ import annotations

from collections.abc import Iterator

from gantt.bench.comparing import Measured, Ratio
from gantt.bench.figures import (
    circumstances,
    duration,
    left_out_text,
    rate,
    ratio_text,
)
from gantt.bench.profiling import PathProfile
from gantt.bench.report import Report, Result
from gantt.cli.output import table

_HEADINGS = ("side", "median", "quartiles", "per second", "processor", "ratio")
_MOST_STAGES = 6


def paragraphs(report: Report) -> Iterator[str]:
    """The machine, then each comparison and each path."""
    yield f"{report.machine}\n{circumstances(report)}"
    if report.left_out:
        yield "\n".join(left_out_text(report.left_out))
    for result in report.results:
        yield "\n".join((result.title, *_comparison(result)))
    if report.paths:
        headings = ("path", "median", "processor", "stages")
        paths = table(headings, list(map(_path, report.paths)))
        yield f"Where the time of a request goes\n{paths}"


def _comparison(result: Result) -> Iterator[str]:
    yield table(
        _HEADINGS, [_row(one, result.ratio_of(one.side)) for one in result.measured]
    )
    for ratio in result.ratios:
        if ratio.refused:
            yield f"No ratio of {ratio.side} to {ratio.rival}: {ratio.refused}."
    yield from left_out_text(result.left_out)


def _row(one: Measured, ratio: Ratio | None) -> tuple[str, ...]:
    return (
        one.side,
        duration(one.median_s),
        f"{duration(one.low_s)} – {duration(one.high_s)}",
        rate(one.per_s),
        duration(one.work_s),
        ratio_text(ratio),
    )


def _path(one: PathProfile) -> tuple[str, str, str, str]:
    stages = ", ".join(
        f"{name} {duration(took)}" for name, took in one.slowest(_MOST_STAGES)
    )
    return one.path, duration(one.median_s), duration(one.work_s), stages
