"""Every side holds the fleet that it should, and places what it is asked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path
from unittest import mock

import pytest

from gantt.bench import sides as sides_module
from gantt.bench.bench_fleets import BenchFleet, fleet_of
from gantt.bench.bench_report import ComparisonResult
from gantt.bench.comparison import Comparison
from gantt.bench.fleet_setup import Progress, furnish
from gantt.bench.nova_side import NovaSide
from gantt.bench.placement_side import PlacementSide, facts_of_file
from gantt.bench.plan import both, full, short
from gantt.bench.runner import compare, measure
from gantt.bench.sides import (
    NEEDS,
    RIVALS,
    SIDES,
    Furnished,
    Sides,
    lack_of,
    why_not,
)
from gantt.bench.workloads import asks
from gantt.engine.gantt import Gantt
from gantt.errors import StoreFailed
from tests.bench.expected import facts_of

SIZE = 40
WORKLOADS = ("stream", "multi-create", "anti-affinity", "churn")


def progress(*_: object) -> None:
    pass


def furnished(fleet: BenchFleet, folder: Path) -> Furnished:
    folder.mkdir(exist_ok=True)
    return Furnished(fleet, folder / "fleet.db")


def sides_of(fleet: BenchFleet, folder: Path) -> Sides:
    return Sides(furnished(fleet, folder), folder)


def compared(of: Comparison, folder: Path) -> ComparisonResult:
    fleet = fleet_of(of.shape, of.size, is_mixed=of.is_mixed)
    return compare(of, furnished(fleet, folder), folder, progress)


@pytest.mark.parametrize("shape", ["flat", "nested", "shared"])
@pytest.mark.parametrize("name", ["gantt", "gantt-durable", "plain", "nova"])
def test_sides_in_this_process(name: str, shape: str, tmp_path: Path) -> None:
    fleet = fleet_of(shape, SIZE, is_mixed=True)
    workloads = ("pinned",) if shape == "nested" else WORKLOADS
    if why_not(name, "stream", fleet):
        assert name == "nova"
        assert fleet.pools
        return
    for workload in workloads:
        if why_not(name, workload, fleet):
            continue
        side = sides_of(fleet, tmp_path / workload).open(name, progress)
        try:
            assert sorted(side.facts()) == sorted(facts_of(fleet))
            count = 10 if workload == "churn" else 4  # the ninth is the first to go
            for ask in islice(asks(workload), count):
                assert side.place(ask) == ask.count, (workload, ask)
        finally:
            side.close()


def test_services_are_asked_the_same(tmp_path: Path) -> None:
    """Gantt's and upstream's, on copies of one file."""
    of = Comparison("shared", SIZE, "churn", ("gantt-api", "placement"), 5, 2)
    found = compared(of, tmp_path)
    ours, theirs = found.measured
    assert (ours.asked, ours.placed) == (theirs.asked, theirs.placed) == (15, 15)
    (ratio,) = found.ratios
    assert ratio.times is not None, ratio.refused


def test_a_fleet_is_written_once_for_all_its_comparisons(tmp_path: Path) -> None:
    """And each begins with it as it was: what an earlier one placed is not there."""
    alike = [
        Comparison("flat", SIZE, workload, ("gantt", "gantt-durable", "plain"), 2, 2)
        for workload in ("stream", "multi-create", "stream")
    ]
    other = Comparison("flat", SIZE + 1, "stream", ("gantt", "plain"), 2, 2)
    with mock.patch.object(sides_module, "furnish", wraps=furnish) as it:
        found = measure([*alike, other], tmp_path, progress)
    assert [call.args[1].name for call in it.call_args_list] == [
        "flat, uniform, 40 hosts",
        "flat, uniform, 41 hosts",
    ]
    assert len(found.results) == 4
    for result in found.results:
        assert [one.refused for one in result.ratios] == [""]
    assert not list(tmp_path.iterdir())


def test_a_fleet_that_could_not_be_written_is_written_again(tmp_path: Path) -> None:
    alike = [Comparison("flat", SIZE, "stream", ("gantt", "plain"), 2, 2)] * 2

    def full_disk(books: Gantt, fleet: BenchFleet, told: Progress) -> None:
        furnish(books, fleet_of("flat", 3, is_mixed=False), told)
        raise StoreFailed("the disk is full")

    writers = mock.Mock(side_effect=[full_disk, furnish])
    with mock.patch.object(sides_module, "furnish", lambda *given: writers()(*given)):
        first, second = measure(alike, tmp_path, progress).results
    assert [one.why for one in first.left_out] == [
        "the comparison failed: the disk is full"
    ]
    assert [one.refused for one in second.ratios] == [""]


def test_a_service_tells_what_its_file_holds(tmp_path: Path) -> None:
    fleet = fleet_of("nested", 5, is_mixed=False)
    side = sides_of(fleet, tmp_path).open("gantt-api", progress)
    assert isinstance(side, PlacementSide)
    try:
        assert sorted(side.facts()) == sorted(facts_of(fleet))
        assert side.place(next(asks("pinned"))) == 1
    finally:
        side.close()
    (copy,) = tmp_path.glob("copy-*.db")
    with sqlite3.connect(copy) as file:
        file.execute("UPDATE inventories SET total = total + 1 WHERE id = 1")
    assert sorted(facts_of_file(copy)) != sorted(facts_of(fleet))


def test_nova_learns_of_the_members_of_groups() -> None:
    side = NovaSide(fleet_of("flat", 4, is_mixed=False))
    found = [side.place(ask) for ask in islice(asks("anti-affinity"), 8)]
    assert found == [1] * 8


def test_what_is_not_installed_is_left_out_by_name(tmp_path: Path) -> None:
    def without_nova(module: str) -> object | None:
        return None if module == "nova" else object()

    of = Comparison("flat", 5, "stream", ("plain", "nova"), 1, 1)
    with mock.patch.object(sides_module, "find_spec", without_nova):
        assert lack_of("nova") == "nova not installed"
        assert not lack_of("placement")
        found = compared(of, tmp_path)
    assert [one.side for one in found.measured] == ["plain"]
    left_out = {one.side: one.why for one in found.left_out}
    assert left_out["nova"] == "nova not installed"
    assert left_out.keys() == set(SIDES) - {"plain"}
    assert left_out["gantt"] == "not part of this comparison"


def test_nova_is_not_asked_to_fit_cells_for_hours() -> None:
    few, many = (fleet_of("nested", size, is_mixed=False) for size in (10_000, 10_001))
    assert not why_not("nova", "pinned", few)
    assert "beyond 10,000 hosts" in why_not("nova", "pinned", many)
    assert not why_not("nova", "stream", many)


def test_tables_name_sides_that_exist() -> None:
    known = set(SIDES)
    assert known >= RIVALS.keys() | set(RIVALS.values()) | NEEDS.keys()


def _measured(plan: tuple[Comparison, ...]) -> Iterator[tuple[str, str]]:
    for one in plan:
        fleet = fleet_of(one.shape, 1, is_mixed=one.is_mixed)
        for side in one.sides:
            if not why_not(side, one.workload, fleet):
                yield one.workload, side


def both_of(size: int) -> tuple[Comparison, ...]:
    return tuple(both("flat", size, "stream", is_mixed=False))


def test_plans_ask_every_workload_of_every_side_that_can_be_asked() -> None:
    everything = set(_measured(full()))
    assert {side for _, side in everything} == set(SIDES)
    assert set(_measured(short())) <= everything
    assert {one.size for one in full()} == {1_000, 10_000, 100_000}
    assert ("stream", "placement") in set(_measured(both_of(100_000)))
    for size in (1_000, 10_000):
        assert {(one.shape, one.is_mixed) for one in full([size])} == {
            (shape, is_mixed)
            for shape in ("flat", "nested", "shared")
            for is_mixed in (False, True)
        }


def test_the_largest_fleets_are_asked_less_by_the_full_plan() -> None:
    largest = full([100_000])
    assert {(one.shape, one.is_mixed) for one in largest} == {
        ("flat", False),
        ("flat", True),
        ("nested", False),
        ("shared", False),
    }
    slow = [one for one in largest if "placement" in one.sides]
    assert [(one.shape, one.workload) for one in slow] == [("flat", "stream")]
    assert {one.workload for one in largest} == {one.workload for one in full([1_000])}
    slow_ones = {one.absent for one in largest if one.workload != "stream"}
    assert slow_ones == {"needs too long for a request on so many hosts"}


def test_a_few_hosts_are_not_asked_more_often_than_they_have_room() -> None:
    assert [one.asks for one in both_of(10)] == [20, 120]
    assert [one.asks for one in both_of(1_000)] == [4, 104]


def test_comparisons_on_one_fleet_follow_each_other() -> None:
    """So that it is written once."""
    fleets = [(one.shape, one.size, one.is_mixed) for one in full()]
    assert len(list(groupby(fleets))) == len(set(fleets))
