"""Every weigher: cases in a table, and a plain reading of its rule host by host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gantt.errors import Invalid
from gantt.model.spec import Destination, Image, InstanceGroup, RequestSpec
from gantt.scheduler.contract import Request, Weigher
from gantt.scheduler.hosts import Taken
from gantt.scheduler.options import DEFAULT_MULTIPLIERS, SchedulerOptions
from gantt.scheduler.plugins import registry
from gantt.scheduler.scoring.weighers.metrics import values_of
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

WEIGHERS = {one.name: one for one in registry.weighers(SchedulerOptions())}
SETTING = {"cpu.percent": 2.0, "net.load": -1.0}
PROPERTIES = {"hw_disk_bus": "virtio", "os_type": "linux"}


def scores(weigher: str, plan: Plan, asked: Request | None = None) -> list[float]:
    """What the weigher says of every host."""
    hosts = all_hosts(plan.state())
    found = WEIGHERS[weigher].score(hosts, asked or request())
    assert found.dtype == float
    return [float(one) for one in found]


def plan_of(*hosts: Plain, **rest: Any) -> Plan:
    named = [{**one, "host": f"h{n}", "node": f"h{n}"} for n, one in enumerate(hosts)]
    return Plan(named, **rest)


@pytest.mark.parametrize(
    ("weigher", "host", "expected"),
    [
        ("RAMWeigher", {"free_ram_mb": 512}, 512),
        ("RAMWeigher", {"free_ram_mb": -512}, -512),
        ("RAMWeigher", {"free_ram_mb": None, "memory_mb_used": 68}, 32700),
        ("CPUWeigher", {"vcpus_used": 3, "cpu_allocation_ratio": 2.0}, 29),
        ("CPUWeigher", {"vcpus_used": 3, "cpu_allocation_ratio": 0.0}, 13),
        ("DiskWeigher", {"free_disk_gb": 4}, 4096),
        ("DiskWeigher", {"free_disk_gb": 4, "disk_available_least": 1}, 1024),
        ("DiskWeigher", {"free_disk_gb": None}, 0),
        ("IoOpsWeigher", {"stats": {"io_workload": "4"}}, 4),
        ("IoOpsWeigher", {}, 0),
        ("NumInstancesWeigher", {"stats": {"num_instances": 4}}, 4),
        ("PCIWeigher", {}, 100),
        ("PCIWeigher", {"pci_stats": [{"count": 3}, {"count": 4}]}, 93),
        ("PCIWeigher", {"pci_stats": [{"count": 500}]}, 1),
        ("BuildFailureWeigher", {"stats": {"failed_builds": "2"}}, 2),
        ("HypervisorVersionWeigher", {"hypervisor_version": 6002000}, 6002000),
        ("HypervisorVersionWeigher", {"hypervisor_version": None}, 0),
    ],
)
def test_reported_values(weigher: str, host: Plain, expected: float) -> None:
    assert scores(weigher, plan_of({**a_host(), **host})) == [expected]


def test_claims_count_immediately() -> None:
    claim = {"instance": "i1", "host": "h0", "vcpus": 2, "memory_mb": 8, "disk_mb": 4}
    plan = plan_of(a_host(free_ram_mb=10, free_disk_gb=1), claims=[claim])
    assert scores("RAMWeigher", plan) == [2]
    assert scores("DiskWeigher", plan) == [1020]
    assert scores("CPUWeigher", plan) == [14]
    assert scores("IoOpsWeigher", plan) == [1]
    assert scores("NumInstancesWeigher", plan) == [1]


@pytest.mark.parametrize("name", sorted(WEIGHERS))
def test_every_weigher_has_a_multiplier(name: str) -> None:
    weigher = WEIGHERS[name]
    assert weigher.option.endswith("_multiplier")
    assert weigher.option in DEFAULT_MULTIPLIERS


def _soft(policy: str, *members: str) -> Request:
    group = InstanceGroup(GROUP, policy, members=frozenset(members))
    return request(RequestSpec(instance_group=group))


def test_soft_policies_count_members_and_picks() -> None:
    plan = plan_of(
        a_host(instances=["i1", "i2"]),
        a_host(),
        a_host(),
        groups=[{"uuid": GROUP, "members": ["i2"]}],
        claims=[{"instance": "i3", "host": "h1", "group": GROUP}],
    )
    near, apart = "ServerGroupSoftAffinityWeigher", "ServerGroupSoftAntiAffinityWeigher"
    assert scores(near, plan, _soft("soft-affinity", "i1")) == [2, 1, 0]
    assert scores(apart, plan, _soft("soft-anti-affinity", "i1")) == [-2, -1, 0]
    assert scores(near, plan, _soft("soft-anti-affinity", "i1")) == [0, 0, 0]
    assert scores(apart, plan) == [0, 0, 0]
    moving = plan_of(
        a_host(instances=["i2"]),
        a_host(),
        a_host(),
        groups=[{"uuid": GROUP, "members": ["i2"]}],
        claims=[{"instance": "i2", "host": "h2", "group": GROUP}],
    )
    assert scores(near, moving, _soft("soft-affinity")) == [1, 0, 1]
    hosts = all_hosts(plan.state())
    hosts.consume(2, Taken(0, 0, 0), "new")
    asked = _soft("soft-affinity", "i1")
    assert WEIGHERS[near].score(hosts, asked).tolist() == [2, 1, 1]


def test_cross_cell() -> None:
    plan = plan_of(
        a_host(service={"cell_uuid": "c1"}), a_host(service={"cell_uuid": "c2"})
    )

    def asked(**fields: Any) -> Request:
        return request(RequestSpec(requested_destination=Destination(**fields)))

    name = "CrossCellWeigher"
    allowed = asked(cell_uuid="c2", allow_cross_cell_move=True)
    assert scores(name, plan, allowed) == [-1, 1]
    for other in (
        asked(cell_uuid="c2"),
        asked(allow_cross_cell_move=True),
        request(),
    ):
        assert scores(name, plan, other) == [0, 0]
        assert WEIGHERS[name].is_neutral(other)
    assert not WEIGHERS[name].is_neutral(allowed)


def _image(on: float = 1.0, **setting: float) -> Request:
    return request(
        RequestSpec(image=Image(properties=PROPERTIES)),
        multipliers={"image_props_weight_multiplier": on},
        image_props_weight_setting=setting,
    )


def _facts(**properties: Any) -> Plain:
    return {"image_properties": properties}


def test_image_properties() -> None:
    name = "ImagePropertiesWeigher"
    both, half = _facts(**PROPERTIES, x=[1]), _facts(os_type="linux", hw_disk_bus="ide")
    plan = plan_of(
        a_host(instances={"i1": both, "i2": both, "i3": {}}),
        a_host(instances={"i4": half, "i5": _facts(os_type="windows")}),
        a_host(),
    )
    assert scores(name, plan, _image()) == [4, 1, 0]
    assert scores(name, plan, _image(os_type=0.5)) == [1, 0.5, 0]
    assert scores(name, plan, _image(on=0.0)) == [0, 0, 0]
    assert WEIGHERS[name].is_neutral(_image(on=0.0))
    assert WEIGHERS[name].is_neutral(request())


def _metrics(required: bool = False, **more: Any) -> Request:
    return request(metrics_weight_setting=SETTING, metrics_required=required, **more)


def _measured(**values: float) -> Plain:
    named = {name.replace("_", "."): value for name, value in values.items()}
    return a_host(
        metrics=[{"name": name, "value": value} for name, value in named.items()]
    )


def test_metrics() -> None:
    name = "MetricsWeigher"
    plan = plan_of(_measured(cpu_percent=0.29, net_load=5), _measured(net_load=7))
    # A fraction is read as whole percent, and cut: 28, as in Nova.
    assert scores(name, plan, _metrics()) == [2 * 28 - 5, -10000]
    only = plan_of(_measured(cpu_percent=0.5), _measured(cpu_percent=0.25))
    assert scores(name, only, _metrics(metrics_weight_of_unavailable=-5.0)) == [-5, -5]
    off = _metrics(multipliers={"metrics_weight_multiplier": 0.0})
    assert scores(name, plan, off) == [51, -7]
    assert WEIGHERS[name].is_neutral(request())
    with pytest.raises(Invalid, match=r"'cpu.percent'.*host h1 \(h1\)"):
        scores(name, plan, _metrics(required=True))


def test_missing_metrics() -> None:
    report = [{"name": "numa.membw.max", "numa_membw_values": {"0": 1}}, "x", {"a": 1}]
    assert values_of(report) == {}
    assert values_of(None) == {}


# -- a plain reading of each rule, of the same fleet in plain words --------------------

Naive = Callable[[Plan, Plain, Request], float]


def _number(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0


def _claimed(plan: Plan, host: Plain, what: str) -> int:
    return sum(one[what] for one in plan.claims_of(host))


def _stat(host: Plain, name: str) -> int:
    return _number(host["stats"].get(name)) if "stats" in host else 0


def _ram(plan: Plan, host: Plain, asked: Request) -> float:
    free: Any = host.get("free_ram_mb", host["memory_mb"])
    return float(free - _claimed(plan, host, "memory_mb"))


def _cpu(plan: Plan, host: Plain, asked: Request) -> float:
    ratio = host.get("cpu_allocation_ratio") or 1.0
    used = host["vcpus_used"] + _claimed(plan, host, "vcpus")
    return float(host["vcpus"] * ratio - used)


def _disk(plan: Plan, host: Plain, asked: Request) -> float:
    free: Any = host.get("free_disk_gb")
    if free is not None and host.get("disk_available_least") is not None:
        free = min(free, host["disk_available_least"])
    return 1024.0 * (free or 0) - _claimed(plan, host, "disk_mb")


def _io_ops(plan: Plan, host: Plain, asked: Request) -> float:
    return _stat(host, "io_workload") + len(plan.claims_of(host))


def _instances(plan: Plan, host: Plain, asked: Request) -> float:
    return _stat(host, "num_instances") + len(plan.claims_of(host))


def _failures(plan: Plan, host: Plain, asked: Request) -> float:
    return _stat(host, "failed_builds")


def _version(plan: Plan, host: Plain, asked: Request) -> float:
    return host.get("hypervisor_version") or 0


def _members(policy: str) -> Naive:
    def count(plan: Plan, host: Plain, asked: Request) -> float:
        group = asked.spec.instance_group
        if group is None or group.policy != policy:
            return 0
        members = set(group.members)
        for known in plan.groups:
            members |= known["members"] if known["uuid"] == group.uuid else set()
        members |= {
            one["instance"] for one in plan.claims if one["group"] == group.uuid
        }
        # One that moves is on both: it may stay where it is after all.
        there = {one["instance"] for one in plan.claims if one["host"] == host["host"]}
        for one in plan.hosts:
            there |= set(one["instances"]) if one["host"] == host["host"] else set()
        return len(members & there)

    return count


def _metric(plan: Plan, host: Plain, asked: Request) -> float:
    reports = {one["name"]: one["value"] for one in host.get("metrics") or ()}
    total = 0.0
    for name, ratio in SETTING.items():
        if name not in reports:
            return -10000.0
        value = reports[name]
        total += int(value * 100 if name == "cpu.percent" else value) * ratio
    return total


NAIVE: dict[str, Naive] = {
    "RAMWeigher": _ram,
    "CPUWeigher": _cpu,
    "DiskWeigher": _disk,
    "IoOpsWeigher": _io_ops,
    "NumInstancesWeigher": _instances,
    "BuildFailureWeigher": _failures,
    "HypervisorVersionWeigher": _version,
    "ServerGroupSoftAffinityWeigher": _members("soft-affinity"),
    "MetricsWeigher": _metric,
}


@given(plan=fleets(), spec=specs())
def test_scores_equal_a_plain_loop(plan: Plan, spec: RequestSpec) -> None:
    asked = request(spec, metrics_weight_setting=SETTING, metrics_required=False)
    for name, naive in NAIVE.items():
        expected = [naive(plan, host, asked) for host in plan.hosts]
        assert scores(name, plan, asked) == expected, name


@given(plan=fleets(), spec=specs(), data=st.data())
def test_elementwise_weighers_are_elementwise(
    plan: Plan, spec: RequestSpec, data: st.DataObject
) -> None:
    hosts = all_hosts(plan.state())
    mask = data.draw(st.lists(st.booleans(), min_size=len(hosts), max_size=len(hosts)))
    asked = replace(_metrics(), spec=spec)
    for weigher in WEIGHERS.values():
        if weigher.is_elementwise:
            _same_on_a_part(weigher, plan, asked, mask)


def _same_on_a_part(
    weigher: Weigher, plan: Plan, asked: Request, mask: list[bool]
) -> None:
    hosts = all_hosts(plan.state())
    chosen = np.array(mask, np.bool_)
    whole = weigher.score(hosts, asked)[chosen].tolist()
    assert weigher.score(hosts.keep(chosen), asked).tolist() == whole
