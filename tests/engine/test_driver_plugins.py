"""Drivers of other packages run as filters and weighers do: with no lock held, with a
time limit, in a bounded set of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from gantt.errors import Busy, NoValidHost, PluginFailed
from gantt.model.advice import AdviceHost, AdviceRequest
from gantt.model.hosts import ServerGroup, Service
from gantt.model.spec import Flavor, InstanceGroup
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from tests.engine.hooks import (
    HOSTS,
    Fleet,
    Gate,
    begins_anew,
    counted_by_itself,
    fails,
    hook,
    never_stay,
    once,
    others_go_on,
    policy,
    resumed,
    suspended,
)
from tests.engine.test_scheduling import ask, report
from tests.scheduler.choosers import install_told, named
from tests.waiting import until


def options(**more: Any) -> SchedulerOptions:
    return policy(driver="told", **more)


def best(hosts: Hosts, weights: Any, count: int, _seed: int) -> list[Any]:
    hook(hosts)
    return [np.argsort(-weights, kind="stable")] * count


@pytest.fixture(autouse=True)
def _hooked(monkeypatch: pytest.MonkeyPatch) -> None:
    install_told(monkeypatch, best)


# -- locks and time --------------------------------------------------------------------


def test_reads_writes_searches_and_claims_go_on_while_it_blocks(
    open_fleet: Fleet,
) -> None:
    engine = open_fleet(options())
    others_go_on(engine, Gate())


def test_it_may_read_the_books_itself(open_fleet: Fleet) -> None:
    engine = open_fleet(options())
    counts = counted_by_itself(engine)
    engine.schedule(ask(count=2))
    engine.decide(ask())
    assert counts == [len(HOSTS)] * 2


def test_a_call_that_blocks_fails_its_request_and_suspends_the_driver(
    open_fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    engine = open_fleet(options(plugin_time_limit_s=0.05))
    gate = Gate()
    suspended(engine, "The driver told, .*")
    # Where an operator chose the host, it is not needed.
    assert engine.schedule(ask(force_hosts=("b",)))[0][0].service_host == "b"
    resumed(engine, gate, "The driver told, .*", caplog)


def test_threads_are_bounded_together_with_those_of_filters(open_fleet: Fleet) -> None:
    wanted = options(plugin_time_limit_s=0.05, plugin_threads=1)
    engine = open_fleet(wanted)
    gate = Gate()
    with pytest.raises(PluginFailed, match="did not return"):
        engine.schedule(ask())
    # Made anew it is not suspended, but there is no thread left.
    engine.decide_by(options(plugin_time_limit_s=1.0, plugin_threads=1))
    with pytest.raises(PluginFailed, match=r"told, .*not called: all 1 threads"):
        engine.schedule(ask())
    gate.open()
    until(lambda: engine.counts()["plugin_threads_blocked"] == 0)
    assert engine.schedule(ask())


def test_one_that_raises_fails_its_request_by_name(open_fleet: Fleet) -> None:
    engine = open_fleet(options())
    fails("no such row")
    with pytest.raises(PluginFailed, match="driver told, .* failed in choose: Key"):
        engine.schedule(ask())
    record = engine.decisions()[0]
    assert (record.driver, record.chosen) == ("told", ())
    assert "no such row" in (record.failure or "")
    assert not engine.read(lambda state: state.fleet.claims.by_instance)


# -- what changes meanwhile ------------------------------------------------------------


def test_a_decision_goes_on_after_writes(open_fleet: Fleet) -> None:
    engine = open_fleet(options())

    def write(_seen: object) -> None:
        report(engine, "b", vcpus=64)
        report(engine, "new")

    once(write)
    found = engine.decide(ask())
    assert {one.host for one in found.scores} == set(HOSTS)
    assert hook.calls == 1


def test_a_decision_begins_anew_when_a_host_is_gone(open_fleet: Fleet) -> None:
    engine = open_fleet(options())
    begins_anew(engine)


def test_hosts_that_never_stay_end_a_decision(open_fleet: Fleet) -> None:
    engine = open_fleet(options())
    never_stay(engine)
    with pytest.raises(Busy, match="removed or moved 11 times"):
        engine.decide(ask())


def test_a_host_that_fills_up_meanwhile_is_not_claimed(open_fleet: Fleet) -> None:
    engine = open_fleet(options(), None)
    chosen = engine.schedule(ask())[0][0].service_host
    once(lambda _seen: report(engine, chosen, vcpus=1, memory_mb=1024))
    assert engine.schedule(ask())[0][0].service_host != chosen


# -- what it decides -------------------------------------------------------------------


def test_its_order_gives_host_and_alternates(
    open_fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_told(monkeypatch, named("c a b"))
    engine = open_fleet(options())
    ((chosen, *others),) = engine.schedule(ask())
    assert [one.service_host for one in (chosen, *others)] == ["c", "a", "b"]
    record = engine.decisions()[0]
    assert record.driver == "told"
    assert record.steps[-1].name == "driver told"


def test_instances_go_where_it_says(
    open_fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_told(monkeypatch, named("b", "b a", "a"))
    engine = open_fleet(options(use_placement="always"))
    found = engine.schedule(ask(count=3))
    assert [row[0].service_host for row in found] == ["b", "b", "a"]
    assert {one.service_host for row in found for one in row[1:]} <= {"a", "b"}


def test_members_of_a_group_are_kept_apart(
    open_fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_told(monkeypatch, named(*["c a b"] * 3))
    filters = ("ComputeFilter", "ServerGroupAntiAffinityFilter")
    engine = open_fleet(replace(options(), enabled_filters=filters))
    uuid = "5fa8a2f4-29f8-4b8f-a3b6-5b1b7f0f5c11"
    engine.set_server_group(ServerGroup(uuid, "apart", "anti-affinity"))
    group = InstanceGroup(uuid, "anti-affinity")
    found = engine.schedule(ask(count=3, instance_group=group))
    assert [row[0].service_host for row in found] == ["c", "a", "b"]


def test_explanations_name_it(
    open_fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_told(monkeypatch, lambda h, w, count, _: [np.zeros(0, np.int64)] * count)
    engine = open_fleet(options())
    found = engine.decide(ask())
    assert (found.failure, found.chosen) == ("No valid host was found.", ())
    assert found.why is not None
    assert (found.why.steps[-1].name, found.why.steps[-1].after) == ("driver told", 0)
    with pytest.raises(NoValidHost):
        engine.schedule(ask())


def test_refusals_name_the_same_change_as_without_it(open_fleet: Fleet) -> None:
    changes = []
    for wanted in (policy(), options()):
        engine = open_fleet(wanted)
        huge = Flavor(vcpus=64, memory_mb=1024, root_gb=10)
        whys = [engine.decide(ask(flavor=huge)).why]
        for host in HOSTS:
            engine.update_service(Service(host, disabled=True))
        whys.append(engine.decide(ask()).why)
        changes.append([one.change for one in whys if one is not None])
    ours, with_a_driver = changes
    assert ours == with_a_driver
    assert "VCPU" in (ours[0] or "")
    assert ours[1] == "take ComputeFilter out of enabled_filters"
    assert hook.calls > 0


def test_a_record_has_hosts_in_its_order(
    open_fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_told(monkeypatch, named("b c"))
    engine = open_fleet(options(weighers=("HookedWeigher",)))
    found = engine.decide(ask())
    assert [one.host for one in found.scores] == ["b", "c"]


def test_advice_follows_it(open_fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    install_told(monkeypatch, named("c a"))
    engine = open_fleet(options())
    hosts = tuple(AdviceHost(one, one) for one in HOSTS)
    found = engine.advise(AdviceRequest(ask().spec, hosts))
    assert found.decided, found.why
    assert [one.host for one in found.hosts] == ["c", "a", "b"]
    assert [one.weight for one in found.hosts] == [2.0, 1.0, None]
    assert found.hosts[-1].refused_by == "driver told"
