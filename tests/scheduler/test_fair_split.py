"""What a fair split predicts can be launched, exactly, and it is fair.

``GANTT_FAIR_EXAMPLES`` random fleets are split and filled (`make bench` does 1,000).
"""

from __future__ import annotations

import os

import pytest

from bench.fair import carried_out, planned
from bench.random_fleets import case
from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Invalid
from gantt.model.capacity import FairSplit
from gantt.model.hosts import HostAggregate, HostStats
from gantt.model.spec import Flavor, RequestSpec
from gantt.replay.fleet_files import fleet_of
from gantt.replay.machines import build
from gantt.scheduler.capacity.split import FlavorMix, fair_split, feasible_of
from gantt.scheduler.evaluation.known_drivers import filtering
from gantt.scheduler.feasibility.candidate_sources import BOOK_SOURCE
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.pauses import Moved
from gantt.scheduler.plugins.policy import policy_of

FLEETS = int(os.environ.get("GANTT_FAIR_EXAMPLES", "40"))
LEAST = 0.99
DRIVER = filtering(policy_of(SchedulerOptions()))
CPUS = RequestSpec(Flavor(4, 4096, name="cpus"))
MEMORY = RequestSpec(Flavor(1, 16384, name="memory"))


def split(
    fleet: str, *specs: RequestSpec, weights: tuple[float, ...] = ()
) -> FairSplit:
    state = build(fleet_of(fleet.split())).state
    mix = FlavorMix(specs, weights or (1.0,) * len(specs))
    sources = [BOOK_SOURCE] * len(specs)
    return fair_split(state, mix, sources, DRIVER, now=0)


def more(found: FairSplit) -> list[int]:
    (one,) = found.splits
    return [share.more for share in one.shares]


def test_what_is_predicted_is_launched_and_nothing_more() -> None:
    outcomes = {seed: carried_out(case(seed)) for seed in range(FLEETS)}
    wrong = {seed: one for seed, one in outcomes.items() if not one.is_equal}
    assert len(wrong) <= (1 - LEAST) * FLEETS, wrong
    assert sum(sum(one.launched) for one in outcomes.values()) > FLEETS


@pytest.mark.parametrize("seed", range(8))
def test_the_same_state_gives_the_same_plan(seed: int) -> None:
    assert planned(case(seed)) == planned(case(seed))


def test_flavors_that_need_different_things_share_hosts() -> None:
    """Alone, four of each fit a host; together, three and three."""
    found = split("10xvcpus=16,memory_mb=65536", CPUS, MEMORY)
    assert more(found) == [30, 30]
    assert [one.alone for one in found.splits[0].shares] == [40, 40]
    assert found.splits[0].level == 30.0 <= found.splits[0].level_bound < 33


def test_weights_are_a_proportion() -> None:
    small, large = RequestSpec(Flavor(1, 64)), RequestSpec(Flavor(2, 64))
    found = split("5xvcpus=20,memory_mb=65536", small, large, weights=(3.0, 1.0))
    assert more(found) == [60, 20]


def test_weights_far_apart_take_few_rounds() -> None:
    books = build(fleet_of(["40xvcpus=64,memory_mb=262144"]))
    calls: list[int] = []
    mix = FlavorMix((CPUS, MEMORY), (1e6, 1e-6))
    found = fair_split(
        books.state,
        mix,
        [BOOK_SOURCE] * 2,
        DRIVER,
        now=0,
        pause=lambda: calls.append(1),
    )
    assert more(found) == [640, 0]
    assert len(calls) < 200


def test_others_may_write_between_two_flavors() -> None:
    books = build(fleet_of(["2xvcpus=8,memory_mb=4096"]))
    calls: list[int] = []
    specs, sources = (CPUS, MEMORY, CPUS), [BOOK_SOURCE] * 3
    feasible_of(
        books.state, specs, sources, DRIVER, now=0, pause=lambda: calls.append(1)
    )
    assert len(calls) == 2


def test_rows_that_mean_others_after_a_pause_are_asked_for_again() -> None:
    books = build(fleet_of(["2xvcpus=8,memory_mb=4096"]))

    def replaced() -> None:
        books.state.fleet.hosts.structure += 1

    with pytest.raises(Moved):
        feasible_of(
            books.state,
            (CPUS, MEMORY),
            [BOOK_SOURCE] * 2,
            DRIVER,
            now=0,
            pause=replaced,
        )


def test_a_flavor_with_hosts_of_its_own_leaves_the_others_theirs() -> None:
    """The trait is on three hosts, where nothing else would go first."""
    fast = RequestSpec(
        Flavor(4, 64, extra_specs={"trait:CUSTOM_FAST": "required"}, name="fast")
    )
    plain = RequestSpec(Flavor(4, 64, name="plain"))
    fleet = "3xvcpus=4,memory_mb=4096,trait=CUSTOM_FAST 3xvcpus=4,memory_mb=4096"
    found = split(fleet, plain, fast)
    assert more(found) == [3, 3]
    plain_share, fast_share = found.splits[0].shares
    assert set(plain_share.hosts).isdisjoint(fast_share.hosts)
    assert plain_share.limits == {"VCPU": 6}
    assert fast_share.limits == {"VCPU": 3}


def test_one_without_room_does_not_stop_the_others() -> None:
    found = split("2xvcpus=8,memory_mb=65536", CPUS, RequestSpec(Flavor(64, 1)))
    assert more(found) == [4, 0]
    assert found.splits[0].level == 4.0


def opened(most: int = 32, steps: int = 400_000) -> Gantt:
    options = SchedulerOptions(capacity_flavors=most, capacity_steps=steps)
    engine = open_gantt("memory://", EngineOptions(scheduler=options))
    for name in ("one", "two", "three"):
        stats = HostStats(
            vcpus=8, memory_mb=8192, local_gb=100, cpu_allocation_ratio=1.0
        )
        engine.update_host(name, name, stats)
    zone = {"availability_zone": "east"}
    uuid = "5f4dcc3b-5aa7-45d6-8d83-27deb882cf99"
    engine.set_host_aggregates(
        [HostAggregate(uuid, "racks", 1, frozenset(("one", "two")), zone)]
    )
    return engine


def test_by_zone_and_by_aggregate() -> None:
    spec = RequestSpec(Flavor(4, 64, name="four"))
    with opened() as engine:
        (whole,) = engine.fair_split([spec]).splits
        assert whole.shares[0].zones == {"nova": 2, "east": 4}
        assert whole.shares[0].aggregates == {"racks": 4}
        zones = engine.fair_split([spec, spec], by="zone").splits
        assert [(one.name, [each.more for each in one.shares]) for one in zones] == [
            ("nova", [1, 1]),
            ("east", [2, 2]),
        ]
        (racks,) = engine.fair_split([spec], by="aggregate").splits
        assert (racks.name, racks.shares[0].more) == ("racks", 4)


def test_a_split_whose_steps_end_is_a_lower_bound() -> None:
    small, large = RequestSpec(Flavor(1, 64)), RequestSpec(Flavor(2, 64))
    with opened() as engine:
        (whole,) = engine.fair_split([small, large]).splits
    with opened(steps=2) as engine:
        (cut,) = engine.fair_split([small, large]).splits
    assert not any(one.is_lower_bound for one in whole.shares)
    assert all(one.is_lower_bound for one in cut.shares)
    assert [one.limits["capacity_steps"] for one in cut.shares] == [2, 2]
    counts = [sum(one.more for one in each.shares) for each in (cut, whole)]
    assert 0 < counts[0] < counts[1]


def test_refusals_say_what_to_do() -> None:
    spec = RequestSpec(Flavor(1, 1))
    with opened(2) as engine:
        with pytest.raises(Invalid, match=r"3 flavors .* 1 to 2 .* capacity_flavors"):
            engine.fair_split([spec] * 3)
        with pytest.raises(Invalid, match="0 flavors"):
            engine.fair_split([])
        with pytest.raises(Invalid, match="1 weights were given for 2 flavors"):
            engine.fair_split([spec] * 2, [1.0])
        for weight in (0.0, -1.0, float("nan"), float("inf")):
            with pytest.raises(Invalid, match="A weight is"):
                engine.fair_split([spec], [weight])
        with pytest.raises(Invalid, match="one of fleet, zone, aggregate"):
            engine.fair_split([spec], by="rack")  # type: ignore[arg-type]
