"""What guides measure, as they show it: each takes up to a minute."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantt.bench.bench_report import read
from gantt.bench.paths import PATHS
from gantt.bench.sides import SIDES
from tests.guides.guide import shown, values
from tests.guides.measured import suite
from tests.shown import Terminal

pytestmark = pytest.mark.slow


def benches(option: str) -> list[str]:
    """The commands of the only block of the guide of benchmarks with this option."""
    (found,) = (one.commands for one in shown("benchmark") if f"--{option}" in one.text)
    return found


def test_gantt_is_measured_beside_the_others(
    terminal: Terminal, tmp_path: Path
) -> None:
    measure, show = benches("show")
    said = terminal.type(measure)
    (out,), (html,) = values(measure, "out"), values(measure, "html")
    report = read(tmp_path / out)
    asked = {one.comparison.workload for one in report.results}
    assert asked == set(values(measure, "workload"))
    measured = {one.side for result in report.results for one in result.measured}
    assert measured == set(SIDES)
    page = (tmp_path / html).read_text(encoding="utf-8")
    assert [one.title for one in report.results if one.title not in page] == []
    again = terminal.type(show)
    assert all(one.title in again for one in report.results)
    assert said.endswith(again)


def test_the_stages_of_each_path_are_shown(terminal: Terminal) -> None:
    (profile,) = benches("profile")
    said = terminal.type(profile)
    assert [path for path in PATHS if f"\n{path} " not in said] == [], said


def test_fair_splits_can_be_launched() -> None:
    """That the other goal is met depends on the machine."""
    price, splits = suite("plan-capacity", "fair")
    assert "the price of" in price.work
    assert "fair splits" in splits.work
    assert splits.verdict == "met", splits
