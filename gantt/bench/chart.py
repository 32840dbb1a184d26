"""A small chart with two logarithmic axes, as SVG.

One picture does not justify a plotting library.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from msgspec import Struct

WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 80, 170, 50, 60
LINE_HEIGHT = 15
INK, GRID = "#333333", "#dddddd"


class Line(Struct, frozen=True):
    """``points``: how many, and how many seconds."""

    name: str
    color: str
    points: tuple[tuple[int, float], ...]
    is_dashed: bool = False


class Axis(Struct, frozen=True):
    """Powers of ten from ``low`` to ``high``, between two places on the picture."""

    low: int
    high: int
    start: float
    stop: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, stop: float) -> Axis:
        """The whole decades that contain ``values``."""
        low = math.floor(math.log10(min(values)))
        high = max(low + 1, math.ceil(math.log10(max(values))))
        return cls(low, high, start, stop)

    def place(self, value: float) -> float:
        """The coordinate of ``value``."""
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def decades(self) -> Iterator[float]:
        """The ticks."""
        return (10.0**power for power in range(self.low, self.high + 1))


def draw(lines: Sequence[Line], *, title: str, across: str, up: str) -> str:
    """The whole picture."""
    x = Axis.over([n for line in lines for n, _ in line.points], LEFT, WIDTH - RIGHT)
    y = Axis.over([s for line in lines for _, s in line.points], HEIGHT - BOTTOM, TOP)
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(middle, TOP / 2, title, size=15),
        _text(middle, HEIGHT - 12, across),
        _text(18, HEIGHT / 2, up, turn=True),
        *_grid(x, y),
        *(part for line in lines for part in _line(line, x, y)),
        *_names(lines, x, y),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _grid(x: Axis, y: Axis) -> Iterator[str]:
    for value in x.decades():
        at = x.place(value)
        yield _stroke(at, y.start, at, y.stop, GRID)
        yield _text(at, y.start + 18, f"{value:,.0f}")
    for value in y.decades():
        at = y.place(value)
        yield _stroke(x.start, at, x.stop, at, GRID)
        yield _text(x.start - 8, at + 4, _seconds(value), anchor="end")


def _line(line: Line, x: Axis, y: Axis) -> Iterator[str]:
    places = [(x.place(count), y.place(seconds)) for count, seconds in line.points]
    path = " ".join(f"{across:.1f},{up:.1f}" for across, up in places)
    dashes = ' stroke-dasharray="6 4"' if line.is_dashed else ""
    yield (
        f'<polyline points="{path}" fill="none" stroke="{line.color}" '
        f'stroke-width="2"{dashes}/>'
    )
    for across, up in places:
        yield f'<circle cx="{across:.1f}" cy="{up:.1f}" r="4" fill="{line.color}"/>'


def _names(lines: Sequence[Line], x: Axis, y: Axis) -> Iterator[str]:
    """Labels at the last points, shifted where these are close."""
    ends = [
        (line, x.place(line.points[-1][0]), y.place(line.points[-1][1]))
        for line in lines
    ]
    lowest: dict[float, float] = {}
    for line, across, up in sorted(ends, key=lambda end: end[1:]):
        at = max(up + 4, lowest.get(across, 0) + LINE_HEIGHT)
        lowest[across] = at
        yield _text(across + 10, at, line.name, anchor="start", color=line.color)


def _stroke(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{color}"/>'
    )


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "middle",
    color: str = INK,
    size: int = 12,
    turn: bool = False,
) -> str:
    turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}" '
        f'font-size="{size}"{turned}>{escape(text)}</text>'
    )


def _seconds(value: float) -> str:
    return f"{value:g} s" if value >= 1 else f"{value * 1000:g} ms"
