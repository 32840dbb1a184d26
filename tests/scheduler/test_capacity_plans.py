"""What a fair split predicts can be launched, exactly, and it is fair; the price of a
rule is how many more can be launched without it.

``GANTT_FAIR_EXAMPLES`` random fleets are split and filled (`make bench` does 1,000).
"""

from __future__ import annotations

import os

import pytest
from msgspec.structs import replace

from bench.fair import carried_out, planned
from bench.launching import place
from bench.random_fleets import Case, case
from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Invalid
from gantt.model import commands as c
from gantt.model.capacity import FairSplit, Price, Prices
from gantt.model.hosts import HostAggregate, HostStats
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.replay.fleet_files import fleet_of
from gantt.replay.machines import build
from gantt.scheduler.capacity import price as module
from gantt.scheduler.capacity.price import prices
from gantt.scheduler.capacity.split import FlavorMix, fair_split, feasible_of
from gantt.scheduler.capacity.tries import STEPS_PER_TRY, Tries
from gantt.scheduler.evaluation.known_drivers import filtering
from gantt.scheduler.explain.concessions import conceded
from gantt.scheduler.feasibility.candidate_sources import BOOK_SOURCE, REPORT_SOURCE
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.pauses import Moved
from gantt.scheduler.plugins.policy import policy_of, without
from gantt.state.check import problems
from tests.scheduler import small_cells

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


SEEDS = range(12)


def told(one: Case, number: int) -> Prices:
    mix = FlavorMix((one.specs[number],), (1.0,))
    state, policy = one.books.state, one.driver.policy
    return prices(state, mix, BOOK_SOURCE, policy, now=one.books.now)


def launched(one: Case, spec: RequestSpec, policy: object = None) -> int:
    """One by one, until none has a place."""
    driver = one.driver if policy is None else filtering(policy)  # type: ignore[arg-type]
    for number in range(1000):
        if not place(one.books, spec, [f"price/{number}"], driver):
            return number
    raise AssertionError("no end of it")


def without_it(one: Case, number: int, price: Price) -> int:
    """What can be launched on a fleet without that rule."""
    spec, policy = one.specs[number], one.driver.policy
    if price.given_up is not None:
        return launched(one, conceded(ScheduleRequest(spec), price.given_up).spec)
    if price.kind == "filter":
        return launched(one, spec, without(policy, price.name))
    state = one.books.state
    index = state.classes.index_of(price.name)
    table = None if index is None else state.inventories.table(index)
    assert table is not None
    for slot in table.live_rows().tolist():
        amounts = c.Inventory(
            int(table.total[slot]),
            reserved=0 if price.kind == "reserved" else int(table.reserved[slot]),
            allocation_ratio=1.0
            if price.kind == "ratio"
            else float(table.allocation_ratio[slot]),
            **{}
            if price.kind == "units"
            else {
                "min_unit": int(table.min_unit[slot]),
                "max_unit": int(table.max_unit[slot]),
                "step_size": int(table.step_size[slot]),
            },
        )
        uuid = state.providers.uuids[int(table.provider[slot])]
        one.books.submit(c.SetInventory(uuid, price.name, amounts))
    return launched(one, spec)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_price_is_what_can_be_launched_without_the_rule(seed: int) -> None:
    found = told(case(seed), 0)
    assert found.total == launched(case(seed), case(seed).specs[0])
    assert found.left_out == 0
    for price in found.prices:
        again = without_it(case(seed), 0, price)
        assert again == found.total + price.more, price


def test_nothing_is_changed() -> None:
    one = case(3)
    before = one.books.state.applied
    assert told(one, 0) == told(one, 0)
    assert one.books.state.applied == before
    assert not problems(one.books.state)


def test_rules_beyond_the_limit_are_counted() -> None:
    one = case(0)
    options = replace(one.driver.policy.options, capacity_rules=2)
    policy = policy_of(options)
    found = told(replace(one, driver=filtering(policy)), 0)
    assert len(found.prices) == 2
    assert found.left_out >= len(policy.filters) - 2


def test_a_ratio_gives_and_a_trait_takes() -> None:
    options = EngineOptions(scheduler=SchedulerOptions())
    with open_gantt("memory://", options) as engine:
        for name, ratio in (("one", 2.0), ("two", 1.0)):
            stats = HostStats(
                vcpus=8, memory_mb=8192, local_gb=100, cpu_allocation_ratio=ratio
            )
            engine.update_host(name, name, stats)
        wanted = {"trait:HW_CPU_X86_VMX": "required"}
        found = engine.rule_prices(RequestSpec(Flavor(1, 64, extra_specs=wanted)))
        assert found.total == 0
        assert found.prices[0].more == 24
        assert found.prices[0].text == "ask without trait HW_CPU_X86_VMX"
        assert found.prices[0].zones == {"nova": 24}
        (ratio_price,) = (
            one
            for one in engine.rule_prices(RequestSpec(Flavor(1, 64))).prices
            if one.kind == "ratio" and one.name == "VCPU"
        )
        assert ratio_price.more == -8


class Counting(Tries):
    """Those of the last call."""

    last: Tries

    def __init__(self, steps: int | None = None, *, remembers: bool = False) -> None:
        super().__init__(steps, remembers=remembers)
        if remembers:
            Counting.last = self


def pinned_hosts(engine: Gantt, many: int) -> None:
    """Two instances of ``PINNED`` fit each."""
    for number in range(many):
        small_cells.report(engine, f"h{number}")


def test_filters_that_say_nothing_about_a_host_try_it_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "Tries", Counting)
    with open_gantt("memory://", small_cells.options(use_placement="never")) as engine:
        pinned_hosts(engine, 20)
        found = engine.rule_prices(small_cells.PINNED)
    assert found.total == 40
    assert found.left_out == 0
    others = {one.name: one.more for one in found.prices if one.more == 0}
    assert len(others) >= 5
    # Three for each host: two fit, and one does not.
    assert Counting.last.count == 20 * 3


def test_tries_of_all_rules_together_are_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "Tries", Counting)
    seen = []
    for hosts in (20, 40):
        options = small_cells.options(capacity_steps=STEPS_PER_TRY * 80)
        with open_gantt("memory://", options) as engine:
            pinned_hosts(engine, hosts)
            seen.append(engine.rule_prices(small_cells.PINNED))
        assert Counting.last.count <= 2 * 80
    whole, cut = seen
    assert (whole.total, whole.is_lower_bound) == (40, False)
    assert cut.is_lower_bound
    assert cut.total < 80
    assert cut.prices == ()
    assert cut.left_out == len(whole.prices) + whole.left_out


def test_what_changed_meanwhile_is_tried_again() -> None:
    with open_gantt("memory://", small_cells.options(use_placement="never")) as engine:
        pinned_hosts(engine, 3)
        state, pauses = engine._replica.state, list[int]()
        driver = engine._scheduling.driver

        def pause() -> None:
            pauses.append(len(pauses))
            if len(pauses) == 4:  # after all were counted with every rule
                small_cells.place(engine, 1)

        mix = FlavorMix((small_cells.PINNED,), (1.0,))
        found = prices(state, mix, REPORT_SOURCE, driver.policy, now=1, pause=pause)
    assert found.total == 5
    assert {one.more for one in found.prices if one.kind == "filter"} >= {0}
    assert all(one.more >= 0 for one in found.prices if one.kind == "filter")
