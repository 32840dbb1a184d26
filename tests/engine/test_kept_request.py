"""What records keep of a request: all that decides, bounded, and nothing private."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from gantt.engine.factory import open_gantt
from gantt.engine.options import EngineOptions
from gantt.engine.recording.kept_request import kept_request
from gantt.model.forms.spec import read_spec
from gantt.model.selection import KeptRequest
from gantt.model.spec import (
    Destination,
    Flavor,
    Image,
    InstanceGroup,
    RequestedNetwork,
    RequestLevel,
    RequestSpec,
    ResourceGroup,
    ScheduleRequest,
)
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import StoreOptions

SECRET = "hunter2"
GROUP = "aaaaaaaa-5555-4555-8555-000000000001"
MOST = 4096
FULL = RequestSpec(
    flavor=Flavor(
        vcpus=4,
        memory_mb=2048,
        root_gb=10,
        name="m1",
        flavorid="7",
        extra_specs={"trait:CUSTOM_A": "required", "group_policy": "isolate"},
    ),
    image=Image("i", properties={"hw_disk_bus": "virtio", "traits_required": ["T"]}),
    num_instances=3,
    project_id="blue",
    availability_zone="az1",
    ignore_hosts=("a",),
    requested_destination=Destination(
        aggregates=(frozenset(("x", "y")),), forbidden_aggregates=frozenset("z")
    ),
    retry_hosts=(("h", "n"),),
    instance_group=InstanceGroup(GROUP, "anti-affinity", hosts=frozenset("h")),
    scheduler_hints={"different_host": ("u", "v")},
    requested_resources=(
        ResourceGroup("port", {"CUSTOM_X": 1}, frozenset(("CUSTOM_B",))),
    ),
    request_level_params=RequestLevel(same_subtree=(frozenset(("port", "q")),)),
)
LONG = RequestSpec(Flavor(vcpus=1), ignore_hosts=("h" * 200,) * 3)


def kept(spec: RequestSpec, most: int = MOST) -> KeptRequest | None:
    return kept_request(ScheduleRequest(spec), most)


def test_what_is_kept_is_the_request() -> None:
    found = kept(FULL)
    assert found is not None
    assert found.left_out == ()
    sent = msgspec.json.decode(msgspec.json.encode(found.request_spec))
    assert read_spec(sent) == FULL


def test_defaults_take_no_room() -> None:
    found = kept(RequestSpec())
    assert found is not None
    assert len(msgspec.json.encode(found)) < 300


def test_as_many_as_were_named() -> None:
    request = ScheduleRequest(RequestSpec(), ("a", "b", "c"))
    found = kept_request(request, MOST)
    assert found is not None and found.request_spec.num_instances == 3


def test_nothing_private_is_kept() -> None:
    spec = replace(
        FULL,
        user_id=SECRET,
        image=Image(
            properties={
                "hw_disk_bus": "virtio",
                "admin_pass": SECRET,
                "os_command_line": SECRET,
            }
        ),
        scheduler_hints={"password": (SECRET,), "group": ("g",)},
        requested_networks=(RequestedNetwork("n", address=SECRET, trouble=SECRET),),
    )
    found = kept(spec)
    assert found is not None
    assert SECRET not in msgspec.json.encode(found).decode()
    assert found.left_out == (
        "hint password",
        "image property admin_pass",
        "image property os_command_line",
    )
    assert found.request_spec.scheduler_hints == {"group": ("g",)}
    assert found.request_spec.requested_networks == (RequestedNetwork("n"),)


@pytest.mark.parametrize(
    "long",
    [
        replace(FULL, ignore_hosts=("h" * 255,) * 100),
        replace(FULL, flavor=Flavor(extra_specs={"k" * 60_000: "v"})),
        replace(FULL, scheduler_hints={"h" * 60_000: ("v",)}),
        replace(FULL, numa_topology={"cells": ["c" * 5000]}),
    ],
)
def test_a_long_request_is_not_kept(long: RequestSpec) -> None:
    assert kept(long) is None


def test_the_limit_counts_all_that_is_kept() -> None:
    found = kept(FULL)
    size = len(msgspec.json.encode(found))
    assert kept(FULL, size) == found
    assert kept(FULL, size - 1) is None
    assert kept(FULL, 0) is None


def test_long_requests_are_counted_and_others_shared(tmp_path: Path) -> None:
    """What another process reads from the table is what this one kept."""
    store = StoreOptions(create=True)
    url = f"sqlite:///{tmp_path}/gantt.db"
    policy = SchedulerOptions(record_request_bytes=500)
    with open_gantt(url, EngineOptions(store=store, scheduler=policy)) as engine:
        engine.decide(ScheduleRequest(RequestSpec(Flavor(vcpus=1)), request_id="a"))
        engine.decide(ScheduleRequest(LONG, request_id="b"))
        assert engine.counts()["requests_unkept"] == 1
    with open_gantt(url, EngineOptions()) as other:
        latest, first = other.decisions()
        assert latest.request is None
        assert first.request == kept(RequestSpec(Flavor(vcpus=1)))
    with open_gantt(
        "memory://", EngineOptions(scheduler=replace(policy, record_request_bytes=0))
    ) as engine:
        engine.decide(ScheduleRequest(LONG))
        assert engine.decisions()[0].request is None
        assert engine.counts()["requests_unkept"] == 0
