"""Several instances that each want several devices, every device a provider of its own:
what one instance took is not walked again for the next."""

from __future__ import annotations

import uuid as uuids
from collections import Counter

import pytest
from msgspec.structs import replace

from gantt.engine.gantt import Gantt
from gantt.errors import NoValidHost
from gantt.model import commands as c
from gantt.model.spec import InstanceGroup, RequestSpec, ScheduleRequest
from gantt.placement.candidates.combination import Budget
from tests.scheduler.test_capacity import opened, report, spec_of

DEVICES = 8


def fleet(hosts: int, devices: int = DEVICES) -> Gantt:
    """Hosts with so many devices, each below its host."""
    engine = opened()
    for number in range(hosts):
        root = report(engine, f"h{number}", f"h{number}", 64, 1 << 20)
        for device in range(devices):
            key = str(uuids.uuid4())
            engine.create_provider(f"h{number}-{device}", uuid=key, parent_uuid=root)
            engine.set_inventories(key, {"PGPU": c.Inventory(total=1)})
    return engine


def asks(devices: int, policy: str = "isolate", **fields: object) -> RequestSpec:
    groups = {f"resources{number}:PGPU": "1" for number in range(devices)}
    extra = {**groups, "group_policy": policy}
    return spec_of(extra_specs=extra, root_gb=1, **fields)


def placed(engine: Gantt, spec: RequestSpec, count: int) -> None:
    """All get a host, and no device serves two."""
    names = tuple(str(uuids.uuid4()) for _ in range(count))
    many = replace(spec, num_instances=count)
    found = engine.schedule(ScheduleRequest(many, names, return_alternates=False))
    assert len(found) == count
    taken = Counter(
        uuid
        for name in names
        for view in [engine.get_allocations(name)]
        if view is not None
        for uuid, one in view.allocations.items()
        if "PGPU" in one.resources
    )
    assert set(taken.values()) == {1}
    assert not engine.verify().problems


@pytest.mark.parametrize("policy", ["isolate", "none"])
@pytest.mark.parametrize(
    ("hosts", "count", "devices"),
    [(20, 8, 8), (20, 20, 8), (10, 10, 8), (20, 20, 5), (20, 40, 4)],
)
def test_as_many_are_placed_and_counted_as_fit(
    hosts: int, count: int, devices: int, policy: str
) -> None:
    with fleet(hosts) as engine:
        spec = asks(devices, policy)
        found = engine.capacity(spec)
        assert found.total == hosts * (DEVICES // devices)
        assert set(found.limits) == {"PGPU"} and not found.is_lower_bound
        placed(engine, spec, count)
        assert engine.capacity(spec).total == found.total - count


def test_a_hundred_are_counted() -> None:
    with fleet(100) as engine:
        found = engine.capacity(asks(DEVICES))
        assert found.total == 100 and not found.is_lower_bound


@pytest.mark.parametrize("policy", ["isolate", "none"])
@pytest.mark.parametrize("fits", [True, False])
def test_members_that_must_share_a_host(policy: str, *, fits: bool) -> None:
    with fleet(20) as engine:
        spec = asks(
            4, policy, instance_group=InstanceGroup(str(uuids.uuid4()), "affinity")
        )
        if fits:
            placed(engine, spec, 2)
            return
        with pytest.raises(NoValidHost, match="3 instances were asked for, 2"):
            placed(engine, spec, 3)


@pytest.mark.parametrize("policy", ["isolate", "none"])
@pytest.mark.parametrize("devices", [4, 5, 8])
def test_many_at_once_cost_no_more_steps_than_one_by_one(
    monkeypatch: pytest.MonkeyPatch, devices: int, policy: str
) -> None:
    steps: list[int] = []
    spend = Budget.spend

    def counted(self: Budget, number: int = 1) -> None:
        steps.append(number)
        spend(self, number)

    monkeypatch.setattr(Budget, "spend", counted)
    spec = asks(devices, policy)
    with fleet(10) as engine:
        placed(engine, spec, 10)
    together = sum(steps)
    steps.clear()
    with fleet(10) as engine:
        for _ in range(10):
            placed(engine, spec, 1)
    looks = 10  # once each at the hosts that instances before have filled
    assert together <= sum(steps) + looks


def test_each_instance_has_the_budget_of_a_request_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What all of them cost together refuses none."""
    with fleet(12) as engine:
        most: list[int] = []
        renew = Budget.renew

        def noted(self: Budget) -> None:
            most.append(self.steps)
            renew(self)

        monkeypatch.setattr(Budget, "renew", noted)
        placed(engine, asks(4, "none"), 24)
        assert len(most) == 23
        assert max(most) < sum(most) / 4
