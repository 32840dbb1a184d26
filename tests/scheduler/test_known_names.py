"""Names in a request that no part of the fleet has: refused with those that there are
at Gantt's own doors, and as Nova has them where Nova's API has judged them."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Invalid, NoValidHost
from gantt.model.hosts import HostAggregate, ServerGroup, Service
from gantt.model.spec import (
    Destination,
    InstanceGroup,
    RequestSpec,
    ResourceGroup,
    ScheduleRequest,
)
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from gantt.scheduler.plugins.guards import GuardedFilter
from tests.scheduler.test_capacity import report, spec_of
from tests.scheduler.test_group_members import NotingFilter

NORTH = str(uuids.uuid5(uuids.NAMESPACE_OID, "north"))
GROUP = str(uuids.uuid5(uuids.NAMESPACE_OID, "group"))
OTHER = str(uuids.uuid5(uuids.NAMESPACE_OID, "other"))
CELL = str(uuids.uuid5(uuids.NAMESPACE_OID, "cell"))
Door = Callable[[Gantt, RequestSpec], Any]


def opened(**options: Any) -> Gantt:
    engine = open_gantt(
        "memory://", EngineOptions(scheduler=SchedulerOptions(**options))
    )
    for host in ("a", "b"):
        report(engine, host, host)
    engine.set_host_aggregates(
        (
            HostAggregate(
                NORTH, "north", None, frozenset({"a"}), {"availability_zone": "north"}
            ),
        )
    )
    engine.set_server_group(ServerGroup(GROUP, "g", "anti-affinity"))
    return engine


@pytest.fixture
def engine() -> Iterator[Gantt]:
    with opened() as found:
        yield found


def _request(spec: RequestSpec, **more: Any) -> ScheduleRequest:
    return ScheduleRequest(spec, (str(uuids.uuid4()),), **more)


DOORS: dict[str, Door] = {
    "schedule": lambda engine, spec: engine.schedule(_request(spec)),
    "schedule, nothing claimed": lambda engine, spec: engine.schedule(
        ScheduleRequest(spec)
    ),
    "dry run": lambda engine, spec: engine.decide(_request(spec)),
    "capacity": lambda engine, spec: engine.capacity(spec),
    "fair split": lambda engine, spec: engine.fair_split((spec,)),
    "prices": lambda engine, spec: engine.rule_prices(spec),
    "runs out": lambda engine, spec: engine.runs_out((spec,)),
}
UNKNOWN: dict[str, tuple[dict[str, Any], str]] = {
    "zone": (
        {"availability_zone": "nroth"},
        "availability zone 'nroth' is not known here: there is north, nova",
    ),
    "case of a zone": ({"availability_zone": "North"}, "there is north, nova"),
    "space in a zone": ({"availability_zone": "north "}, "there is north, nova"),
    "group": (
        {"scheduler_hints": {"group": (OTHER,)}},
        f"server group '{OTHER}' is not known here: 'gantt server-group list'",
    ),
    "hint": (
        {"scheduler_hints": {"different_hots": (OTHER,)}},
        "scheduler hint 'different_hots' is not known here: there is .*different_host",
    ),
    "hint that nothing reads": (
        {"scheduler_hints": {"different_host": (OTHER,)}},
        "hint 'different_host' limits nothing here: DifferentHostFilter reads it",
    ),
    "network that nothing reads": (
        {"scheduler_hints": {"build_near_host_ip": ("10.0.0.1",), "cidr": ("/24",)}},
        "limits nothing here: SimpleCIDRAffinityFilter reads it, which is not among",
    ),
    "group of the request": (
        {"instance_group": InstanceGroup(OTHER, members=frozenset({NORTH}))},
        f"server group '{OTHER}' is not known here: .*; a new one needs a policy",
    ),
    "members of no group": (
        {"instance_group": InstanceGroup(members=frozenset({NORTH}))},
        "neither a policy nor the uuid of a group that is known",
    ),
    "hosts of no group": (
        {"instance_group": InstanceGroup(hosts=frozenset({"a"}))},
        "neither a policy nor the uuid of a group that is known",
    ),
    "extra spec": (
        {"extra_specs": {"hw:cpu_polcy": "dedicated"}},
        "extra spec 'hw:cpu_polcy' is not known, and limits nothing: 'hw:cpu_policy' i",
    ),
    "aggregate": (
        {"requested_destination": Destination(aggregates=(frozenset({OTHER}),))},
        f"aggregate '{OTHER}' is not known here: 'gantt aggregate list' lists",
    ),
    "forbidden aggregate": (
        {"requested_destination": Destination(forbidden_aggregates=frozenset({OTHER}))},
        f"aggregate '{OTHER}' is not known here",
    ),
    "aggregate of a group": (
        {
            "requested_resources": (
                ResourceGroup("x", {"VCPU": 1}, aggregates=(frozenset({OTHER}),)),
            )
        },
        f"aggregate '{OTHER}' is not known here",
    ),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize(("fields", "says"), UNKNOWN.values(), ids=UNKNOWN)
def test_each_door_refuses_what_is_unknown(
    engine: Gantt, fields: dict[str, Any], says: str, door: Door
) -> None:
    with pytest.raises(Invalid, match=says):
        door(engine, spec_of(**fields))
    assert engine.capacity(spec_of()).total == 8  # nothing was claimed


@pytest.mark.parametrize(
    "fields",
    [
        {"availability_zone": "north"},
        {"availability_zone": "nova"},
        {"availability_zone": None},
        {"availability_zone": ""},
        {"scheduler_hints": {"group": (GROUP,), "_nova_check_type": ("resize",)}},
        {"requested_destination": Destination(aggregates=(frozenset({NORTH}),))},
        {"instance_group": InstanceGroup(GROUP)},
        {"instance_group": InstanceGroup(OTHER, "anti-affinity")},
        {"instance_group": InstanceGroup()},
        {"extra_specs": {"hw:wrs:shared_vcpu": "1"}},
        {"ignore_hosts": ("gone",)},  # a host that was deleted needs no leaving out
        {"force_hosts": ("A",)},
    ],
)
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_what_is_known_passes(
    engine: Gantt, fields: dict[str, Any], door: Door
) -> None:
    door(engine, spec_of(**fields))


def test_the_default_zone_is_unlimited() -> None:
    with opened(default_availability_zone="home") as engine:
        assert engine.capacity(spec_of(availability_zone="home")).hosts.keys() == {
            *"ab"
        }
        with pytest.raises(Invalid, match="there is home, north"):
            engine.capacity(spec_of(availability_zone="nova"))


@pytest.mark.parametrize("named", [("gone",), ("a", "gone")])
def test_a_forced_host_must_be_there(engine: Gantt, named: tuple[str, ...]) -> None:
    with pytest.raises(NoValidHost, match="No such host - host: gone"):
        engine.schedule(_request(spec_of(force_hosts=named)))


def test_a_cell_must_be_there_where_cells_are_known(engine: Gantt) -> None:
    asked = spec_of(requested_destination=Destination(cell_uuid=OTHER))
    assert engine.capacity(asked).total  # hosts of which no cell is known are in any
    engine.update_service(Service("a", cell_uuid=CELL))
    with pytest.raises(Invalid, match=f"cell '{OTHER}' is not known here"):
        engine.capacity(asked)


@pytest.mark.parametrize("fields", [one for one, _ in list(UNKNOWN.values())[:11]])
def test_where_nova_has_judged_them_they_mean_what_they_do_there(
    fields: dict[str, Any],
) -> None:
    with opened(names_are_checked=True) as engine:
        assert engine.capacity(spec_of(**fields)).hosts.keys() == {*"ab"}


def test_a_filter_of_another_package_may_read_any_hint() -> None:
    name = f"{NotingFilter.__module__}.{NotingFilter.__name__}"
    available = (*SchedulerOptions().available_filters, name)
    enabled = (*DEFAULT_FILTERS, NotingFilter.__name__)
    assert GuardedFilter("noting", NotingFilter()).cacheable is None
    with opened(available_filters=available, enabled_filters=enabled) as engine:
        hints = {"rack": ("r7",)}
        assert engine.capacity(spec_of(scheduler_hints=hints)).total


def test_hints_whose_filters_are_enabled_are_read() -> None:
    more = ("DifferentHostFilter", "SameHostFilter", "SimpleCIDRAffinityFilter")
    with opened(enabled_filters=(*DEFAULT_FILTERS, *more)) as engine:
        for hint in ("same_host", "different_host"):
            engine.capacity(spec_of(scheduler_hints={hint: (OTHER,)}))
            with pytest.raises(Invalid, match=f"{hint} must name instances by their"):
                engine.capacity(spec_of(scheduler_hints={hint: (OTHER, "job-2")}))
        with pytest.raises(Invalid, match="hint 'query' limits nothing"):
            engine.capacity(spec_of(scheduler_hints={"query": ("[]",)}))


@pytest.mark.parametrize("policy", ["affinity", "anti-affinity"])
def test_a_policy_whose_filter_is_not_enabled(policy: str) -> None:
    told = {"affinity": "ServerGroupAffinity", "anti-affinity": "ServerGroupAnti"}
    asked: list[dict[str, Any]] = [
        {"instance_group": InstanceGroup(OTHER, policy)},
        {"instance_group": InstanceGroup(GROUP)},
        {"scheduler_hints": {"group": (GROUP,)}},
    ]
    with opened(enabled_filters=("ComputeFilter",)) as engine:
        engine.set_server_group(ServerGroup(GROUP, "g", policy))
        for fields in asked:
            says = f"policy {policy} .* nothing here: {told[policy]}"
            with pytest.raises(Invalid, match=says):
                engine.capacity(spec_of(**fields))
        soft = InstanceGroup(OTHER, f"soft-{policy}")
        assert engine.capacity(spec_of(instance_group=soft)).total


def test_a_plug_in_may_make_something_of_any_group() -> None:
    name = f"{NotingFilter.__module__}.{NotingFilter.__name__}"
    available = (*SchedulerOptions().available_filters, name)
    enabled = (*DEFAULT_FILTERS, NotingFilter.__name__)
    for filters in (enabled, (*DEFAULT_FILTERS, "GroupAntiAffinityFilter")):
        with opened(available_filters=available, enabled_filters=filters) as engine:
            group = InstanceGroup(OTHER, members=frozenset({NORTH}))
            assert engine.capacity(spec_of(instance_group=group)).total
