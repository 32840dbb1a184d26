"""``python -m bench``: the speed of this machine's Gantt, as one table; what needs this
repository, beside ``gantt bench``.

Over HTTP with keep-alive, SQLite with synchronous=FULL, client and server on the same
processors, upstream placement beside it where it can be asked the same. Nothing here
fails for being slow.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import (
    advise,
    agents,
    attacks,
    books,
    candidates,
    contention,
    curve,
    fair,
    feed,
    forecast,
    processes,
    rpc,
    scheduler,
    stream,
    topology,
)
from bench.report import Row, show

SUITES: dict[str, Callable[[Path, float], Iterator[Row]]] = {
    "advise": advise.measure,
    "agents": agents.measure,
    "agents-postgresql": agents.measure_postgresql,
    "attacks": attacks.measure,
    "books": books.measure,
    "candidates": candidates.measure,
    "contention": contention.measure,
    "curve": curve.measure,
    "fair": fair.measure,
    "feed": feed.measure,
    "forecast": forecast.measure,
    "processes": processes.measure,
    "rpc": rpc.measure,
    "scheduler": scheduler.measure,
    "stream": stream.measure,
    "topology": topology.measure,
}


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "suites", nargs="*", metavar="|".join(SUITES), help="default: all"
    )
    parser.set_defaults(form="table")
    for form, what in (
        ("markdown", "a table to be pasted into a document"),
        ("json", "the same for a program"),
    ):
        parser.add_argument(
            f"--{form}", dest="form", action="store_const", const=form, help=what
        )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="fleets of this share of their size"
    )
    options = parser.parse_args()
    if unknown := set(options.suites) - set(SUITES):
        parser.error(f"no such suite: {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    Path("var").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gantt-bench-", dir="var") as name:
        folder = Path(name).resolve()
        for suite in options.suites or SUITES:
            rows += SUITES[suite](folder, options.scale)
    show(rows, options.form)


if __name__ == "__main__":
    main()
