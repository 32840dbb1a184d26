"""Each worker begins with long tests of its own, and no test is lost or run twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from tests.spread import LONG, spread

HERE = Path("/tests")
_LONG = [name for one in LONG for name in one]


class Item:
    """One test of a folder."""

    def __init__(self, folder: str, number: int) -> None:
        self.path = HERE / folder / f"test_{number}.py"

    @property
    def folder(self) -> str:
        return self.path.parent.name


def order(count: int, items: list[Item]) -> list[Item]:
    return cast("list[Item]", list(spread(cast("Any", items), count, HERE)))


@pytest.fixture
def items() -> list[Item]:
    """In the order in which they are found: by name, long or not."""
    folders = sorted([*_LONG, "engine", "store", "wire"])
    return [Item(name, number) for name in folders for number in range(20)]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 20])
def test_every_test_runs_once_and_neighbours_stay_together(
    items: list[Item], count: int
) -> None:
    found = order(count, items)
    assert len(found) == len(items)
    assert set(found) == set(items)
    for name in {one.folder for one in items}:
        mine = [one for one in found if one.folder == name]
        assert mine == [one for one in items if one.folder == name]


def test_each_worker_begins_with_long_tests_of_its_own(items: list[Item]) -> None:
    found = order(3, items)
    share = len(items) // 3
    firsts = [found[at * share].folder for at in range(3)]
    assert firsts == [names[0] for names in LONG]


def test_a_selection_without_long_tests_keeps_its_order(items: list[Item]) -> None:
    short = [one for one in items if one.folder not in _LONG]
    assert order(3, short) == short
