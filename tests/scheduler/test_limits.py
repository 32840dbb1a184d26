"""What one request or statement may ask at once: every limit is named by its option."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import msgspec
import pytest
from msgspec.structs import replace

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import GanttError, Invalid, Refused
from gantt.model.diagnosis import some
from gantt.model.hosts import HostAggregate, HostStats, Instance, ServerGroup, Service
from gantt.model.spec import (
    Destination,
    Flavor,
    InstanceGroup,
    RequestLevel,
    RequestSpec,
    ResourceGroup,
    ScheduleRequest,
)
from gantt.scheduler.feasibility import overrides
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of
from gantt.scheduler.request.limits import MAX_FACTOR, TooMuch, check_request

SPEC = RequestSpec(Flavor(vcpus=1, memory_mb=1, root_gb=1))
OPTIONS = SchedulerOptions(
    max_request_groups=2,
    max_request_names=3,
    max_instances=2,
    max_statement=2,
    max_statement_hosts=3,
    kept_changes=2,
    max_shapes=2,
    capacity_per_host=5,
)
FOUR = frozenset("abcd")
MEMBERS = frozenset(str(UUID(int=one)) for one in range(4))
NIC = {"count": 1, "request_id": "r", "spec": [{"vendor_id": "8086"}]}
WITH_ALIASES = Flavor(1, 1, 1, extra_specs={"pci_passthrough:alias": "a:1,b:1,c:1"})
_MANY = frozenset(str(UUID(int=number)) for number in range(5_000))


def uuid(number: int) -> str:
    return str(UUID(int=number))


@pytest.fixture
def books() -> Iterator[Gantt]:
    with open_gantt("memory://", EngineOptions(scheduler=OPTIONS)) as books:
        books.update_service(Service("h"))
        books.update_host("h", "h", HostStats(vcpus=8, memory_mb=100, local_gb=100))
        yield books


@pytest.mark.parametrize(
    "more",
    [
        {"ignore_hosts": tuple(FOUR)},
        {"force_hosts": ("a", "b"), "force_nodes": ("a", "b")},
        {"retry_hosts": (("a", "b"),) * 4},
        {"scheduler_hints": {"same_host": ("a", "b"), "different_host": ("a", "b")}},
        {"requested_destination": Destination(aggregates=(FOUR,))},
        {"requested_destination": Destination(forbidden_aggregates=FOUR)},
        {"instance_group": InstanceGroup(members=MEMBERS)},
        {"instance_group": InstanceGroup(hosts=FOUR)},
        {"request_level_params": RequestLevel(root_required=FOUR)},
        {"request_level_params": RequestLevel(same_subtree=(FOUR,))},
        {"requested_resources": (ResourceGroup("_a", required_traits=FOUR),)},
        {"requested_resources": (ResourceGroup("_a", dict.fromkeys(FOUR, 1)),)},
    ],
)
def test_request_size_is_limited(more: Any) -> None:
    request = ScheduleRequest(replace(SPEC, **more))
    with pytest.raises(TooMuch) as caught:
        check_request(request, OPTIONS)
    assert "names 4 hosts" in caught.value.message
    assert "max_request_names of [scheduler]" in caught.value.message
    check_request(request, replace(OPTIONS, max_request_names=4))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda b: b.schedule(ScheduleRequest(SPEC, tuple(map(uuid, range(3))))),
            "3 instances were asked for; one request may ask for 1 to 2. Ask in parts, "
            "or raise max_instances of [scheduler].",
        ),
        (
            lambda b: b.schedule(
                ScheduleRequest(
                    replace(
                        SPEC,
                        requested_resources=tuple(
                            ResourceGroup(f"_{n}", {"VCPU": 1}) for n in range(3)
                        ),
                    )
                )
            ),
            "The request has 3 request groups; 2 is the limit. Ask for fewer, or raise "
            "max_request_groups of [scheduler].",
        ),
        (
            lambda b: b.schedule(
                ScheduleRequest(replace(SPEC, pci_requests=3 * (NIC,)))
            ),
            "The request has 3 PCI requests; 2 is the limit, as of request groups.",
        ),
        (
            lambda b: b.schedule(ScheduleRequest(replace(SPEC, flavor=WITH_ALIASES))),
            "The request has 3 PCI requests; 2 is the limit, as of request groups.",
        ),
        (
            lambda b: b.set_host_aggregates(HostAggregate(uuid(n)) for n in range(3)),
            "3 aggregates were named at once; 2 is the limit. Name fewer at a time, or "
            "raise max_statement of [scheduler].",
        ),
        (
            lambda b: b.set_host_aggregates([HostAggregate(uuid(1), hosts=FOUR)]),
            "Aggregates with 4 hosts were named at once; 3 is the limit. Name fewer "
            "aggregates at a time, or raise max_statement_hosts of [scheduler].",
        ),
        (
            lambda b: b.update_instances("h", (Instance(uuid(n)) for n in range(3))),
            "3 instances were named at once; 2 is the limit.",
        ),
        (
            lambda b: b.sync_instances("h", map(uuid, range(3))),
            "3 instances were named at once; 2 is the limit.",
        ),
        (
            lambda b: b.set_server_group(ServerGroup(uuid(1), members=MEMBERS)),
            "4 members were named at once; 2 is the limit.",
        ),
        (
            lambda b: b.update_host("h", "h", HostStats(traits=("A", "B", "C"))),
            "3 traits were named at once; 2 is the limit.",
        ),
    ],
)
def test_excess_is_refused_and_counted(books: Gantt, ask: Any, words: str) -> None:
    with pytest.raises(TooMuch) as caught:
        ask(books)
    assert caught.value.message.startswith(words)
    assert books.counts()["over_limits"] == 1


def test_flavor_groups_count_towards_the_limit(books: Gantt) -> None:
    specs = {f"resources{n}:VCPU": "1" for n in range(3)} | {"group_policy": "none"}
    spec = replace(SPEC, flavor=replace(SPEC.flavor, extra_specs=specs))
    with pytest.raises(Invalid, match="has 3 request groups; 2 is the limit"):
        books.schedule(ScheduleRequest(spec))


def test_cache_sizes_are_configurable(books: Gantt) -> None:
    for vcpus in range(1, 5):
        books.schedule(ScheduleRequest(replace(SPEC, flavor=Flavor(vcpus=vcpus))))
    counts = books.counts()
    assert counts["shapes_kept"] == counts["shapes_limit"] == 2
    assert counts["changes_limit"] == 2


def test_capacity_count_is_bounded(books: Gantt) -> None:
    assert books.capacity(RequestSpec(Flavor(memory_mb=1))).total == 5


@pytest.mark.parametrize("factor", [math.nan, math.inf, -math.inf, 1e201, "x"])
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("ram_weight_multiplier", lambda f: {"multipliers": {_RAM: f}}),
        ("image_props_weight_setting", lambda f: {_IMAGE: {"os": f}}),
        ("weight_setting", lambda f: {"metrics_weight_setting": {"m": f}}),
        (
            "weight_of_unavailable",
            lambda f: {"metrics_weight_of_unavailable": f},
        ),
    ],
)
def test_factors_must_be_numbers(option: str, value: Any, factor: Any) -> None:
    with pytest.raises(Refused, match=option):
        policy_of(SchedulerOptions(**value(factor)))


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e400", "1e300", "x", ""])
def test_invalid_override_is_logged_once_and_ignored(
    books: Gantt, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    assert overrides.least((text, "1")) is None
    metadata = {"ram_weight_multiplier": text, "cpu_allocation_ratio": "2.0"}
    with caplog.at_level(logging.WARNING):
        books.set_host_aggregates(
            [HostAggregate(uuid(1), "fast", hosts=frozenset("h"), metadata=metadata)]
        )
    (told,) = (one.getMessage() for one in caplog.records if "fast" in one.getMessage())
    assert "ram_weight_multiplier" in told
    assert "cpu_allocation_ratio" not in told
    decision = books.decide(ScheduleRequest(SPEC))
    assert decision.failure is None


def test_overrides_within_the_limit_are_used() -> None:
    assert overrides.least((str(MAX_FACTOR), "3")) == 3.0
    assert overrides.unread({"ram_weight_multiplier": "2", "x": "nan"}) == []


_RAM = "ram_weight_multiplier"
_IMAGE = "image_props_weight_setting"


# -- answers stay short -----------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        {"requested_destination": Destination(aggregates=(_MANY,))},
        {
            "requested_destination": Destination(
                aggregates=tuple(frozenset((one,)) for one in _MANY)
            )
        },
        {"requested_destination": Destination(forbidden_aggregates=_MANY)},
        {
            "requested_resources": (
                ResourceGroup("_a", {"VCPU": 1}, aggregates=(_MANY,)),
            )
        },
        {"requested_resources": (ResourceGroup("", dict.fromkeys(_MANY, 1)),)},
        {"force_hosts": tuple(_MANY)},
        {"flavor": Flavor(vcpus=1, extra_specs={"resources:" + "x" * 60_000: "1"})},
        {"flavor": Flavor(vcpus=1, extra_specs={"trait:HW": "x" * 60_000})},
    ],
)
def test_refusal_of_a_large_request_is_short(more: Any) -> None:
    with open_gantt(
        "memory://", EngineOptions(scheduler=SchedulerOptions(use_placement="always"))
    ) as books:
        books.update_service(Service("h"))
        books.update_host("h", "h", HostStats(vcpus=8, memory_mb=1, local_gb=0))
        with pytest.raises(GanttError) as caught:
            books.schedule(ScheduleRequest(replace(SPEC, **more), ("i",)))
    assert len(caught.value.message) < 5_000
    why = getattr(caught.value, "why", None)
    assert len(msgspec.json.encode(why)) < 50_000


def test_long_lists_are_abridged() -> None:
    assert some("abc") == ("a", "b", "c")
    assert some(map(str, range(13)))[9:] == ("9", "3 more")
