"""Reports of ``gantt bench`` as text."""

from __future__ import annotations

from collections.abc import Iterator

from gantt.bench.bench_report import BenchReport, ComparisonResult
from gantt.bench.figures import (
    HEADINGS,
    circumstances,
    left_out_text,
    path_row,
    rows_of,
)
from gantt.cli.output import table

_MOST_STAGES = 6


def paragraphs(report: BenchReport) -> Iterator[str]:
    """The machine, then each comparison and each path."""
    yield f"{report.machine}\n{circumstances(report)}"
    if report.left_out:
        yield "\n".join(left_out_text(report.left_out))
    for result in report.results:
        yield "\n".join((result.title, *_comparison(result)))
    if report.paths:
        headings = ("path", "median", "processor", "stages")
        rows = [path_row(one, _MOST_STAGES) for one in report.paths]
        yield f"Where the time of a request goes\n{table(headings, rows)}"


def _comparison(result: ComparisonResult) -> Iterator[str]:
    yield table(HEADINGS, rows_of(result))
    for ratio in result.ratios:
        if ratio.refused:
            yield f"No ratio of {ratio.side} to {ratio.rival}: {ratio.refused}."
    yield from left_out_text(result.left_out)
