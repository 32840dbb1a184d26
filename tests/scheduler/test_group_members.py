"""Members of a server group that are known here, as filters, weighers and drivers of
other packages read them of a request: a weigher that spreads over racks, say."""

from __future__ import annotations

import sys
import uuid as uuids
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec.structs import replace

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Refused
from gantt.model.hosts import ServerGroup
from gantt.model.spec import InstanceGroup, ScheduleRequest
from gantt.scheduler.contract import Cacheable, Chooser, Filter, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from gantt.scheduler.plugins.guards import GuardedFilter
from gantt.state.column import Bools, Floats, Int64s
from tests.guides.guide import shown
from tests.scheduler.choosers import install
from tests.scheduler.test_capacity import report, spec_of

GROUP = str(uuids.uuid5(uuids.NAMESPACE_OID, "group"))
SEEN: list[tuple[str, frozenset[str], frozenset[str]]] = []
RACKS = {f"h{number}": number // 2 for number in range(8)}


def note(who: str, request: Request) -> None:
    group = request.spec.instance_group
    if group is not None:
        SEEN.append((who, group.members, group.hosts))


class NotingFilter(Filter):
    def mask(self, hosts: Hosts, request: Request) -> Bools:
        note("filter", request)
        return np.ones(len(hosts), np.bool_)


class RackWeigher(Weigher):
    """Racks without a member first; without members all are alike."""

    cacheable = Cacheable(needs=(), reads=("instance_group",))

    def is_neutral(self, request: Request) -> bool:
        group = request.spec.instance_group
        return group is None or not group.hosts

    def score(self, hosts: Hosts, request: Request) -> Floats:
        note("weigher", request)
        group = request.spec.instance_group
        assert group is not None
        used = {RACKS[host] for host in group.hosts}
        return np.array([-100.0 * (RACKS[name] in used) for name in hosts.names])


class NotingDriver(Chooser):
    def choose(
        self, hosts: Hosts, weights: Floats, request: Request, *, count: int, seed: int
    ) -> list[Int64s]:
        note("driver", request)
        return [np.argsort(-weights, kind="stable")] * count


@pytest.fixture(params=["caching", "filter", "noting"])
def engine(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Gantt]:
    SEEN.clear()
    install(monkeypatch, "noting", f"{__name__}:NotingDriver")
    options = SchedulerOptions(
        driver=request.param,
        enabled_filters=(*DEFAULT_FILTERS, "NotingFilter"),
        available_filters=(
            *SchedulerOptions().available_filters,
            f"{__name__}.NotingFilter",
        ),
        weight_classes=(
            *SchedulerOptions().weight_classes,
            f"{__name__}.RackWeigher",
        ),
    )
    with open_gantt("memory://", EngineOptions(scheduler=options)) as found:
        for host in RACKS:
            report(found, host, host)
        yield found


def joined(engine: Gantt, count: int = 1, **said: object) -> dict[str, str]:
    """Host by instance of so many new members."""
    group = InstanceGroup(GROUP, **said)  # type: ignore[arg-type]
    names = tuple(str(uuids.uuid4()) for _ in range(count))
    spec = replace(spec_of(instance_group=group), num_instances=count)
    found = engine.schedule(ScheduleRequest(spec, names))
    return {
        name: one.service_host for name, (one, *_) in zip(names, found, strict=True)
    }


def test_members_that_were_claimed_are_there(engine: Gantt) -> None:
    first = joined(engine) | joined(engine)
    SEEN.clear()
    joined(engine)
    asked = {who for who, *_ in SEEN}
    assert {"filter", "weigher"} <= asked
    for _, members, hosts in SEEN:
        assert members == frozenset(first)
        assert hosts == frozenset(first.values())


def test_members_that_the_caller_or_nova_told_are_there(engine: Gantt) -> None:
    claimed, told, named = joined(engine), str(uuids.uuid4()), str(uuids.uuid4())
    engine.set_server_group(
        ServerGroup(GROUP, "g", "soft-anti-affinity", 1, frozenset({told}))
    )
    SEEN.clear()
    joined(engine, members=frozenset({named}), hosts=frozenset({"h7"}))
    for _, members, hosts in SEEN:
        assert members == claimed.keys() | {told, named}
        assert hosts == {*claimed.values(), "h7"}


def test_those_picked_for_the_same_request_are_there(engine: Gantt) -> None:
    found = joined(engine, 4)
    if "driver" not in {who for who, *_ in SEEN}:  # a driver is asked once for all
        assert len({RACKS[host] for host in found.values()}) == 4


def test_one_after_the_other_are_spread_over_racks(engine: Gantt) -> None:
    hosts = [host for _ in range(4) for host in joined(engine).values()]
    assert len({RACKS[host] for host in hosts}) == 4


def test_the_weigher_of_the_guide_reads_members_and_domains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (block,) = [one for one in shown("spread") if one.language == "python"]
    written: dict[str, object] = {"__name__": "rack"}
    exec(block.text, written)
    monkeypatch.setitem(sys.modules, "rack", SimpleNamespace(**written))
    options = SchedulerOptions(weight_classes=("rack.RackWeigher",))
    with open_gantt("memory://", EngineOptions(scheduler=options)) as engine:
        for host, rack in RACKS.items():
            report(engine, host, host)
            engine.label_host(host, {"rack": f"r{rack}"})
        group = str(uuids.uuid4())
        engine.set_server_group(ServerGroup(group, policy="soft-affinity"))
        hosts = [
            engine.schedule(
                ScheduleRequest(
                    spec_of(instance_group=InstanceGroup(group)), (str(uuids.uuid4()),)
                )
            )[0][0].service_host
            for _ in range(4)
        ]
    assert len({RACKS[host] for host in hosts}) == 4


@pytest.mark.parametrize("read", ["", ".members", ".hosts"])
def test_what_is_kept_cannot_hang_on_members(read: str) -> None:
    class Kept(NotingFilter):
        cacheable = Cacheable(
            needs=(), reads=(f"instance_group{read}",), elementwise=True
        )

    with pytest.raises(Refused, match="members of a group come and go"):
        GuardedFilter("kept", Kept())


def test_what_the_request_says_of_its_group_can_be_kept() -> None:
    class Kept(NotingFilter):
        cacheable = Cacheable(
            needs=(), reads=("instance_group.policy",), elementwise=True
        )

    GuardedFilter("kept", Kept())
