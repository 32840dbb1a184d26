"""Corners in which what is kept once differed from what ``filter`` decides."""

from __future__ import annotations

import pytest

from gantt.errors import Invalid
from gantt.model import commands as c
from gantt.model.hosts import HostAggregate, HostStats
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec
from gantt.placement.candidates.combination import Budget
from gantt.scheduler.evaluation.known_drivers import caching, filtering
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of
from tests.scheduler.desk import TRAITS, Desk, source, uuid_of

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
