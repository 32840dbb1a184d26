"""The order of hosts that a caller sent, and what hosts held for others do to it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from gantt.errors import GanttError
from gantt.model import commands as c
from gantt.model.advice import AdviceHost, AdviceRequest
from gantt.model.changes import Cursor
from gantt.model.hosts import Instance, Service
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec
from gantt.placement.candidates.combination import Budget, Spent
from gantt.placement.rules import plan
from gantt.scheduler import sent_hosts
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.known_drivers import caching, filtering
from gantt.scheduler.feasibility.candidate_sources import BOOK_SOURCE, GIVEN_SOURCE
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.hosts import Hosts, Taken
from gantt.scheduler.options import AdviceOptions, SchedulerOptions
from gantt.scheduler.plugins.policy import Policy, policy_of
from gantt.scheduler.selection import held_hosts
from gantt.scheduler.selection.claim import claim_of
from gantt.scheduler.sent_hosts import Ranked
from gantt.state.state import State
from tests.idle_host import idle
from tests.scheduler.desk import Desk, source

OPTIONS = AdviceOptions()


def ranked(
    desk: Desk,
    driver: Driver,
    request: AdviceRequest,
    *,
    by_books: bool = True,
    options: AdviceOptions = OPTIONS,
    held: dict[int, HeldHost] | None = None,
    state: State | None = None,
    is_current: bool = True,
) -> Ranked:
    return sent_hosts.rank(
        state or desk.state,
        request,
        sent_hosts.spec_of(request),
        source(by_books),
        driver,
        options,
        held or {},
        now=desk.now,
        rng=random.Random(1),
        budget=None,
        is_current=is_current,
    )


def sent(desk: Desk, spec: RequestSpec, *extra: str) -> AdviceRequest:
    """Some of the hosts, and others that are not known, in any order."""
    hosts = desk.state.fleet.hosts
    known = [hosts.hosts[row] for row in hosts.live_rows().tolist()]
    names = [*desk.rng.sample(known, desk.rng.randrange(len(known) + 1)), *extra]
    desk.rng.shuffle(names)
    return AdviceRequest(spec, tuple(AdviceHost(name, name) for name in names))


def of(names: str, spec: RequestSpec, **more: Any) -> AdviceRequest:
    hosts = tuple(AdviceHost(name, name) for name in names.split())
    return AdviceRequest(spec, hosts, **more)


def names(request: AdviceRequest, found: Ranked) -> list[str]:
    return [request.hosts[at].host for at in found.order]


def naive(
    desk: Desk, policy: Policy, request: AdviceRequest, by_books: bool
) -> tuple[list[int], dict[int, str]]:
    """Positions of those that pass, the best first, by a walk over hosts; position ->
    what refuses the host there."""
    hosts = desk.state.fleet.hosts
    every = filtering(policy).feasible_hosts(
        desk.state,
        sent_hosts.spec_of(request),
        source(by_books),
        now=desk.now,
        budget=Budget(),
    )
    place = {row: at for at, row in enumerate(every.all_rows.tolist())}
    refused, rows = {}, {}
    for at, one in enumerate(request.hosts):
        row = hosts.row_of(one.host, one.node or "")
        if row is None:
            continue
        failing = [mask.name for mask in every.masks if not mask.mask[place[row]]]
        if failing:
            refused[at] = failing[0]
        else:
            rows[at] = row
    sub = Hosts(desk.state.fleet, np.array(list(rows.values()), np.int64))
    weights = dict.fromkeys(rows, 0.0)
    for weigher in policy.weighers if len(rows) > 1 else ():
        raw = weigher.score(sub, every.request).tolist()
        low = min(raw) if weigher.minval is None else weigher.minval
        high = max(raw) if weigher.maxval is None else weigher.maxval
        low, high = (
            min(low, high) if weigher.minval is None else low,
            max(low, high) if weigher.maxval is None else high,
        )
        factor = _factors(desk, sub, weigher, policy.options)
        for at, score, times in zip(rows, raw, factor, strict=True):
            if low != high and times:
                part = (min(max(score, low), high) - low) / (high - low)
                weights[at] += part * times
    order = sorted(rows, key=lambda at: (-round(weights[at], 9), at))
    return order, refused


def _factors(desk: Desk, sub: Hosts, weigher: Any, options: Any) -> list[float]:
    from gantt.scheduler.scoring import host_weights

    found = host_weights.multipliers(sub, weigher, options)
    return [found] * len(sub) if isinstance(found, float) else found.tolist()


@pytest.mark.parametrize("by_books", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_order_is_that_of_a_decision_among_the_hosts_sent(
    seed: int, by_books: bool
) -> None:
    desk = Desk(seed)
    policy = policy_of(SchedulerOptions())
    desk.add_hosts(20)
    drivers = filtering(policy), caching(policy)
    answered = 0
    for _ in range(25):
        desk.stir()
        request = sent(desk, desk.request().spec, "elsewhere")
        try:
            order, refused = naive(desk, policy, request, by_books)
        except GanttError:
            continue
        for driver in drivers:
            found = ranked(desk, driver, request, by_books=by_books)
            count = len(found.weights)
            assert sorted(found.order) == list(range(len(request.hosts)))
            assert _rounded(found) == [round(w, 9) for w in sorted(found.weights)][::-1]
            assert set(found.order[:count].tolist()) == set(order)
            if len(set(_rounded(found))) == count:
                assert found.order[:count].tolist() == order
            last = found.order[count:].tolist()
            assert last == sorted(last)
            assert found.refusals == [refused.get(at) for at in last]
            answered += count
    assert answered > 50


def _rounded(found: Ranked) -> list[float]:
    return [round(one, 9) for one in found.weights]


@pytest.mark.parametrize("by_books", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_held_host_is_weighed_as_if_its_instance_were_there(
    seed: int, by_books: bool
) -> None:
    """Against a State in which the instance was claimed: hosts that still pass there
    have the same order; those that do not come last."""
    desk = Desk(seed)
    policy = policy_of(SchedulerOptions())
    desk.add_hosts(12)
    compared = 0
    for _ in range(30):
        desk.stir()
        first, second = desk.request(), desk.request()
        spec = replace(second.spec, instance_group=None)
        plain = replace(
            first.spec,
            instance_group=None,
            requested_destination=None,
            flavor=replace(first.spec.flavor, swap=0),
        )
        request = sent(desk, spec)
        driver = caching(policy)
        try:
            chosen = ranked(desk, driver, sent(desk, plain), by_books=by_books)
            ranked(desk, driver, request, by_books=by_books)
        except GanttError:
            continue
        best, job = chosen.best, chosen.feasible.job
        if best is None:
            continue
        held = HeldHost()
        amounts = {
            (uuid, name): amount
            for uuid, resources in best.candidate.allocations.items()
            for name, amount in resources.items()
        }
        held.add(job.taken, amounts, None)
        found = ranked(desk, driver, request, by_books=by_books, held={best.row: held})
        claim = claim_of(replace(first, spec=plain), chosen.feasible, [[best]], "claim")
        changes = list(plan(desk.state, claim, desk.now).changes)
        before = Cursor(desk.state.revision, "desk")
        desk.state.apply(changes, Cursor(desk.state.revision + 1, "desk"))
        other = ranked(desk, filtering(policy), request, by_books=by_books)
        desk.state.apply([one.inverse() for one in reversed(changes)], before)
        count = len(other.weights)
        assert [round(one, 9) for one in found.weights[:count]] == [
            round(one, 9) for one in other.weights
        ]
        if len(set(_rounded(other))) == count:
            assert found.order[:count].tolist() == other.order[:count].tolist()
        extra = len(found.weights) - count
        assert extra in (0, 1)
        assert found.weights[count:].tolist() == [-np.inf] * extra
        compared += count
    assert compared > 1


class Fleet(Desk):
    """Hosts that differ in nothing but their memory."""

    def __init__(self, **memory_mb: int) -> None:
        super().__init__(0)
        for host, memory in memory_mb.items():
            stats = idle(
                4,
                memory,
                cpu_allocation_ratio=1.0,
                ram_allocation_ratio=1.0,
                disk_allocation_ratio=1.0,
            )
            self.submit(c.UpdateHost(host, host, stats, self.new_uuid()))

    def row(self, host: str) -> int:
        row = self.state.fleet.hosts.row_of(host, host)
        assert row is not None
        return row

    def held(self, host: str, memory_mb: int) -> HeldHost:
        uuid = self.state.fleet.hosts.uuids[self.row(host)] or ""
        found = HeldHost()
        found.add(Taken(1, memory_mb, 0), {(uuid, "MEMORY_MB"): memory_mb}, None)
        return found


SPEC = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=1024, root_gb=1))


@pytest.fixture
def driver() -> Driver:
    return caching(policy_of(SchedulerOptions()))


def test_full_host_comes_last_and_is_not_refused(driver: Driver) -> None:
    fleet = Fleet(big=4096, small=2048)
    held = {fleet.row("big"): fleet.held("big", 3584)}
    request = of("big small", SPEC)
    found = ranked(fleet, driver, request, held=held)
    assert names(request, found) == ["small", "big"]
    assert found.refusals == []
    assert found.weights[1] == -np.inf
    alone = of("big", SPEC)
    assert names(alone, ranked(fleet, driver, alone, held=held)) == ["big"]


def test_hold_leaves_cached_results_as_they_were(driver: Driver) -> None:
    fleet = Fleet(a=4096, b=3072, c=2048)
    request = of("a b c", SPEC)
    before = ranked(fleet, driver, request)
    held = {fleet.row("a"): fleet.held("a", 2048)}
    assert names(request, ranked(fleet, driver, request, held=held)) != names(
        request, before
    )
    after = ranked(fleet, driver, request)
    assert after.order.tolist() == before.order.tolist()
    assert after.weights.tolist() == before.weights.tolist()
    assert (driver.misses, driver.hits) == (1, 2)


def test_members_that_must_be_apart_are_advised_apart(driver: Driver) -> None:
    fleet = Fleet(a=4096, b=2048)
    uuid = "00000000-0000-4000-8000-0000000000aa"
    spec = replace(SPEC, instance_group=InstanceGroup(uuid, "anti-affinity"))
    held = {fleet.row("a"): HeldHost(groups=frozenset({uuid}))}
    request = of("a b", spec)
    assert names(request, ranked(fleet, driver, request, held=held)) == ["b", "a"]
    other = of("a b", SPEC)
    assert names(other, ranked(fleet, driver, other, held=held)) == ["a", "b"]


@pytest.mark.parametrize("rigor", ["hard", "soft"])
def test_members_that_are_spread_over_racks_are_advised_so(rigor: str) -> None:
    fleet = Fleet(a=4096, b=4096, c=2048)
    for host, rack in (("a", "r1"), ("b", "r1"), ("c", "r2")):
        fleet.submit(c.LabelHost(host, {"rack": rack}))
    member = "00000000-0000-4000-8000-0000000000bb"
    fleet.submit(c.UpdateInstances("a", (Instance(member),)))
    group = InstanceGroup("", "soft-affinity", members=frozenset({member}))
    flavor = replace(
        SPEC.flavor, extra_specs={"gantt:spread": f"rack:1:{rigor},host:9"}
    )
    options = SchedulerOptions(multipliers={"domain_spread_weight_multiplier": 100.0})
    driver = caching(policy_of(options))
    request = of("b c a", replace(SPEC, flavor=flavor, instance_group=group))
    found = ranked(fleet, driver, request)
    assert names(request, found)[0] == "c"
    refused = [one for one in found.refusals if one is not None]
    assert refused == ([] if rigor == "soft" else ["spread by rack"] * 2)


def test_callers_weights_order_equal_hosts(driver: Driver) -> None:
    fleet = Fleet(a=2048, b=2048, c=4096)
    request = of("a b c", SPEC)
    assert names(request, ranked(fleet, driver, request)) == ["c", "a", "b"]
    weighed = of("a b c", SPEC, weights={"a": 1.0, "b": 2.0, "c": 0.0})
    assert names(weighed, ranked(fleet, driver, weighed)) == ["c", "b", "a"]
    other = of("a b c", SPEC, weights={"c": 0.0, "b": 2.0, "a": 1.0})
    assert names(other, ranked(fleet, driver, other)) == ["c", "b", "a"]


def test_callers_weights_may_be_added(driver: Driver) -> None:
    fleet = Fleet(a=2048, b=2048, c=4096)
    options = AdviceOptions(advice_weights="add")
    weights = {"a": 0.0, "b": 50.0, "c": 10.0}
    request = of("a b c", SPEC, weights=weights)
    found = ranked(fleet, driver, request, options=options)
    assert names(request, found) == ["b", "c", "a"]
    assert found.weights == pytest.approx([2.5 + 1.0, 3.0 + 0.2, 2.5])


def test_unknown_hosts_stay_in_the_callers_order(driver: Driver) -> None:
    fleet = Fleet(a=2048)
    request = of("y x a", SPEC)
    found = ranked(fleet, driver, request)
    assert names(request, found) == ["a", "y", "x"]
    assert found.refusals == [None, None]


@pytest.mark.parametrize("node", ["a", None])
def test_node_may_be_left_out_where_there_is_one(
    driver: Driver, node: str | None
) -> None:
    fleet = Fleet(a=2048)
    request = AdviceRequest(SPEC, (AdviceHost("a", node),))
    assert len(ranked(fleet, driver, request).weights) == 1
    other = AdviceRequest(SPEC, (AdviceHost("a", "another"),))
    assert len(ranked(fleet, driver, other).weights) == 0


def test_same_host_sent_twice_comes_back_twice(driver: Driver) -> None:
    fleet = Fleet(a=2048, b=4096)
    request = of("a b a", SPEC)
    assert names(request, ranked(fleet, driver, request)) == ["b", "a", "a"]


def test_advice_that_is_followed_is_drawn_among_the_best(driver: Driver) -> None:
    fleet = Fleet(a=4096, b=3072, c=2048, d=1024)
    options = AdviceOptions(advice_subset_size=2, advice_evacuate_subset_size=3)

    def firsts(operation: Any, mode: Any = "advise") -> set[str]:
        request = of("d c b a", SPEC, operation=operation, mode=mode)
        rng = random.Random(7)
        return {
            names(
                request,
                sent_hosts.rank(
                    fleet.state,
                    request,
                    sent_hosts.spec_of(request),
                    BOOK_SOURCE,
                    driver,
                    options,
                    {},
                    now=fleet.now,
                    rng=rng,
                    budget=None,
                ),
            )[0]
            for _ in range(50)
        }

    assert firsts("create") == {"a", "b"}
    assert firsts("evacuate") == {"a", "b", "c"}
    # Nothing follows this advice: a drawn host would differ from Nova's by chance.
    assert firsts("create", "observe") == firsts("evacuate", "observe") == {"a"}


def test_amounts_are_not_judged_where_another_placement_did(driver: Driver) -> None:
    fleet = Fleet(a=512, b=2048)
    fleet.submit(c.UpdateService(Service("b", disabled=True)))
    request = of("a b", SPEC)
    found = sent_hosts.rank(
        fleet.state,
        request,
        sent_hosts.spec_of(request),
        GIVEN_SOURCE,
        driver,
        OPTIONS,
        {},
        now=fleet.now,
        rng=random.Random(1),
        budget=None,
    )
    assert names(request, found) == ["a", "b"]
    assert found.refusals == ["ComputeFilter"]


def test_only_fresh_reports_let_the_caller_drop_hosts(driver: Driver) -> None:
    fleet = Fleet(a=512)
    request = of("a", SPEC, mode="decide")
    assert ranked(fleet, driver, request).refusals == ["free resources"]
    assert ranked(fleet, driver, request, is_current=False).refusals == [None]
    fleet.now += 3600 * 1_000_000
    assert ranked(fleet, driver, request).refusals == [None]
    advised = of("a", SPEC, mode="advise")
    assert ranked(fleet, driver, advised).refusals == ["free resources"]


def test_exact_search_refuses_what_masks_let_pass(driver: Driver) -> None:
    """Two groups on different providers: only host b has two."""
    fleet = Fleet(a=4096, b=3072, c=2048)
    fleet.submit(c.CreateResourceClass("CUSTOM_PORT"))
    for host, count in {"a": 1, "b": 2, "c": 1}.items():
        root = fleet.state.fleet.hosts.uuids[fleet.row(host)]
        for number in range(count):
            child = fleet.new_uuid()
            fleet.submit(c.CreateProvider(child, f"{host}{number}", root))
            fleet.submit(c.SetInventories(child, {"CUSTOM_PORT": c.Inventory(8)}))
    ports = {"resources1:CUSTOM_PORT": "3", "resources2:CUSTOM_PORT": "3"}
    flavor = replace(SPEC.flavor, extra_specs={**ports, "group_policy": "isolate"})
    request = of("a b c", replace(SPEC, flavor=flavor))
    found = ranked(fleet, driver, request)
    passing = [mask.mask.all() for mask in found.feasible.masks]
    assert all(passing)
    assert names(request, found) == ["b", "a", "c"]
    assert found.refusals == ["free resources"] * 2
    assert found.best is not None
    assert found.best.row == fleet.row("b")


def test_spent_search_refuses_no_host(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spent(*_: object) -> None:
        raise Spent

    fleet = Fleet(a=2048, b=4096)
    monkeypatch.setattr(sent_hosts, "first_candidate", spent)
    monkeypatch.setattr(held_hosts, "first_candidate", spent)
    request = of("a b", SPEC)
    found = ranked(fleet, driver, request, held={fleet.row("b"): HeldHost()})
    assert names(request, found) == ["b", "a"]
    assert found.refusals == []
    assert found.best is None
