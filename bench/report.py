"""Results as rows with their goals, and the machine."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from gantt.bench.machine import describe

Form: TypeAlias = Literal["table", "markdown", "json"]
HEADINGS = ("work", "goal", "Gantt", "upstream", "ratio", "")


class Row(Struct, frozen=True):
    """One line of the table; ``is_met`` None: there is no goal."""

    work: str
    goal: str
    gantt: str
    upstream: str = ""
    ratio: str = ""
    is_met: bool | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """What is shown under the headings."""
        verdict = {True: "met", False: "missed", None: ""}[self.is_met]
        return self.work, self.goal, self.gantt, self.upstream, self.ratio, verdict


def compared(work: str, goal: float, gantt_s: float, upstream_s: float) -> Row:
    """How many times faster than upstream, against the goal."""
    ratio = upstream_s / gantt_s
    return Row(
        work,
        f"≥ {goal:,.0f}×",
        duration(gantt_s),
        duration(upstream_s),
        f"{ratio:,.0f}×",
        ratio >= goal,
    )


def duration(seconds: float) -> str:
    """With three digits, in a suitable unit."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1000:.3g} ms"


def say(text: str) -> None:
    """Print progress."""
    print(text, file=sys.stderr, flush=True)


def machine() -> str:
    """The machine and the versions, on one line."""
    return str(describe())


def show(rows: Iterable[Row], form: Form) -> None:
    """Print the table and the machine."""
    if form == "markdown":
        print(markdown(rows))
        return
    if form == "json":
        found = msgspec.json.encode({"machine": machine(), "rows": list(rows)})
        print(msgspec.json.format(found).decode())
        return
    table = Table(caption=machine())
    for heading in HEADINGS:
        table.add_column(heading)
    for row in rows:
        table.add_row(*row.cells)
    Console(width=130).print(table)


def markdown(rows: Iterable[Row]) -> str:
    """The table for a document."""
    lines = [HEADINGS, ("---",) * len(HEADINGS), *(row.cells for row in rows)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"{table}\n\nMeasured on {machine()}."
