"""``python -m bench``: the speed of this machine's Gantt, as one table; what needs this
repository, beside ``gantt bench``.

Over HTTP with keep-alive, SQLite with synchronous=FULL, client and server on the same
processors, upstream placement beside it where it can be asked the same. Nothing here
fails for being slow.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from math import inf
from pathlib import Path
from typing import TypeAlias

from bench.report import Row, say, tell
from gantt.bench.bench_report import check_writable
from gantt.cli.stop_signals import unwound
from gantt.errors import Invalid
from tests.guarded import Missing

Suite: TypeAlias = Callable[[Path, float], Iterator[Row]]
SUITES = (
    "advise agents agents-postgresql attacks books candidates contention curve deaths "
    "fair feed forecast processes record replays rpc scheduler sizing start stream "
    "topology"
).split()
# The others are a function "measure" of a module of their name.
ELSEWHERE = {
    "agents-postgresql": ("agents", "measure_postgresql"),
    "topology": ("scheduler", "measure_topology"),
}


def suite(name: str) -> Suite:
    """One of ``SUITES``, loaded when it is asked for: each has needs of its own."""
    module, function = ELSEWHERE.get(name, (name, "measure"))
    found: Suite = getattr(import_module(f"bench.{module}"), function)
    return found


def main() -> None:
    """Measure what was asked for, print it, and keep it."""
    parser = _parser()
    options = parser.parse_args()
    if options.out is not None:
        try:
            check_writable("--out", options.out)
        except Invalid as refused:
            parser.error(refused.message)
    run = partial(_run, options.suites or SUITES, options.scale)
    tell("python -m bench", run, options.out, options.form)


def _run(suites: Sequence[str], scale: float) -> list[Row]:
    rows: list[Row] = []
    Path("var").mkdir(exist_ok=True)
    with (
        unwound(),
        tempfile.TemporaryDirectory(prefix="gantt-bench-", dir="var") as place,
    ):
        folder = Path(place).resolve()
        for name in suites:
            try:
                rows += suite(name)(folder, scale)
            except Missing as missing:  # the others are measured all the same
                say(f"{name}: {missing}")
    return rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "suites",
        nargs="*",
        metavar="suite",
        type=_suite,
        help=f"{', '.join(SUITES)}; default: all",
    )
    parser.set_defaults(form="table")
    forms = parser.add_mutually_exclusive_group()
    once = partial(forms.add_argument, dest="form", action="store_const")
    once("--markdown", const="markdown", help="print a table for a document")
    once("--json", const="json", help="print the same for a program")
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    parser.add_argument(
        "--scale", type=_share, default=1.0, help="fleets of this share of their size"
    )
    return parser


def _suite(name: str) -> str:
    if name not in SUITES:
        raise argparse.ArgumentTypeError(f"no such suite: {name}")
    return name


def _share(text: str) -> float:
    found = float(text)
    if not 0 < found < inf:
        raise argparse.ArgumentTypeError(f"{text} is no share: give one above 0")
    return found


if __name__ == "__main__":
    main()
