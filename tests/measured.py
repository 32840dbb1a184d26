"""What tests count themselves, kept in a file with the command that repeats it.

Usage: python -m tests.measured PATH … [--set NAME=VALUE] [--out FILE]

Runs the tests at these paths, with variables that make them longer, as
``tests/crash --set GANTT_CRASH_ROUNDS=36``. Nothing is kept unless all of them ran and
passed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest

from bench.report import Row, tell
from tests.told import listed, sums

GOAL = "the tests pass"


class Passed:
    """A plug-in of pytest; ``reports``: of tests that passed."""

    def __init__(self) -> None:
        self.reports: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called by pytest after each step of a test."""
        if report.when == "call" and report.passed:
            self.reports.append(report)


def main(arguments: list[str] | None = None) -> None:
    """Run them, print what they counted, and keep it."""
    options = _parser().parse_args(arguments)
    os.environ["GANTT_REQUIRE_SERVERS"] = "1"  # what is skipped would be missing
    os.environ.update(one.split("=", 1) for one in options.set)
    tell("python -m tests.measured", partial(run, options.paths), options.out)


def run(paths: list[str]) -> list[Row]:
    """Raises SystemExit unless all tests ran and passed, and counted something."""
    passed = Passed()
    status = pytest.main(["-q", "-p", "no:cacheprovider", *paths], plugins=[passed])
    if status != pytest.ExitCode.OK:
        raise SystemExit(f"pytest ended with {int(status)}: nothing is kept")
    if not (found := rows_of(passed.reports)):
        raise SystemExit("these tests count nothing: nothing is kept")
    return found


def rows_of(reports: Iterable[pytest.TestReport]) -> list[Row]:
    """One for each headline, of tests that all passed."""
    return [
        Row(headline, GOAL, listed(amounts), is_met=True)
        for headline, amounts in sums(reports).items()
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="of tests")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a variable"
    )
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    return parser


if __name__ == "__main__":
    main()
