"""Filters that Nova has removed: cases in a table, and a plain reading host by host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gantt.model import rows as t
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec
from gantt.scheduler.contract import Filter, Request
from gantt.scheduler.feasibility import historical
from gantt.scheduler.hosts import Taken
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins import registry
from tests.scheduler.fleets import (
    GROUP,
    Plain,
    Plan,
    a_host,
    all_hosts,
    fleets,
    request,
    specs,
)

NAMES = tuple(
    (
        "RamFilter AggregateRamFilter CoreFilter AggregateCoreFilter DiskFilter "
        "AggregateDiskFilter ExactRamFilter ExactCoreFilter ExactDiskFilter "
        "RetryFilter AvailabilityZoneFilter TypeAffinityFilter "
        "GroupAffinityFilter GroupAntiAffinityFilter"
    ).split()
)
FILTERS: dict[str, Filter] = {
    one.name: one for one in registry.filters(SchedulerOptions(enabled_filters=NAMES))
}


def test_package_holds_exactly_the_removed_filters() -> None:
    assert registry.built_in(historical, Filter).keys() == set(NAMES)


def passing(name: str, plan: Plan, asked: Request) -> list[bool]:
    """What the filter says of every host."""
    mask = FILTERS[name].mask(all_hosts(plan.state()), asked)
    assert mask.dtype == bool
    return [bool(one) for one in mask]


def plan_of(*hosts: Plain, **rest: Any) -> Plan:
    named = [{**one, "host": f"h{n}", "node": f"h{n}"} for n, one in enumerate(hosts)]
    return Plan(named, **rest)


def flavor(**amounts: Any) -> Request:
    return request(RequestSpec(flavor=Flavor(**amounts)))


def ram(total: int, free: int, ratio: float = 0.0) -> Plain:
    return a_host(memory_mb=total, free_ram_mb=free, ram_allocation_ratio=ratio)


def disk(total: int, free: int, ratio: float = 0.0) -> Plain:
    return a_host(local_gb=total, free_disk_gb=free, disk_allocation_ratio=ratio)


def h0_has(key: str, *values: str) -> list[Plain]:
    return [
        {"uuid": f"a{n}", "hosts": ["h0"], "metadata": {key: one}}
        for n, one in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("host", "memory_mb", "passes", "limit"),
    [
        (ram(100, 100, 1.0), 100, 1, 100),
        (ram(100, 0, 2.0), 100, 1, 200),
        (ram(100, -1, 2.0), 100, 0, 200),
        # Never overcommitted against itself.
        (ram(100, 100, 9.0), 101, 0, 900),
        # No ratio reported: nothing is given twice.
        (ram(100, 100), 100, 1, 100),
        (ram(100, 99), 100, 0, 100),
    ],
)
def test_ram_filter(host: Plain, memory_mb: int, passes: int, limit: int) -> None:
    plan, asked = plan_of(host), flavor(memory_mb=memory_mb)
    assert passing("RamFilter", plan, asked) == [bool(passes)]
    hosts = all_hosts(plan.state())
    assert FILTERS["RamFilter"].limits(hosts, asked, 0) == {"memory_mb": limit}


@pytest.mark.parametrize(
    ("host", "vcpus", "passes", "limits"),
    [
        ({"vcpus": 4, "vcpus_used": 4, "cpu_allocation_ratio": 2.0}, 4, 1, {"vcpu": 8}),
        ({"vcpus": 4, "vcpus_used": 5, "cpu_allocation_ratio": 2.0}, 4, 0, {"vcpu": 8}),
        ({"vcpus": 4, "cpu_allocation_ratio": 2.0}, 5, 0, {"vcpu": 8}),
        ({"vcpus": 4, "vcpus_used": 1}, 4, 0, {"vcpu": 4}),
        # A host that reports no VCPUs.
        ({"vcpus": 0, "vcpus_used": 3}, 5, 1, {}),
    ],
)
def test_core_filter(
    host: Plain, vcpus: int, passes: int, limits: dict[str, int]
) -> None:
    plan, asked = plan_of({**a_host(), **host}), flavor(vcpus=vcpus)
    assert passing("CoreFilter", plan, asked) == [bool(passes)]
    assert FILTERS["CoreFilter"].limits(all_hosts(plan.state()), asked, 0) == limits


@pytest.mark.parametrize(
    ("host", "amounts", "passes", "limit"),
    [
        (disk(10, 10), {"root_gb": 6, "ephemeral_gb": 4}, 1, 10),
        (disk(10, 10), {"root_gb": 10, "swap": 1}, 0, 10),
        (disk(10, 9), {"root_gb": 10}, 0, 10),
        (disk(10, 0, 1.55), {"root_gb": 5}, 1, 15),
    ],
)
def test_disk_filter(
    host: Plain, amounts: dict[str, int], passes: int, limit: int
) -> None:
    plan, asked = plan_of(host), flavor(**amounts)
    assert passing("DiskFilter", plan, asked) == [bool(passes)]
    hosts = all_hosts(plan.state())
    assert FILTERS["DiskFilter"].limits(hosts, asked, 0) == {"disk_gb": limit}


def test_boot_from_volume_needs_no_root_disk() -> None:
    plan = plan_of(a_host(local_gb=1, free_disk_gb=1))
    asked = request(RequestSpec(flavor=Flavor(root_gb=9), is_bfv=True))
    assert passing("DiskFilter", plan, asked) == [True]


@pytest.mark.parametrize(
    ("name", "key", "host", "amounts"),
    [
        ("Ram", "ram_allocation_ratio", {"free_ram_mb": 0}, {"memory_mb": 32768}),
        ("Core", "cpu_allocation_ratio", {"vcpus_used": 16}, {"vcpus": 16}),
        ("Disk", "disk_allocation_ratio", {"free_disk_gb": 0}, {"root_gb": 500}),
    ],
)
def test_aggregates_override_ratios(
    name: str, key: str, host: Plain, amounts: dict[str, int]
) -> None:
    host = {**a_host(), **host, key: 1.0}
    asked = flavor(**amounts)

    def found(*values: str) -> list[bool]:
        plan = plan_of(host, host, aggregates=h0_has(key, *values))
        assert passing(f"{name}Filter", plan, asked) == [False, False]
        return passing(f"Aggregate{name}Filter", plan, asked)

    assert found() == [False, False]
    assert found("2.0") == [True, False]
    assert found("2.0", "1.9") == [False, False]
    assert found("2.0", "much") == [False, False]


@pytest.mark.parametrize("name", NAMES[:6])
def test_redundant_filters_advise_their_removal(name: str) -> None:
    assert name in FILTERS[name].advice
    assert "enabled_filters" in FILTERS[name].advice


def test_exact_amounts() -> None:
    plan = plan_of(
        a_host(free_ram_mb=512, vcpus_used=12, free_disk_gb=2, local_gb=7),
        a_host(free_ram_mb=513, vcpus_used=11, free_disk_gb=3),
        a_host(vcpus=0),
    )
    asked = flavor(memory_mb=512, vcpus=4, root_gb=1, swap=1024)
    hosts = all_hosts(plan.state())
    for name, limits in (
        ("ExactRamFilter", {"memory_mb": 32768}),
        ("ExactCoreFilter", {"vcpu": 16}),
        ("ExactDiskFilter", {"disk_gb": 7}),
    ):
        assert passing(name, plan, asked) == [True, False, False]
        assert FILTERS[name].limits(hosts, asked, 0) == limits
    assert passing("ExactCoreFilter", plan, flavor(vcpus=0))[2] is False


def test_retry_filter() -> None:
    plan = plan_of(a_host(), a_host(), a_host())
    tried = (("h1", "h1"), ("h2", "other"), ("gone", "gone"))
    assert passing("RetryFilter", plan, request(RequestSpec(retry_hosts=tried))) == [
        True,
        False,
        True,
    ]
    assert passing("RetryFilter", plan, request()) == [True] * 3


def test_availability_zone() -> None:
    plan = plan_of(
        a_host(), a_host(), aggregates=h0_has("availability_zone", "z1, z2", "z3")
    )

    def zone(name: str | None) -> list[bool]:
        asked = request(RequestSpec(availability_zone=name))
        return passing("AvailabilityZoneFilter", plan, asked)

    assert zone(None) == zone("") == [True, True]
    assert zone("z2") == zone("z3") == [True, False]
    assert zone("nova") == [False, True]
    assert zone("z4") == [False, False]


def test_type_affinity() -> None:
    mine, other = {"flavorid": "1"}, {"flavorid": "2"}
    plan = plan_of(
        a_host(instances={"i1": mine, "i2": mine}),
        a_host(instances={"i3": mine, "i4": other}),
        a_host(instances={"i5": {}}),
        a_host(),
        a_host(),
        claims=[
            {"instance": "i6", "host": "h3", "vcpus": 1},
            {"instance": "i7", "host": "h4", "vcpus": 2},
        ],
    )
    asked = flavor(flavorid="1", vcpus=1)
    assert passing("TypeAffinityFilter", plan, asked) == [
        True,
        False,
        False,
        True,
        False,
    ]


def _grouped(hint: str | None, **group: Any) -> Request:
    hints: dict[str, tuple[str, ...]] = {} if hint is None else {"group": (hint,)}
    spec = RequestSpec(scheduler_hints=hints)
    if group:
        spec = replace(spec, instance_group=InstanceGroup(**group))
    return request(spec)


def test_legacy_group_filters() -> None:
    plan = plan_of(
        a_host(instances={"i1": {"group": "web"}}),
        a_host(instances={"i2": {"group": "db"}, "i3": {}}),
        a_host(),
        groups=[{"uuid": GROUP, "name": "cache", "members": ["i3"]}],
        claims=[{"instance": "i4", "host": "h2", "group": GROUP}],
    )
    near, apart = "GroupAffinityFilter", "GroupAntiAffinityFilter"
    for hint, expected in (
        ("web", [True, False, False]),
        ("cache", [False, True, True]),
        (GROUP, [False, True, True]),
    ):
        assert passing(near, plan, _grouped(hint)) == expected
        assert passing(apart, plan, _grouped(hint)) == [not one for one in expected]
    everywhere = [True, True, True]
    for asked in (
        _grouped(None),
        _grouped("new"),
        # Where there is a policy, the filters of server groups decide.
        _grouped("web", policy="affinity", hosts=frozenset({"h2"})),
    ):
        assert passing(near, plan, asked) == passing(apart, plan, asked) == everywhere
    known = _grouped("x", hosts=frozenset({"h2"}))
    assert passing(near, plan, known) == [False, False, True]


def test_reported_members_count() -> None:
    plan = plan_of(
        a_host(instances={"i1": {t.GROUP: GROUP}}),
        a_host(),
        groups=[{"uuid": GROUP, "name": "cache", "members": []}],
    )
    assert passing("GroupAffinityFilter", plan, _grouped("cache")) == [True, False]


def test_legacy_groups_count_instances_of_this_request() -> None:
    hosts = all_hosts(plan_of(a_host(), a_host()).state())
    hosts.consume(1, Taken(0, 0, 0), "new")
    asked = _grouped("web")
    assert FILTERS["GroupAffinityFilter"].mask(hosts, asked).tolist() == [False, True]
    apart = FILTERS["GroupAntiAffinityFilter"].mask(hosts, asked).tolist()
    assert apart == [True, False]


# -- a plain reading of each rule ------------------------------------------------------

Naive = Callable[[Plan, Plain, RequestSpec], bool]


def _claimed(plan: Plan, host: Plain, what: str) -> int:
    return sum(one[what] for one in plan.claims_of(host))


def _free_ram(plan: Plan, host: Plain) -> int:
    free: Any = host.get("free_ram_mb", host["memory_mb"])
    return int(free - _claimed(plan, host, "memory_mb"))


def _free_disk(plan: Plan, host: Plain) -> int:
    free: Any = host.get("free_disk_gb")
    if free is not None and host.get("disk_available_least") is not None:
        free = min(free, host["disk_available_least"])
    return int(1024 * (free or 0) - _claimed(plan, host, "disk_mb"))


def _wanted_disk(spec: RequestSpec) -> int:
    root = 0 if spec.is_bfv else spec.flavor.root_gb
    return 1024 * (root + spec.flavor.ephemeral_gb) + spec.flavor.swap


def _has(total: int, free: float, ratio: float, wanted: int) -> bool:
    return wanted <= total and wanted <= total * ratio - (total - free)


def _ram(plan: Plan, host: Plain, spec: RequestSpec) -> bool:
    ratio = host.get("ram_allocation_ratio") or 1.0
    total = host["memory_mb"]
    return _has(total, _free_ram(plan, host), ratio, spec.flavor.memory_mb)


def _core(plan: Plan, host: Plain, spec: RequestSpec) -> bool:
    ratio = host.get("cpu_allocation_ratio") or 1.0
    total = host["vcpus"]
    used = host["vcpus_used"] + _claimed(plan, host, "vcpus")
    return total == 0 or _has(total, total - used, ratio, spec.flavor.vcpus)


def _disk(plan: Plan, host: Plain, spec: RequestSpec) -> bool:
    ratio = host.get("disk_allocation_ratio") or 1.0
    total = 1024 * host["local_gb"]
    return _has(total, _free_disk(plan, host), ratio, _wanted_disk(spec))


def _exact_core(plan: Plan, host: Plain, spec: RequestSpec) -> bool:
    used = host["vcpus_used"] + _claimed(plan, host, "vcpus")
    return bool(host["vcpus"]) and host["vcpus"] - used == spec.flavor.vcpus


def _type_affinity(plan: Plan, host: Plain, spec: RequestSpec) -> bool:
    same = [one for one in plan.hosts if one["host"] == host["host"]]
    facts = [facts for one in same for facts in one["instances"].values()]
    wanted = (spec.flavor.vcpus, spec.flavor.memory_mb, spec.disk_mb)
    return all(one["flavorid"] == spec.flavor.flavorid for one in facts) and all(
        (one["vcpus"], one["memory_mb"], one["disk_mb"]) == wanted
        for one in plan.claims_of(host)
    )


NAIVE: dict[str, Naive] = {
    "RamFilter": _ram,
    "CoreFilter": _core,
    "DiskFilter": _disk,
    "ExactRamFilter": lambda plan, host, spec: (
        _free_ram(plan, host) == spec.flavor.memory_mb
    ),
    "ExactCoreFilter": _exact_core,
    "ExactDiskFilter": lambda plan, host, spec: (
        _free_disk(plan, host) == _wanted_disk(spec)
    ),
    "RetryFilter": lambda plan, host, spec: (
        (host["host"], host["node"]) not in spec.retry_hosts
    ),
    "TypeAffinityFilter": _type_affinity,
}


@given(fleets(), specs(), st.data())
def test_masks_equal_the_plain_reading(
    plan: Plan, spec: RequestSpec, data: st.DataObject
) -> None:
    places = [(host["host"], host["node"]) for host in plan.hosts]
    if places:
        tried = data.draw(st.lists(st.sampled_from(places), max_size=2))
        spec = replace(spec, retry_hosts=tuple(tried))
    for name, naive in NAIVE.items():
        expected = [naive(plan, host, spec) for host in plan.hosts]
        assert passing(name, plan, request(spec)) == expected, name
