"""Results as rows with their goals, in the files and with the figures of ``gantt
bench``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from gantt.bench import machine_facts
from gantt.bench.bench_report import Begun, RunFacts, write
from gantt.bench.figures import duration

Form: TypeAlias = Literal["table", "markdown", "json"]
KB_PER_MB = 1024
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


class Kept(RunFacts, frozen=True, kw_only=True):
    """A file of rows. ``machine``: as on one line of text."""

    machine: str
    rows: list[Row]


def timed(program: str, measure: Callable[[], list[Row]]) -> Kept:
    """The rows that ``measure`` finds, in a process that was started by ``program``
    and arguments."""
    begun = Begun()
    rows = measure()
    command = shlex.join([*program.split(), *sys.argv[1:]])
    return Kept(
        **begun.ended(command), machine=str(machine_facts.describe()), rows=rows
    )


def tell(
    program: str,
    measure: Callable[[], list[Row]],
    out: Path | None,
    form: Form = "table",
) -> None:
    """Measure, print the rows, and write them into ``out``. Raises Invalid."""
    found = timed(program, measure)
    show(found, form)
    if out is not None:
        write(found, out)


def per_second(rate: float) -> str:
    """A rate as text."""
    return f"{rate:,.0f}/s"


def megabytes(amount: float) -> str:
    """An amount of memory as text."""
    return f"{amount:,.0f} MB"


def at_most(
    work: str,
    goal: float,
    found: float,
    form: Callable[[float], str] = duration,
    more: str = "",
) -> Row:
    """What is to be small: seconds, or what ``form`` tells; ``more`` is told too."""
    return Row(work, f"≤ {form(goal)}", f"{form(found)}{more}", is_met=found <= goal)


def at_least(
    work: str, goal: float, found: float, form: Callable[[float], str] = per_second
) -> Row:
    """What is to be large."""
    return Row(work, f"≥ {form(goal)}", form(found), is_met=found >= goal)


def compared(work: str, goal: float, gantt_s: float, upstream_s: float) -> Row:
    """How many times faster than upstream, against the goal."""
    ratio = upstream_s / gantt_s
    took = duration(gantt_s), duration(upstream_s)
    return Row(work, f"≥ {goal:,.0f}×", *took, f"{ratio:,.0f}×", ratio >= goal)


def say(text: str) -> None:
    """Print progress."""
    print(text, file=sys.stderr, flush=True)


def show(found: Kept, form: Form) -> None:
    """Print the table and the machine."""
    if form == "markdown":
        print(markdown(HEADINGS, (row.cells for row in found.rows)))
    elif form == "json":
        print(msgspec.json.format(msgspec.json.encode(found), indent=1).decode())
    else:
        table = Table(*HEADINGS, caption=found.machine)
        for row in found.rows:
            table.add_row(*row.cells)
        Console(width=130).print(table)


def kept(path: Path) -> Kept:
    """The rows in a file."""
    return msgspec.json.decode(path.read_bytes(), type=Kept)


def markdown(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table for a document."""
    lines = (headings, ("---",) * len(headings), *rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
