"""Ratios: of sides that held and were asked the same, and of no others."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from gantt.bench.bench_fleets import BenchFleet, Fact, fleet_of
from gantt.bench.comparison import Comparison, SideRun, ratio, ratios, take_turns
from gantt.bench.plain_side import PlainSide
from gantt.bench.workloads import Ask, asks
from tests.bench.expected import facts_of

FLEET = fleet_of("flat", 20, is_mixed=True)
STREAM = Comparison("flat", 20, "stream", ("one", "other"), asks=3, rounds=4)


class Counting:
    """A side that only counts."""

    is_threaded = True

    def __init__(self, name: str, fleet: BenchFleet = FLEET, refuses: int = -1) -> None:
        self.name = name
        self.asked: list[Ask] = []
        self._fleet = fleet
        self._refuses = refuses

    def facts(self) -> Iterable[Fact]:
        # In another order: it is the same fleet.
        return reversed(list(facts_of(self._fleet)))

    def place(self, ask: Ask) -> int:
        self.asked.append(ask)
        return 0 if ask.number == self._refuses else ask.count

    def worked_s(self) -> float:
        return float(len(self.asked))

    def close(self) -> None:
        pass


def progress(what: str, done: int, total: int) -> None:
    assert 0 <= done <= total, what


def runs(*sides: Counting, of: Comparison = STREAM) -> list[SideRun]:
    return take_turns(sides, of, progress)


def test_all_sides_get_the_same_requests_and_the_first_round_does_not_count() -> None:
    one, other = Counting("one"), Counting("other")
    found = [run.measured() for run in runs(one, other)]
    assert one.asked == other.asked
    assert len(one.asked) == STREAM.asks * (1 + STREAM.rounds)
    assert len({ask.number for ask in one.asked}) == len(one.asked)
    assert [len(run.rounds) for run in runs(one)] == [STREAM.rounds]
    assert found[0].requests == found[1].requests
    assert found[0].fleet == found[1].fleet
    assert found[0].work_s == 1.0


def test_a_ratio_has_a_median_and_its_spread() -> None:
    one, rival = runs(Counting("one"), Counting("rival"))
    one.wall_s, rival.wall_s = [2.0, 6.0, 30.0], [1.0, 2.0, 3.0]
    found = ratio(one, rival)
    assert (found.times, found.least, found.most) == (3.0, 2.0, 10.0)
    (listed,) = ratios([one, rival], {"one": "rival", "two": "rival", "rival": "gone"})
    assert listed == found


def test_another_fleet_is_no_ratio() -> None:
    host = FLEET.hosts[0]
    fleet = replace(FLEET, hosts=(replace(host, vcpus=1), *FLEET.hosts[1:]))
    found = ratio(*runs(Counting("one"), Counting("rival", fleet)))
    assert found.times is None
    assert "different fleets" in found.refused


def test_other_requests_are_no_ratio() -> None:
    (one,) = runs(Counting("one"))
    (rival,) = runs(Counting("rival"), of=replace(STREAM, workload="churn"))
    found = ratio(one, rival)
    assert found.times is None
    assert "different requests" in found.refused


def test_another_number_of_placed_instances_is_no_ratio() -> None:
    found = ratio(*runs(Counting("one"), Counting("rival", refuses=2)))
    assert found.times is None
    assert "15 and 14 of 15" in found.refused


def test_no_round_begins_when_the_time_is_over() -> None:
    ticks = iter(range(100))
    found = take_turns(
        [Counting("one")],
        replace(STREAM, rounds=50, limit_s=10.0),
        progress,
        clock=lambda: 5.0 * next(ticks),
    )
    assert len(found[0].rounds) == 4


def test_a_burst_is_timed_as_a_whole() -> None:
    one = Counting("one")
    (run,) = runs(one, of=replace(STREAM, workload="burst"))
    assert sorted(ask.number for ask in one.asked) == list(range(15))
    assert [len(each) for each in run.rounds] == [1] * STREAM.rounds


@pytest.mark.parametrize("shape", ["flat", "nested", "shared"])
@pytest.mark.parametrize("is_mixed", [False, True])
def test_plain_python_holds_the_fleet(shape: str, is_mixed: bool) -> None:
    fleet = fleet_of(shape, 70, is_mixed=is_mixed)
    assert sorted(PlainSide(fleet).facts()) == sorted(facts_of(fleet))


def test_the_same_requests_at_every_run() -> None:
    for workload in ("stream", "churn", "anti-affinity"):
        one, other = asks(workload), asks(workload)
        assert [next(one) for _ in range(30)] == [next(other) for _ in range(30)]
