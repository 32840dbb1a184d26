"""The caching driver decides exactly as the driver ``filter``, whatever happens,
in corners, too, in which what is kept once differed."""

from __future__ import annotations

import random

import numpy as np
import pytest
from msgspec.structs import replace

from gantt.errors import ClaimLost, GanttError, Invalid
from gantt.model import commands as c
from gantt.model.hosts import HostAggregate, HostStats, Service
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ScheduleRequest
from gantt.placement.candidates.combination import Budget
from gantt.scheduler import cycle
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.evaluation.known_drivers import (
    DRIVERS,
    caching,
    driver_of,
    filtering,
)
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of
from gantt.scheduler.selection.claim import claim_of
from tests.scheduler.desk import TRAITS, Desk, source, uuid_of

OPTIONS = (
    SchedulerOptions(),
    SchedulerOptions(
        enabled_filters=(
            *DEFAULT_FILTERS,
            "NumInstancesFilter",
            "AggregateIoOpsFilter",
            "RamFilter",
            "DifferentHostFilter",
            "SameHostFilter",
            "JsonFilter",
        ),
        max_instances_per_host=3,
    ),
)


def _field(
    driver: Driver, desk: Desk, request: ScheduleRequest, by_books: bool
) -> FeasibleHosts | str:
    try:
        return driver.feasible_hosts(
            desk.state, request.spec, source(by_books), now=desk.now, budget=Budget()
        )
    except GanttError as error:
        return str(error)


def _hints(desk: Desk) -> dict[str, tuple[str, ...]]:
    """Nothing as a rule, else what requests of one shape differ in."""
    who = tuple(desk.instances[-2:])
    near, far = {"same_host": who[:1]}, {"different_host": who}
    hints: list[dict[str, tuple[str, ...]]] = [{}, {}, {}, near, far]
    hints.append({**near, **far})
    hints.append({"query": ('[">=", "$free_ram_mb", 2048]',)})
    hints.append({"query": ('["~", 1, 2]',)})
    return desk.rng.choice(hints)


@pytest.mark.parametrize("by_books", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_cached_shapes_equal_fresh_ones(seed: int, by_books: bool) -> None:
    desk = Desk(seed)
    policy = policy_of(OPTIONS[seed % len(OPTIONS)])
    fresh, kept = filtering(policy), caching(policy)
    # So many that one change is no reason to begin anew; and few shapes, so that they
    # are met again.
    desk.add_hosts(30)
    specs = [desk.request().spec for _ in range(5)]
    for turn in range(60):
        if seed % 2:
            desk.stir_books()
        if not (seed % 2 and turn % 4):
            desk.stir()
        spec = replace(desk.rng.choice(specs), scheduler_hints=_hints(desk))
        request = ScheduleRequest(spec, (desk.new_uuid(),))
        wanted = _field(fresh, desk, request, by_books)
        found = _field(kept, desk, request, by_books)
        if isinstance(wanted, str):
            assert found == wanted
            continue
        assert isinstance(found, FeasibleHosts)
        assert found.hosts.rows.tolist() == wanted.hosts.rows.tolist(), turn
        assert found.steps == wanted.steps
        np.testing.assert_array_equal(found.weights, wanted.weights)
        names = [(scale.weigher.name, scale.raw.tolist()) for scale in wanted.scales]
        assert [
            (scale.weigher.name, scale.raw.tolist()) for scale in found.scales
        ] == names
        _claim(desk, kept, request, by_books)
    assert kept.hits > 5


@pytest.mark.parametrize("seed", range(6))
def test_services_that_time_out_are_excluded(seed: int) -> None:
    """Nothing changes but the time, forth and back, and now and then a service."""
    desk = Desk(seed)
    rng = desk.rng
    policy = policy_of(SchedulerOptions())
    fresh, kept = filtering(policy), caching(policy)
    desk.add_hosts(12)
    spec = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=64))
    second = 1_000_000
    start, kinds = desk.now, set()
    for host in (hosts := [f"h{number}" for number in range(12)]):
        desk.submit(c.UpdateService(Service(host, last_seen_up=desk.now)))
    for turn in range(150):
        if turn % 10 == 9:
            seen = start + rng.randrange(-100, 200) * second
            service = Service(rng.choice(hosts), last_seen_up=seen)
            desk.submit(c.UpdateService(service))
        now = start + rng.choice((turn, turn, rng.randrange(-80, 250))) * second
        fields = [
            one.feasible_hosts(
                desk.state, spec, source(False), now=now, budget=Budget()
            )
            for one in (fresh, kept)
        ]
        masks = [
            next(s.mask.tolist() for s in one.masks if s.name == "ComputeFilter")
            for one in fields
        ]
        assert masks[0] == masks[1], (turn, now)
        assert fields[0].hosts.rows.tolist() == fields[1].hosts.rows.tolist()
        kinds.add(sum(masks[0]))
    assert len(kinds) > 3
    assert kept.hits > 20


def test_time_dependent_masks_expire() -> None:
    desk = Desk(1)
    policy = policy_of(SchedulerOptions(service_down_time=60.0))
    kept = caching(policy)
    desk.add_hosts(8)
    seen = desk.now
    for host in (f"h{number}" for number in range(8)):
        desk.submit(c.UpdateService(Service(host, last_seen_up=seen)))
    spec = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=64))
    passed = []
    for after_us in (0, 1, 30_000_000, 60_000_000, 60_000_001, 90_000_000):
        field = kept.feasible_hosts(
            desk.state, spec, source(False), now=seen + after_us, budget=Budget()
        )
        passed.append(len(field.hosts))
    assert passed == [8, 8, 8, 8, 0, 0]
    assert (kept.misses, kept.hits) == (2, 4)


def _claim(
    desk: Desk, driver: Driver, request: ScheduleRequest, by_books: bool
) -> None:
    try:
        picks = cycle.decide(
            desk.state, request, source(by_books), driver, now=desk.now
        )
        desk.submit(claim_of(request, picks.feasible, picks.picks, desk.new_uuid()))
        desk.instances.extend(request.instance_uuids or ())
    except (GanttError, ClaimLost):
        pass


@pytest.mark.parametrize("seed", range(8))
def test_picks_do_not_change_cached_shapes(seed: int) -> None:
    desk = Desk(seed)
    policy = policy_of(SchedulerOptions())
    fresh, kept = filtering(policy), caching(policy)
    desk.add_hosts(8)
    for _ in range(20):
        request = desk.request(count=desk.rng.randrange(1, 6))
        chosen: list[object] = []
        for driver in (fresh, kept):
            try:
                picks = cycle.decide(
                    desk.state, request, source(True), driver, now=desk.now
                )
                chosen.append(
                    [[place.host_id for place in places] for places in picks.picks]
                )
            except GanttError as error:
                chosen.append(str(error))
        assert chosen[0] == chosen[1]
        _claim(desk, kept, request, True)
        desk.stir()


@pytest.mark.parametrize("seed", range(10))
def test_inventories_and_reports_choose_the_same_hosts(seed: int) -> None:
    """Where hosts report both, inventory and what they use of it: every instance of a
    request, its alternates too."""
    desk = Desk(seed)
    driver = caching(policy_of(SchedulerOptions()))
    desk.add_hosts(6)
    placed: list[int] = []
    for turn in range(40):
        if turn % 10 == 0:
            desk.label()
        # Books count swap, and what hosts report of their disks does not.
        request = desk.request(desk.rng.choice((1, 1, 2, 3, 5)), swaps=(0,))
        chosen: list[object] = []
        for by_books in (True, False):
            try:
                picks = cycle.decide(
                    desk.state, request, source(by_books), driver, now=desk.now
                )
                chosen.append(
                    [[place.host_id for place in places] for places in picks.picks]
                )
            except GanttError as error:
                chosen.append(type(error))
        assert chosen[0] == chosen[1]
        if isinstance(chosen[0], list):
            placed.append(len(chosen[0]))
        _claim(desk, driver, request, True)
        if desk.rng.random() < 0.3:
            desk.report(f"h{desk.rng.randrange(6)}")
    assert len(placed) > 5
    assert max(placed) > 1


def test_chance_driver_takes_any_feasible_host() -> None:
    desk = Desk(1)
    desk.add_hosts(5)
    driver = driver_of(policy_of(SchedulerOptions(driver="chance")))
    request = desk.request()
    request = type(request)(type(request.spec)(flavor=request.spec.flavor), ("x",))
    found = {
        cycle.decide(
            desk.state,
            request,
            source(True),
            driver,
            now=desk.now,
            rng=random.Random(seed),
        )
        .picks[0][0]
        .host_id
        for seed in range(60)
    }
    assert len(found) == 5


def test_work_of_a_decision_follows_the_changes() -> None:
    """Work, not seconds: after one claim, one host is judged again."""
    desk = Desk(2)
    desk.add_hosts(50)
    policy = policy_of(SchedulerOptions())
    judged: list[int] = []
    ram = next(one for one in policy.weighers if one.name == "RAMWeigher")
    score = type(ram).score

    class Counting(type(ram)):  # type: ignore[misc]
        cacheable = ram.cacheable

        def score(self, hosts, request):  # type: ignore[no-untyped-def]
            judged.append(len(hosts))
            return score(self, hosts, request)

    weighers = tuple(Counting() if one is ram else one for one in policy.weighers)
    driver = caching(type(policy)(policy.options, policy.filters, weighers))
    request = desk.request()
    plain = type(request.spec)(flavor=request.spec.flavor)
    for _ in range(4):
        again = type(request)(plain, (desk.new_uuid(),))
        picks = cycle.decide(desk.state, again, source(True), driver, now=desk.now)
        desk.submit(claim_of(again, picks.feasible, picks.picks, desk.new_uuid()))
    assert judged == [50, 1, 1, 1]


def test_every_driver_has_a_name() -> None:
    assert DRIVERS.keys() == {"filter", "caching", "chance"}


def test_a_rule_of_a_group_applies_to_each_instance() -> None:
    # A spec for many names the first one, as Nova's conductor sends it: the second may
    # not stay where the first is.
    desk = Desk(1)
    desk.add_hosts(3)
    group = InstanceGroup(desk.new_uuid(), "anti-affinity")
    uuids = tuple(desk.new_uuid() for _ in range(3))
    flavor = Flavor(vcpus=1, memory_mb=1)
    for named in (*uuids, None):
        spec = RequestSpec(flavor=flavor, instance_uuid=named, instance_group=group)
        picks = cycle.decide(
            desk.state,
            ScheduleRequest(spec, uuids),
            source(False),
            filtering(policy_of(SchedulerOptions())),
            now=desk.now,
        )
        chosen = [places[0].row for places in picks.picks]
        assert sorted(chosen) == [0, 1, 2]
        assert [len(places) for places in picks.picks] == [3, 2, 1]


SPEC = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=64))


class _Both:
    """The weights of hosts, as both drivers have them, by the names of hosts."""

    def __init__(self, desk: Desk, options: SchedulerOptions) -> None:
        policy = policy_of(options)
        self._desk = desk
        self.kept = caching(policy)
        self._drivers = (filtering(policy), self.kept)

    def agree(self, spec: RequestSpec) -> dict[str, float]:
        desk = self._desk
        fresh, kept = (
            one.feasible_hosts(
                desk.state, spec, source(False), now=desk.now, budget=Budget()
            )
            for one in self._drivers
        )
        found = dict(zip(kept.hosts.names, kept.weights.tolist(), strict=True))
        assert found == dict(
            zip(fresh.hosts.names, fresh.weights.tolist(), strict=True)
        )
        return found


def test_cached_traits_follow_a_nested_host() -> None:
    desk = Desk(1)
    desk.add_hosts(12)
    both = _Both(desk, SchedulerOptions())
    uuids = [uuid for uuid in desk.state.fleet.hosts.uuids if uuid is not None]
    desk.submit(c.CreateTrait(TRAITS[0]))
    for uuid in uuids[1:]:
        desk.submit(c.SetTraits(uuid, TRAITS[:1]))
    desk.submit(c.CreateProvider(rack := desk.new_uuid(), "rack"))
    desk.submit(c.UpdateProvider(uuids[0], "h0", parent_uuid=rack))
    asked = Flavor(
        vcpus=1, memory_mb=64, extra_specs={f"trait:{TRAITS[0]}": "required"}
    )
    spec = RequestSpec(flavor=asked)
    assert len(both.agree(spec)) == 11
    desk.submit(c.SetTraits(uuids[0], TRAITS[:1]))
    assert len(both.agree(spec)) == 12
    assert both.kept.hits == 1


def test_host_row_without_a_provider_is_reused() -> None:
    desk = Desk(1)
    both = _Both(desk, SchedulerOptions())

    def add(name: str) -> None:
        stats = HostStats(vcpus=8, memory_mb=8192 + desk.now % 7, local_gb=10)
        stats_of = c.UpdateHost(name, name, stats, desk.new_uuid(), writes_books=False)
        desk.submit(stats_of)

    for number in range(12):
        add(f"h{number}")
    aggregate = HostAggregate(
        uuid_of(5),
        hosts=frozenset(("x", "h1")),
        metadata={"ram_weight_multiplier": "-5"},
    )
    desk.submit(c.SetHostAggregates((aggregate,)))
    both.agree(SPEC)
    desk.submit(c.DeleteHost("h3", "h3"))
    add("x")
    assert "x" in both.agree(SPEC)


def test_excluded_hosts_need_not_report_metrics() -> None:
    desk = Desk(1)
    desk.add_hosts(12)
    both = _Both(desk, SchedulerOptions(metrics_weight_setting={"m": 1.0}))
    for number in range(11):
        stats = HostStats(metrics=[{"name": "m", "value": number}])
        desk.submit(c.UpdateHost(f"h{number}", f"h{number}", stats, desk.new_uuid()))
    group = InstanceGroup(uuid_of(6), "affinity", hosts=frozenset(("h1", "h2")))
    spec = RequestSpec(flavor=SPEC.flavor, instance_group=group)
    for _ in range(2):
        assert both.agree(spec).keys() == {"h1", "h2"}
    with pytest.raises(Invalid, match="h11"):
        both.agree(SPEC)
