"""Capacity is the number of single claims that succeed one after the other, and a
refusal says at which step hosts ran out."""

from __future__ import annotations

import random
import uuid as uuids
from collections import Counter

import pytest
from msgspec.structs import replace

from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import NoValidHost
from gantt.model import commands as c
from gantt.model.hosts import Service
from gantt.model.names import SHARES_VIA_AGGREGATE
from gantt.model.selection import Why
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ScheduleRequest
from gantt.scheduler.explain.blocks import OFF
from gantt.scheduler.explain.refusal_reason import EXACT, PICKED
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from tests.idle_host import idle

PINNED = {"hw:cpu_policy": "dedicated"}
ISOLATED = {
    "resources1:SRIOV_NET_VF": "1",
    "resources2:SRIOV_NET_VF": "1",
    "group_policy": "isolate",
}


def opened(most: int | None = None, **fields: object) -> Gantt:
    options = SchedulerOptions(**fields)  # type: ignore[arg-type]
    if most is not None:
        options = replace(
            options,
            enabled_filters=(*DEFAULT_FILTERS, "NumInstancesFilter"),
            max_instances_per_host=most,
        )
    return open_gantt("memory://", EngineOptions(scheduler=options))


def report(
    engine: Gantt, host: str, node: str, vcpus: int = 4, memory_mb: int = 8192
) -> str | None:
    """A node with so many VCPUs; its provider, if it has one."""
    stats = idle(vcpus, memory_mb, cpu_allocation_ratio=1.0, hypervisor_hostname=node)
    engine.update_host(host, node, stats)
    (view,) = [one for one in engine.list_hosts(host=host) if one.node == node]
    return view.provider_uuid


def spec_of(**fields: object) -> RequestSpec:
    extra = fields.pop("extra_specs", {})
    disk = fields.pop("root_gb", 10)
    flavor = Flavor(vcpus=1, memory_mb=512, root_gb=disk, extra_specs=extra)  # type: ignore[arg-type]
    return RequestSpec(flavor=flavor, project_id="p", user_id="u", **fields)  # type: ignore[arg-type]


def claimed(engine: Gantt, spec: RequestSpec) -> int:
    """How many claims of one instance succeed."""
    for count in range(500):
        try:
            engine.schedule(ScheduleRequest(spec, (str(uuids.uuid4()),)))
        except NoValidHost:
            return count
    raise AssertionError("no end of it")


def grow(engine: Gantt, rng: random.Random, *, has_pool: bool) -> None:
    """Service hosts of one or two nodes, some with PCPUs, some with children."""
    near, pool = str(uuids.uuid4()), str(uuids.uuid4())
    if has_pool:
        engine.create_provider("pool", uuid=pool)
        total = rng.choice((40, 90))
        engine.set_inventories(pool, {"DISK_GB": c.Inventory(total=total)})
        engine.submit(c.SetTraits(pool, (SHARES_VIA_AGGREGATE,)))
        engine.submit(c.SetAggregates(pool, (near,)))
    for number in range(rng.randrange(2, 5)):
        for node in range(rng.choice((1, 1, 2))):
            name = f"n{number}-{node}"
            uuid = report(engine, f"h{number}", name, rng.choice((2, 4, 6)))
            assert uuid is not None
            if has_pool:
                engine.submit(c.SetAggregates(uuid, (near,)))
                engine.submit(c.DeleteInventory(uuid, "DISK_GB"))
            if rng.random() < 0.5:
                pinned = c.Inventory(total=rng.choice((1, 3)))
                engine.submit(c.AddInventory(uuid, "PCPU", pinned))
            for child in range(rng.choice((0, 1, 2))):
                key = str(uuids.uuid4())
                engine.create_provider(f"{name}-{child}", uuid=key, parent_uuid=uuid)
                ports = c.Inventory(total=rng.choice((1, 3)))
                engine.set_inventories(key, {"SRIOV_NET_VF": ports})


@pytest.mark.parametrize("seed", range(24))
def test_capacity_equals_possible_claims(seed: int) -> None:
    rng = random.Random(seed)
    with opened(rng.choice((None, 3))) as engine:
        grow(engine, rng, has_pool=seed % 3 == 0)
        group = None
        if seed % 4 == 1:
            most = rng.choice((1, 3))
            group = InstanceGroup(str(uuids.uuid4()), "anti-affinity", most)
        extra = rng.choice(({}, PINNED, ISOLATED))
        spec = spec_of(extra_specs=extra, instance_group=group)
        found = engine.capacity(spec)
        assert sum(found.limits.values()) >= len(found.hosts)
        assert found.total == sum(found.hosts.values()) == claimed(engine, spec)
        assert engine.capacity(spec).total == 0


@pytest.mark.parametrize("seed", range(6))
def test_affinity_members_fill_one_service_host(seed: int) -> None:
    rng = random.Random(seed)
    with opened() as engine:
        grow(engine, rng, has_pool=seed % 2 == 0)
        group = InstanceGroup(str(uuids.uuid4()), "affinity")
        found = engine.capacity(spec_of(instance_group=group))
        ((host, count),) = found.hosts.items()
        # To force a host keeps a request in its tree, away from the pool.
        others = tuple({one.host for one in engine.list_hosts()} - {host})
        only = spec_of(instance_group=group, ignore_hosts=others)
        assert count == found.total == claimed(engine, only)


def test_affinity_group_stays_on_its_host_unless_forced() -> None:
    with opened() as engine:
        for host in ("a", "b"):
            report(engine, host, host)
        group = InstanceGroup(str(uuids.uuid4()), "affinity")
        engine.schedule(
            ScheduleRequest(
                spec_of(instance_group=group, force_hosts=("a",)), (str(uuids.uuid4()),)
            )
        )
        elsewhere = spec_of(instance_group=group, force_hosts=("b",))
        assert engine.capacity(spec_of(instance_group=group)).hosts == {"a": 3}
        assert engine.capacity(elsewhere).total == claimed(engine, elsewhere) == 4


def test_forced_disabled_host_has_no_capacity() -> None:
    with opened() as engine:
        report(engine, "a", "a")
        engine.update_service(Service("a", disabled=True))
        assert engine.capacity(spec_of(force_hosts=("a",))).total == 0


def test_exhausted_hosts_are_reported() -> None:
    with opened() as engine:
        for host in ("a", "b"):
            report(engine, host, host)
        names = tuple(str(uuids.uuid4()) for _ in range(9))
        with pytest.raises(NoValidHost) as refusal:
            engine.schedule(ScheduleRequest(spec_of(), names))
    why = refusal.value.why
    assert isinstance(why, Why)
    last = why.steps[-1]
    assert (last.name, last.before, last.after, last.removed_alone) == (PICKED, 2, 0, 2)
    assert {one.host: one.removed_by for one in why.nearest} == {
        "a": (PICKED,),
        "b": (PICKED,),
    }
    assert "a: refused by earlier instances of this request." in str(refusal.value)
    assert why.change == "ask for 8 instead of 9 instances"


def test_hosts_filled_by_a_filter_are_reported() -> None:
    with opened(2) as engine:
        for host in ("a", "b"):
            report(engine, host, host)
        names = tuple(str(uuids.uuid4()) for _ in range(5))
        with pytest.raises(NoValidHost) as refusal:
            engine.schedule(ScheduleRequest(spec_of(), names))
    why = refusal.value.why
    assert isinstance(why, Why)
    assert (why.steps[-1].name, why.steps[-1].after) == (PICKED, 0)
    assert why.change == "ask for 4 instead of 5 instances"


def test_tree_refused_by_the_exact_search_is_reported() -> None:
    with opened() as engine:
        uuid = report(engine, "a", "a")
        child = str(uuids.uuid4())
        engine.create_provider("a-0", uuid=child, parent_uuid=uuid)
        engine.set_inventories(child, {"SRIOV_NET_VF": c.Inventory(total=8)})
        spec = spec_of(extra_specs=ISOLATED)
        with pytest.raises(NoValidHost) as refusal:
            engine.schedule(ScheduleRequest(spec, (str(uuids.uuid4()),)))
        found = engine.capacity(spec)
    why = refusal.value.why
    assert isinstance(why, Why)
    assert why.steps[-1].name == EXACT
    assert why.nearest[0].removed_by == (EXACT,)
    assert why.change == "ask with group_policy none"
    assert (found.total, found.steps, found.change) == (0, why.steps, why.change)


@pytest.mark.parametrize("use_placement", ["always", "never"])
@pytest.mark.parametrize("seed", range(6))
def test_blocking_resources_are_reported_by_class(
    seed: int, use_placement: str
) -> None:
    """Before anything is claimed as when all of it is."""
    rng = random.Random(seed)
    most = rng.choice((None, 3))
    with opened(most, use_placement=use_placement) as engine:
        wanted: Counter[str] = Counter()
        for number in range(6):
            vcpus, memory = rng.randrange(6), 512 * rng.randrange(6)
            report(engine, f"h{number}", f"h{number}", max(1, vcpus), max(1, memory))
            fits = {"VCPU": max(1, vcpus), "MEMORY_MB": memory // 512, "DISK_GB": 10}
            if most is not None:
                fits["NumInstancesFilter"] = most
            wanted.update(n for n, fit in fits.items() if fit == min(fits.values()))
        found = engine.capacity(spec_of())
        assert found.limits == wanted
        assert list(found.limits.values()) == sorted(wanted.values(), reverse=True)
        claimed(engine, spec_of())
        again = engine.capacity(spec_of())
        assert again.total == 0
        assert again.limits == wanted


def test_passing_hosts_report_what_blocks_one_more() -> None:
    with opened() as engine:
        for host, gigabytes in (("a", 4), ("b", 8), ("c", 10)):
            report(engine, host, host, 64, 1024 * gigabytes)
        spec = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=2048))
        found = engine.capacity(spec)
        assert found.hosts == {"a": 2, "b": 4, "c": 5}
        assert found.limits == {"MEMORY_MB": 3}
        group = InstanceGroup(str(uuids.uuid4()), "anti-affinity", 2)
        found = engine.capacity(replace(spec, instance_group=group))
        assert found.total == 6
        assert found.limits == {"ServerGroupAntiAffinityFilter": 3, "MEMORY_MB": 1}
        group = InstanceGroup(str(uuids.uuid4()), "affinity")
        found = engine.capacity(replace(spec, instance_group=group))
        assert found.hosts == {"c": 5}
        assert found.limits == {"ServerGroupAffinityFilter": 2, "MEMORY_MB": 1}
        claimed(engine, spec)
        assert engine.capacity(spec).limits == {"MEMORY_MB": 3}
        engine.update_service(Service("a", disabled=True))
        assert engine.capacity(spec).limits == {"MEMORY_MB": 2}
        forced = replace(spec, flavor=Flavor(vcpus=1), force_hosts=("a",))
        assert engine.capacity(forced).limits == {OFF: 1}


def test_shortage_of_a_tree_is_reported() -> None:
    with opened() as engine:
        for host in ("a", "b"):
            uuid = report(engine, host, host, 64, 65536)
            for number in range(2):
                child = str(uuids.uuid4())
                engine.create_provider(f"{host}{number}", uuid=child, parent_uuid=uuid)
                ports = c.Inventory(total=2 if host == "a" else 64)
                engine.set_inventories(child, {"SRIOV_NET_VF": ports})
        found = engine.capacity(spec_of(extra_specs=ISOLATED))
    assert found.hosts == {"a": 2, "b": 10}
    assert found.limits == {"DISK_GB": 1, "SRIOV_NET_VF": 1}


def test_truncated_count_is_reported() -> None:
    with opened(capacity_per_host=3) as engine:
        report(engine, "a", "a")
        assert engine.capacity(spec_of()).limits == {"capacity_per_host": 1}
