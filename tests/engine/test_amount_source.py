"""The switch from reports to the books, and what the committer holds of what was picked
by."""

from __future__ import annotations

import uuid as uuids
from pathlib import Path

import pytest

from gantt.engine.factory import open_gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Invalid, NoValidHost
from gantt.model.hosts import HostStats, Service
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ScheduleRequest
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import StoreOptions
from tests.engine.test_scheduling import ask, held, report

CREATING = EngineOptions(store=StoreOptions(create=True))


def test_switch_to_inventories_survives_a_restart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/gantt.db"
    with open_gantt(url, CREATING) as engine:
        report(engine, "a")
        engine.schedule(ask(count=4))
        # One that has reported nothing to have: reports could not decide for it.
        engine.update_host("b", "b", HostStats(host_ip="10.0.0.1"))
    with open_gantt(url) as engine:
        with pytest.raises(NoValidHost):
            engine.schedule(ask())
        assert held(engine)["a"] == 4


def test_earlier_claims_are_allocated_after_the_switch() -> None:
    with open_gantt("memory://") as engine:
        engine.update_host("late", "late", HostStats(host_ip="10.0.0.1"))
        report(engine, "a")
        found = engine.schedule(ask(count=3))
        assert {one[0].service_host for one in found} == {"a"}
        assert held(engine)["a"] == 0
        engine.delete_host("late", "late")
        engine.schedule(ask())
        assert held(engine)["a"] == 4
        with pytest.raises(NoValidHost):
            engine.schedule(ask())
        claim = found[0][0].claim
        assert claim is not None
        engine.release_claim(claim)
        assert held(engine)["a"] == 1
        assert engine.verify().problems == ()


def test_forced_hosts_are_checked_for_capacity_only() -> None:
    group = InstanceGroup(str(uuids.uuid4()), "anti-affinity", 1)
    with open_gantt("memory://") as engine:
        report(engine, "a")
        engine.update_service(Service("a", disabled=True))
        for _ in range(2):
            found = engine.schedule(ask(force_hosts=("a",), instance_group=group))
            assert found[0][0].service_host == "a"


def test_group_policy_is_not_enforced_without_its_filter() -> None:
    """As in Nova; Gantt's own doors refuse such a request."""
    options = SchedulerOptions(
        enabled_filters=("AllHostsFilter",), names_are_checked=True
    )
    group = InstanceGroup(str(uuids.uuid4()), "anti-affinity", 1)
    with open_gantt("memory://", EngineOptions(scheduler=options)) as engine:
        report(engine, "a")
        for _ in range(2):
            engine.schedule(ask(instance_group=group))
        assert held(engine)["a"] == 2


def test_chance_driver_enforces_server_groups() -> None:
    options = EngineOptions(scheduler=SchedulerOptions(driver="chance"))
    group = InstanceGroup(str(uuids.uuid4()), "anti-affinity", 1)
    with open_gantt("memory://", options) as engine:
        for number in range(4):
            report(engine, f"h{number}")
        for _ in range(4):
            engine.schedule(ask(instance_group=group))
        assert held(engine) == {f"h{number}": 1 for number in range(4)}


def test_every_decision_is_recorded() -> None:
    with open_gantt("memory://") as engine:
        report(engine, "a")
        spec = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=512))
        engine.schedule(ScheduleRequest(spec, request_id="unnamed"))
        (record,) = engine.decisions(request_id="unnamed")
        assert record.chosen[0][0].service_host == "a"
        with pytest.raises(NoValidHost):
            engine.schedule(ask(flavor=Flavor(vcpus=99)))
        record = engine.decisions()[0]
        assert record.failure is not None
        assert record.revision == engine.revision


def test_request_for_too_many_instances_names_the_limit() -> None:
    with open_gantt("memory://") as engine:
        report(engine, "a")
        spec = RequestSpec(flavor=Flavor(vcpus=1), num_instances=2**31 - 1)
        with pytest.raises(Invalid, match="max_instances"):
            engine.decide(ScheduleRequest(spec))
