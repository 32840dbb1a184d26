"""Results as rows with their goals, the machine, and files that keep both."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from gantt import __version__
from gantt.bench import machine
from gantt.bench.report import Run, write_text

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


class Kept(Run, frozen=True, kw_only=True):
    """A file of rows. ``machine``: as on one line of text."""

    machine: str
    rows: list[Row]


def timed(program: str, measure: Callable[[], list[Row]]) -> Kept:
    """The rows that ``measure`` finds, in a process that was started by ``program``
    and arguments."""
    began, clock, before = datetime.now(UTC), time.monotonic(), machine.load()
    rows = measure()
    return Kept(
        command=shlex.join([*program.split(), *sys.argv[1:]]),
        version=__version__,
        began=began.isoformat(timespec="seconds"),
        took_s=round(time.monotonic() - clock, 1),
        machine=str(machine.describe()),
        load_before=before,
        load_after=machine.load(),
        rows=rows,
    )


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


def show(found: Kept, form: Form) -> None:
    """Print the table and the machine."""
    if form == "markdown":
        print(markdown(found.rows))
    elif form == "json":
        print(encoded(found))
    else:
        table = Table(caption=found.machine)
        for heading in HEADINGS:
            table.add_column(heading)
        for row in found.rows:
            table.add_row(*row.cells)
        Console(width=130).print(table)


def keep(found: Kept, path: Path) -> None:
    """Write it as JSON. Raises Invalid."""
    write_text(path, encoded(found) + "\n")


def encoded(found: Kept) -> str:
    """As indented JSON."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1).decode()


def kept(path: Path) -> Kept:
    """What ``keep`` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=Kept)


def markdown(rows: Iterable[Row]) -> str:
    """The table for a document."""
    lines = [HEADINGS, ("---",) * len(HEADINGS), *(row.cells for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
