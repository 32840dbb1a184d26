"""The report as one HTML page: tables and plots (SVG), without scripts and without
anything from elsewhere, so that it opens from a disk. All text is escaped.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from gantt.bench.bench_report import BenchReport, ComparisonResult, LeftOut
from gantt.bench.chart import Line, draw
from gantt.bench.comparison import Measured
from gantt.bench.figures import (
    HEADINGS,
    circumstances,
    duration,
    path_row,
    rows_of,
)
from gantt.bench.path_profile import PathProfile
from gantt.bench.path_stages import ORDER
from gantt.bench.sides import SIDES

_COLORS: Final = {
    "gantt": "#1f5fa8",
    "gantt-durable": "#3f86d1",
    "gantt-api": "#7db1e6",
    "plain": "#6b7280",
    "placement": "#c2571a",
    "nova": "#8a3ffc",
    "nova-placement": "#b3361b",
}
_STAGE_COLORS: Final = tuple(
    (
        "#1f5fa8 #c2571a #1b7a4b #8a3ffc #b08a00 #b3361b #3f86d1 #6b7280 "
        "#0f766e #be185d #7db1e6"
    ).split()
)
_STYLE: Final = """
body { font: 14px/1.45 system-ui, sans-serif; color: #16202c; margin: 2em auto;
  max-width: 64em; padding: 0 1em; }
table { border-collapse: collapse; margin: .6em 0; }
th, td { text-align: left; padding: .2em .9em .2em 0; border-bottom: 1px solid #d9dee5;
  font-variant-numeric: tabular-nums; vertical-align: top; }
h2 { font-size: 1.15em; margin-top: 2em; } small { color: #57636f; }
svg { max-width: 100%; height: auto; }
"""
_WIDTH, _LABEL, _ROW = 720, 130, 24


def page(report: BenchReport) -> str:
    """The whole page."""
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f"<title>gantt bench</title><style>{_STYLE}</style></head><body>",
            "<h1>gantt bench</h1>",
            *_head(report),
            *_curves(report.results),
            *(part for result in report.results for part in _result(result)),
            *_paths(report.paths),
            "</body></html>\n",
        )
    )


def _head(report: BenchReport) -> Iterator[str]:
    yield _paragraph(str(report.machine))
    yield _paragraph(circumstances(report))
    if report.command:
        yield f"<p><code>{escape(report.command)}</code></p>"
    yield _table(("side", "what it is"), SIDES.items())
    yield _left_out(report.left_out)
    yield _paragraph(
        "Times are of one request: the median, and the quartiles. Processor time is "
        "that of all processes of a side, the client's included. A ratio says how many "
        "times as long a side takes as the one of Gantt that does as much: the median "
        "of the rounds, the least and the most."
    )


def _result(result: ComparisonResult) -> Iterator[str]:
    yield f"<h2>{escape(result.title)}</h2>"
    yield _bars(result.measured)
    yield _table(HEADINGS, rows_of(result))
    for ratio in result.ratios:
        if ratio.refused:
            text = f"No ratio of {ratio.side} to {ratio.rival}: {ratio.refused}."
            yield _paragraph(text)
    yield _left_out(result.left_out)


def _bars(measured: Sequence[Measured]) -> str:
    """A bar for each side, as long as the logarithm of its time, with its quartiles."""
    if not measured:
        return ""
    low = math.floor(math.log10(min(one.low_s for one in measured)))
    high = max(low + 1, math.ceil(math.log10(max(one.high_s for one in measured))))
    room = _WIDTH - _LABEL - 90

    def place(seconds: float) -> float:
        return _LABEL + room * (math.log10(seconds) - low) / (high - low)

    parts = []
    for number, one in enumerate(measured):
        top = number * _ROW + 4
        middle = top + _ROW / 2 - 2
        width = max(place(one.median_s) - _LABEL, 1.0)
        color = _COLORS.get(one.side, "#333333")
        parts += [
            _text(0, middle + 4, one.side),
            f'<rect x="{_LABEL}" y="{top}" width="{width:.1f}" height="{_ROW - 6}" '
            f'fill="{color}"/>',
            f'<line x1="{place(one.low_s):.1f}" x2="{place(one.high_s):.1f}" '
            f'y1="{middle:.1f}" y2="{middle:.1f}" stroke="#16202c" stroke-width="2"/>',
            _text(place(one.high_s) + 8, middle + 4, duration(one.median_s)),
        ]
    bottom = len(measured) * _ROW + 6
    for power in range(low, high + 1):
        at = place(10.0**power)
        parts.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{bottom}" stroke="#d9dee5"/>'
        )
        parts.append(_text(at - 12, bottom + 14, duration(10.0**power)))
    return _picture(bottom + 20, parts)


def _curves(results: Sequence[ComparisonResult]) -> Iterator[str]:
    """Time against the number of hosts, where a workload was measured on several."""
    found: dict[tuple[str, str, bool], dict[str, dict[int, float]]] = defaultdict(dict)
    for result in results:
        of = result.comparison
        lines = found[of.workload, of.shape, of.is_mixed]
        for one in result.measured:
            # The later one of a size has more requests.
            lines.setdefault(one.side, {})[of.size] = one.median_s
    for (workload, shape, is_mixed), lines in found.items():
        drawn = [
            Line(side, _COLORS.get(side, "#333333"), tuple(sorted(points.items())))
            for side, points in lines.items()
            if len(points) > 1
        ]
        if drawn:
            title = f"{workload}; {shape}, {'mixed' if is_mixed else 'uniform'}"
            yield draw(drawn, title=title, across="hosts", up="median of a request")


def _paths(paths: Sequence[PathProfile]) -> Iterator[str]:
    if not paths:
        return
    yield "<h2>Where the time of a request goes</h2>"
    found = {name for one in paths for name in one.stages}
    names = [name for name in ORDER if name in found]
    names += sorted(found.difference(ORDER))
    colors = {
        name: _STAGE_COLORS[at % len(_STAGE_COLORS)] for at, name in enumerate(names)
    }
    yield _stacks(paths, colors)
    headings = ("path", "median", "processor", "stages, the slowest first")
    yield _table(headings, (path_row(one, 8) for one in paths))


def _stacks(paths: Sequence[PathProfile], colors: dict[str, str]) -> str:
    """A bar for each path, all equally long, divided into its stages."""
    label, parts = 200, []
    room = _WIDTH - label
    for number, one in enumerate(paths):
        top, at = number * _ROW + 4, float(label)
        parts.append(_text(0, top + 14, one.path))
        total_s = sum(one.stages.values())
        for name, took in one.stages.items():
            width = room * took / total_s
            parts.append(
                f'<rect x="{at:.1f}" y="{top}" width="{width:.1f}" '
                f'height="{_ROW - 6}" fill="{colors[name]}">'
                f"<title>{escape(name)}: {duration(took)}</title></rect>"
            )
            at += width
    bottom = len(paths) * _ROW + 12
    for number, (name, color) in enumerate(colors.items()):
        left, top = number % 5 * 144, bottom + number // 5 * 18
        parts.append(
            f'<rect x="{left}" y="{top}" width="12" height="12" fill="{color}"/>'
        )
        parts.append(_text(left + 17, top + 11, name))
    return _picture(bottom + (len(colors) + 4) // 5 * 18, parts)


def _picture(height: float, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" '
        f'width="{_WIDTH}" font-family="sans-serif" font-size="12">\n{body}\n</svg>'
    )


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _left_out(these: Sequence[LeftOut]) -> str:
    items = "".join(f"<li>{escape(f'{one.side}: {one.why}')}</li>" for one in these)
    return f"<p>Left out:</p><ul>{items}</ul>" if items else ""


def _table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{escape(one)}</th>" for one in headings)
    lines = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><tr>{head}</tr>{body}</table>"
