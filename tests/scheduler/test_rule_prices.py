"""The price of a rule is how many more can be launched without it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from bench.launching import place
from bench.random_fleets import Case, case
from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model import commands as c
from gantt.model.capacity import Price, Prices
from gantt.model.hosts import HostStats
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.capacity import price as module
from gantt.scheduler.capacity.price import prices
from gantt.scheduler.capacity.split import FlavorMix
from gantt.scheduler.capacity.tries import STEPS_PER_TRY, Tries
from gantt.scheduler.evaluation.known_drivers import filtering
from gantt.scheduler.explain.concessions import conceded
from gantt.scheduler.feasibility.candidate_sources import BOOK_SOURCE, REPORT_SOURCE
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of, without
from gantt.state.check import problems
from tests.scheduler import small_cells

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
