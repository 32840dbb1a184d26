"""Filters and weighers written for Nova run unchanged, and fail by their name."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest

from gantt.errors import PluginFailed, Refused
from gantt.model.spec import (
    Destination,
    Flavor,
    Image,
    InstanceGroup,
    RequestSpec,
    ResourceGroup,
)
from gantt.scheduler.hosts import Taken
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.nova import LegacyFilter, LegacyWeigher
from gantt.scheduler.plugins.nova_host import LegacyHost, LegacyHosts
from gantt.scheduler.plugins.nova_object import unpacked
from gantt.scheduler.plugins.nova_spec import LegacySpec
from gantt.scheduler.scoring import host_weights
from tests.scheduler import out_of_tree as theirs
from tests.scheduler.fleets import NOW, Plan, a_host, all_hosts, request, weights


def plan_of(*hosts: dict[str, Any], **rest: Any) -> Plan:
    named = [{**one, "host": f"h{n}", "node": f"n{n}"} for n, one in enumerate(hosts)]
    return Plan(named, **rest)


RACKS = plan_of(
    a_host(stats={"rack": "r1", "num_instances": 3}, free_ram_mb=64),
    a_host(stats={"rack": "r2", "num_instances": "1"}, free_ram_mb=128),
)


def passing(filter_: object, spec: RequestSpec, plan: Plan = RACKS) -> list[bool]:
    found = LegacyFilter(filter_).mask(all_hosts(plan.state()), request(spec))
    return [bool(one) for one in found]


def hinted(**hints: str) -> RequestSpec:
    return RequestSpec(scheduler_hints={key: (one,) for key, one in hints.items()})


def test_current_nova_filter() -> None:
    assert passing(theirs.RackFilter(), hinted(rack="r2")) == [False, True]
    assert passing(theirs.RackFilter(), RequestSpec()) == [True, True]


def test_filter_that_expects_dicts() -> None:
    image = Image(properties={"factor": "2"})
    flavor = Flavor(memory_mb=64)
    old = theirs.OldRamFilter()
    assert passing(old, RequestSpec(flavor=flavor, image=image)) == [False, True]
    assert passing(old, RequestSpec(flavor=flavor)) == [True, True]
    assert passing(old, hinted(never="1")) == [False, False]


def test_filters_that_process_all_hosts() -> None:
    assert passing(theirs.EmptiestFilter(), RequestSpec()) == [False, True]
    assert passing(theirs.NoHostFilter(), RequestSpec()) == [False, False]
    with pytest.raises(PluginFailed, match="StrangerFilter let 'who"):
        passing(theirs.StrangerFilter(), RequestSpec())


def test_filter_attributes_are_honoured() -> None:
    rack, old = LegacyFilter(theirs.RackFilter()), LegacyFilter(theirs.OldRamFilter())
    assert (rack.name, rack.once, rack.on_rebuild) == ("RackFilter", True, True)
    assert (old.name, old.once, old.on_rebuild) == ("OldRamFilter", False, False)
    assert LegacyFilter(theirs.OddIndexFilter()).once
    assert rack.is_costly
    assert rack.cacheable is None


def test_limits_set_by_a_filter() -> None:
    hosts = all_hosts(RACKS.state())
    found = LegacyFilter(theirs.RackFilter()).limits(hosts, request(), 1)
    assert found == {"memory_mb": 49152}


@pytest.mark.parametrize("limit", [float("nan"), float("inf")])
def test_invalid_limits_are_refused_by_name(limit: float) -> None:
    class OddLimits:
        def host_passes(self, host_state: Any, _spec: Any) -> bool:
            host_state.limits.update(vcpu=limit, power=3)
            return True

    hosts = all_hosts(RACKS.state())
    with pytest.raises(
        PluginFailed, match=r"OddLimits failed for host .* cannot convert"
    ):
        LegacyFilter(OddLimits()).limits(hosts, request(), 1)


def test_unknown_limits_are_ignored() -> None:
    class MoreLimits:
        def host_passes(self, host_state: Any, _spec: Any) -> bool:
            host_state.limits.update(vcpu=2.5, power=3)
            return True

    hosts = all_hosts(RACKS.state())
    assert LegacyFilter(MoreLimits()).limits(hosts, request(), 1) == {"vcpu": 2}


class _Mute(Exception):
    def __str__(self) -> str:
        raise ValueError


class _Neither:
    def __bool__(self) -> bool:
        raise ValueError("neither")


def _refuse_to_speak() -> None:
    raise _Mute


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (_refuse_to_speak, "_Mute"),
        (_Neither, "ValueError: neither"),
        (sys.exit, "SystemExit"),
    ],
)
def test_failing_filter_is_named(answer: Any, named: str) -> None:
    class OddFilter:
        def host_passes(self, _host: Any, _spec: Any) -> Any:
            return answer()

    with pytest.raises(PluginFailed, match=f"OddFilter failed for host .*{named}"):
        passing(OddFilter(), RequestSpec())


def test_failing_filter_refuses_those_hosts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert passing(theirs.FailingFilter(), RequestSpec()) == [True, False]
    assert re.search(
        r"out_of_tree.FailingFilter refuses 1 of 2 hosts .* h1 \(n1\): KeyError",
        caplog.text,
    )
    (with_traceback,) = (one for one in caplog.records if one.exc_info)
    assert "FailingFilter failed for host h1 (n1)" in with_traceback.getMessage()


def test_filter_failing_for_every_host_is_named() -> None:
    alone = all_hosts(RACKS.state()).at(np.array([1]))
    with pytest.raises(
        PluginFailed,
        match=r"out_of_tree.FailingFilter failed for host h1 \(n1\): KeyError",
    ):
        LegacyFilter(theirs.FailingFilter()).mask(alone, request())
    with pytest.raises(
        PluginFailed, match="FailingAllFilter failed: ZeroDivisionError"
    ):
        passing(theirs.FailingAllFilter(), RequestSpec())
    with pytest.raises(Refused, match="NotAFilter is no filter"):
        LegacyFilter(theirs.NotAFilter())
    with pytest.raises(Refused, match="NotAFilter is no weigher"):
        LegacyWeigher(theirs.NotAFilter())


POWER = plan_of(
    a_host(stats={"power": 5}, free_disk_gb=1),
    a_host(stats={"power": 20}, free_disk_gb=2),
    a_host(stats={"power": -5}, free_disk_gb=3),
    aggregates=[{"uuid": "a1", "hosts": ["h0"], "metadata": {"power": "4"}}],
)


def test_group_has_the_known_members() -> None:
    class AntiAffinityFilter:
        def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
            return not set(host_state.instances) & set(spec_obj.instance_group.members)

    plan = Plan(
        [a_host("h1", instances=["i1"]), a_host("h2"), a_host("h3")],
        groups=[{"uuid": "g", "policy": "anti-affinity", "members": ["i1"]}],
        claims=[{"instance": "i2", "host": "h2", "group": "g"}],
    )
    spec = RequestSpec(instance_group=InstanceGroup("g", "anti-affinity"))
    mask = LegacyFilter(AntiAffinityFilter()).mask(
        all_hosts(plan.state()), request(spec)
    )
    assert mask.tolist() == [False, False, True]


def test_weighers() -> None:
    hosts, options = all_hosts(POWER.state()), SchedulerOptions()
    power, old = (
        LegacyWeigher(theirs.PowerWeigher()),
        LegacyWeigher(theirs.OldWeigher()),
    )
    assert power.name == "PowerWeigher"
    assert power.score(hosts, request()).tolist() == [5, 20, -5]
    factors = host_weights.multipliers(hosts, power, options)
    assert isinstance(factors, np.ndarray)
    assert factors.tolist() == [4, 2, 2]
    assert host_weights.multipliers(hosts, old, options) == -1.0
    found = weights(hosts, request(), [power, old])
    assert found.tolist() == [4 * 0.5, 2 * 1 - 0.5, -1]


@pytest.mark.parametrize(
    ("weigher", "says"),
    [
        (theirs.ShortWeigher(), "ShortWeigher gave 1 weights for 3 hosts"),
        (theirs.NanWeigher(), r"NanWeigher gave nan for host h0 \(n0\)"),
        (theirs.NoneWeigher(), "NoneWeigher gave None for host h0"),
        (theirs.FailingWeigher(), "FailingWeigher failed for host h0.*RuntimeError"),
    ],
)
def test_failing_weighers_are_named(weigher: object, says: str) -> None:
    with pytest.raises(PluginFailed, match=says):
        LegacyWeigher(weigher).score(all_hosts(POWER.state()), request())


CELL = {
    "nova_object.name": "NUMACell",
    "nova_object.namespace": "nova",
    "nova_object.version": "1.5",
    "nova_object.data": {"id": 0, "cpuset": [0, 1], "siblings": [[0, 1]]},
}


def view(**fields: Any) -> LegacyHost:
    host = a_host(
        uuid="u1",
        service={"disabled": True, "last_seen_up": NOW, "cell_uuid": "c1"},
        instances={"i1": {"flavorid": "1"}},
        local_gb_used=2,
        cpu_info={"arch": "x86_64"},
        supported_instances=[["amd64", "kvm", "hvm"]],
        metrics=[{"name": "cpu.percent", "value": 0.29, "source": "virt"}],
        pci_stats=[{"count": 2, "vendor_id": "8086"}],
        numa_topology={
            "nova_object.name": "NUMATopology",
            "nova_object.data": {"cells": [CELL]},
        },
        hypervisor_type="QEMU",
        hypervisor_version=6002000,
        **fields,
    )
    metadata = {"availability_zone": "z1"}
    plan = plan_of(
        host,
        aggregates=[{"uuid": "a1", "hosts": ["h0", "h9"], "metadata": metadata}],
        claims=[{"instance": "i2", "host": "h0", "node": "n0", "memory_mb": 68}],
    )
    hosts = all_hosts(plan.state())
    hosts.consume(0, Taken(3, 100, 0), "i3")
    return LegacyHosts(hosts, SchedulerOptions()).all()[0]


def test_host_fields() -> None:
    host = view()
    found = {
        name: getattr(host, name)
        for name in (
            "uuid host nodename cell_uuid free_ram_mb vcpus_used total_usable_ram_mb "
            "disk_mb_used num_instances num_io_ops cpu_info supported_instances "
            "hypervisor_type failed_builds cpu_allocation_ratio host_ip limits "
            "allocation_candidates"
        ).split()
    }
    assert found == {
        "uuid": "u1",
        "host": "h0",
        "nodename": "n0",
        "cell_uuid": "c1",
        "free_ram_mb": 32600,
        "vcpus_used": 3,
        "total_usable_ram_mb": 32768,
        "disk_mb_used": 2048,
        "num_instances": 2,
        "num_io_ops": 2,
        "cpu_info": '{"arch":"x86_64"}',
        "failed_builds": 0,
        "supported_instances": [["x86_64", "kvm", "hvm"]],
        "hypervisor_type": "QEMU",
        "cpu_allocation_ratio": 1.0,
        "host_ip": None,
        "limits": {},
        "allocation_candidates": [],
    }
    assert all(type(found[name]) is int for name in ("free_ram_mb", "vcpus_used"))
    assert "ram: 32600MB" in repr(host)
    with pytest.raises(AttributeError, match="no colour"):
        _ = host.colour


def test_host_objects() -> None:
    host = view()
    assert sorted(host.instances) == ["i1", "i2", "i3"]
    assert host.instances["i1"].uuid == "i1"
    assert host.instances["i1"].flavorid == "1"
    assert host.metrics[0].value == 28
    assert host.metrics.objects[0].name == "cpu.percent"
    assert host.pci_stats.pools[0]["count"] == 2
    cell = host.numa_topology.cells[0]
    assert (cell.cpuset, cell.siblings) == ({0, 1}, [{0, 1}])
    assert host.service["disabled"] is True
    assert host.service["last_seen_up"].timestamp() == NOW / 1_000_000
    assert host.updated.tzinfo is not None
    (aggregate,) = host.aggregates
    assert (aggregate.id, aggregate.uuid, aggregate.name) == (1, "a1", "a1")
    assert aggregate.hosts == ["h0", "h9"]
    assert "availability_zone" in aggregate.metadata
    assert aggregate.availability_zone == "z1"


def test_host_with_a_partial_report() -> None:
    host = LegacyHosts(all_hosts(plan_of({}).state()), SchedulerOptions()).all()[0]
    assert (host.cpu_info, host.numa_topology, host.service) == (None, None, {})
    assert (host.metrics, host.stats, host.pci_stats.pools) == ([], {}, [])
    assert (host.free_ram_mb, host.updated.year) == (0, 2023)


SPEC = RequestSpec(
    flavor=Flavor(2, 512, 10, 1, 64, "small", "f1", 7, {"a": "b"}),
    image=Image("im", "raw", {"hw_disk_bus": "virtio"}),
    project_id="p",
    instance_uuid="i",
    requested_destination=Destination(
        "h",
        cell_uuid="c",
        aggregates=(frozenset({"y", "x"}),),
        forbidden_aggregates=frozenset({"z"}),
    ),
    retry_hosts=(("h1", "n1"),),
    instance_group=InstanceGroup("g", "affinity", 2, frozenset("m"), frozenset("h")),
    scheduler_hints={"one": ("1",), "two": ("1", "2")},
    requested_resources=(ResourceGroup("port", {"X": 1}),),
    pci_requests=({"count": 1, "spec": [{"vendor_id": "1"}]},),
)


def test_current_request_object() -> None:
    spec = LegacySpec(SPEC)
    assert (spec.vcpus, spec.memory_mb, spec.root_gb) == (2, 512, 10)
    assert (spec.ephemeral_gb, spec.swap, spec.flavor.name) == (1, 64, "small")
    assert spec.flavor.extra_specs == {"a": "b"}
    assert spec.image.properties.hw_disk_bus == "virtio"
    assert spec.image.properties.get("hw_vif_model", "x") == "x"
    assert "hw_disk_bus" in spec.image.properties
    assert not spec.image.properties.obj_attr_is_set("hw_vif_model")
    assert spec.get_scheduler_hint("one") == "1"
    assert spec.get_scheduler_hint("two") == ["1", "2"]
    assert spec.get_scheduler_hint("three", "none") == "none"
    assert spec.scheduler_hints == {"one": ["1"], "two": ["1", "2"]}
    assert spec.obj_attr_is_set("retry")
    assert spec.retry.hosts[0].hypervisor_hostname == "n1"
    assert "requested_destination" in spec
    assert spec.requested_destination.cell.uuid == "c"
    assert spec.requested_destination.aggregates == ["x,y"]
    group = spec.instance_group
    assert (group.policy, group.policies, group.members) == (
        "affinity",
        ["affinity"],
        ["m"],
    )
    assert group.rules == {"max_server_per_host": 2}
    assert spec.pci_requests.requests[0].count == 1
    assert spec.requested_resources[0].resources == {"X": 1}
    assert spec.request_level_params.root_required == spec.root_required == set()
    assert (spec.root_forbidden, spec.same_subtree) == (set(), [])
    assert spec.security_groups.objects == []
    with pytest.raises(AttributeError, match="no colour"):
        _ = spec.colour


def test_legacy_request_dict() -> None:
    spec = LegacySpec(SPEC)
    assert spec["instance_type"]["memory_mb"] == 512
    assert spec.get("scheduler_hints") == {"one": "1", "two": ["1", "2"]}
    assert spec.get("retry") == {"num_attempts": 2, "hosts": [["h1", "n1"]]}
    assert spec.get("group_hosts") == {"h"}
    assert spec.get("nothing", 5) == 5
    assert spec["request_spec"]["instance_properties"]["project_id"] == "p"
    with pytest.raises(KeyError):
        _ = spec["nothing"]
    assert LegacySpec(RequestSpec()).get("retry") is None


def test_image_of_a_volume_has_no_id() -> None:
    spec = LegacySpec(RequestSpec(image=Image()))
    assert "id" not in spec.image
    assert LegacySpec(RequestSpec()).image is None


def test_serialized_nova_objects_are_restored() -> None:
    listed = {"nova_object.name": "X", "nova_object.data": {"objects": [CELL]}}
    assert unpacked(listed).objects[0].id == 0
    assert unpacked({"plain": 1}) == {"plain": 1}
    assert unpacked(None) is None
    assert dict(unpacked(CELL).items()) == unpacked(CELL).to_dict()
    assert unpacked(CELL).keys() == ["id", "cpuset", "siblings"]
    assert list(unpacked(CELL)) == ["id", "cpuset", "siblings"]
    assert "id=0" in repr(unpacked(CELL))
