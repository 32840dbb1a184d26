"""``python -m bench.document``: the figures of reports, put into documents.

A document says ``<!-- gantt bench: short -->`` before its tables and ``<!-- end -->``
after them; what is between comes from ``docs/bench/short.json``. ``<!-- bench: agents
-->`` stands before the rows of suites of this repository, from ``agents.json``. With
``of 100,000 hosts`` after the name, only those are shown. A test compares the two, so
that no figure is older than its report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from bench.report import HEADINGS, Kept, kept, markdown
from gantt.bench import bench_report as reports
from gantt.bench.bench_report import BenchReport, ComparisonResult
from gantt.bench.comparison import Measured
from gantt.bench.figures import circumstances, duration, left_out_text, path_row, spread

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "docs" / "bench"
BLOCK = re.compile(
    r"(<!-- (gantt bench|bench): ([\w-]+)(?: of ([\d,]+) hosts)? -->\n)"
    r".*?(<!-- end -->)",
    re.DOTALL,
)
SLOWEST = 3


def documents() -> Iterator[Path]:
    """All that may have figures."""
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


def renewed(text: str) -> str:
    """``text`` with the figures of the reports that it names, or how to measure those
    of a suite that were never kept."""

    def figures(found: re.Match[str]) -> str:
        file = KEPT / f"{found[3]}.json"
        is_suite = found[2] == "bench"
        size = int(found[4].replace(",", "")) if found[4] else None
        if is_suite:
            text = rows_of(kept(file)) if file.exists() else _unmeasured(found[3])
        else:
            text = block(reports.read(file), size)
        return f"{found[1]}{text}{found[5]}"

    return BLOCK.sub(figures, text)


def _unmeasured(name: str) -> str:
    command = f"`python -m bench {name} --out FILE`"
    return (
        f"\nNot measured yet: {command}, FILE being `{name}.json` in `docs/bench`, "
        "and then `python -m bench.document` write figures here.\n\n"
    )


def rows_of(found: Kept) -> str:
    """The rows of suites as a table, under their command and circumstances."""
    where = f"`{found.command}`. {found.machine}. {circumstances(found)}"
    rows = markdown(HEADINGS, (row.cells for row in found.rows))
    return f"\n{where}\n\n{rows}\n\n"


def block(report: BenchReport, size: int | None = None) -> str:
    """The ratios and the slowest stages of a report, as tables; of fleets of ``size``
    alone, if that is given."""
    if size is not None:
        mine = [one for one in report.results if one.comparison.size == size]
        report = replace(report, results=mine, paths=[])
    parts = [f"{report.machine}. {circumstances(report)}"]
    rows = [row for result in report.results for row in _ratios(result)]
    headings = ("requests and fleet", "Gantt", "beside it", "times as long")
    parts.append(markdown(headings, rows))
    parts += _left_out(report)
    if report.paths:
        headings = ("path", "median", "processor time", "slowest stages")
        parts.append(
            markdown(headings, (path_row(one, SLOWEST) for one in report.paths))
        )
    return "\n" + "\n\n".join(parts) + "\n\n"


def _left_out(report: BenchReport) -> Iterator[str]:
    """A list of what some comparisons did without, and why."""
    lines = [
        f"- {result.title}: {sentence}"
        for result in report.results
        for sentence in left_out_text(result.left_out)
    ]
    if lines:
        yield "\n".join(lines)


def _ratios(result: ComparisonResult) -> Iterator[tuple[str, ...]]:
    sides = {one.side: one for one in result.measured}
    for ratio in result.ratios:
        yield (
            result.title,
            _cell(sides[ratio.rival]),
            _cell(sides[ratio.side]),
            spread(ratio) or f"none: {ratio.refused}",
        )


def _cell(one: Measured) -> str:
    return f"{one.side} {duration(one.median_s)}"


def main() -> None:
    """Renew every document."""
    for path in documents():
        text = path.read_text()
        if (found := renewed(text)) != text:
            path.write_text(found)


if __name__ == "__main__":
    main()
