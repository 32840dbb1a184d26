"""Guards of plug-ins pass on all that a filter, a weigher and a driver can be asked."""

from __future__ import annotations

import inspect
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest

from gantt.engine.gantt import Gantt
from gantt.engine.opening import open_gantt
from gantt.engine.options import EngineOptions
from gantt.errors import PluginFailed, Refused
from gantt.model.hosts import HostStats, Service
from gantt.model.selection import Why
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.cache.driver import CachingDriver
from gantt.scheduler.contract import Filter, Weigher
from gantt.scheduler.drivers.chance import ChanceDriver
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.drivers.filter import FilterDriver
from gantt.scheduler.feasibility.candidates import REPORT_SOURCE
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins import drivers
from gantt.scheduler.plugins.drivers import GuardedDriver, driver_of
from gantt.scheduler.plugins.guards import GuardedFilter, GuardedWeigher
from gantt.scheduler.policy import policy_of
from tests.scheduler.desk import Desk

POLICY = policy_of(SchedulerOptions())


def _public(of: type) -> dict[str, Any]:
    """Methods and properties that are asked from outside."""
    return {
        name: member
        for name, member in vars(of).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or isinstance(member, property))
    }


@pytest.mark.parametrize(
    ("contract", "guard"),
    [(Driver, GuardedDriver), (Filter, GuardedFilter), (Weigher, GuardedWeigher)],
)
def test_guard_forwards_every_method_and_property(contract: type, guard: type) -> None:
    asked = _public(contract)
    assert asked
    assert asked.keys() <= vars(guard).keys()


@pytest.mark.parametrize("contract", [Filter, Weigher])
def test_guard_has_every_attribute(contract: type) -> None:
    values: dict[str, Any] = {
        name: value
        for name, value in vars(contract).items()
        if not name.startswith("_") and isinstance(value, bool | int | float | str)
    }
    assert values
    for name, usual in values.items():
        unusual: Any = "else" if isinstance(usual, str) else not usual
        ask = {"mask": lambda *_: None, "score": lambda *_: None, name: unusual}
        plugin = type("Theirs", (contract,), ask)()
        guarded: Any = (
            GuardedFilter("theirs", plugin)
            if contract is Filter
            else GuardedWeigher("theirs", plugin)
        )
        assert getattr(guarded, name) == unusual, name


@pytest.mark.parametrize(
    "name", [name for name, one in _public(Driver).items() if inspect.isfunction(one)]
)
def test_guard_calls_the_driver(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[str, dict[str, object]]] = []
    desk = Desk(1)
    desk.add_hosts(2)
    driver = FilterDriver(POLICY)
    spec = RequestSpec(flavor=Flavor(vcpus=1))
    how: dict[str, Any] = {
        "now": desk.now,
        "source": REPORT_SOURCE,
        "budget": Budget(),
        "is_trial": True,
    }
    known = {
        "state": desk.state,
        "spec": spec,
        "name": "ComputeFilter",
        **how,
    }
    method = getattr(driver, name)
    wanted = {each: known[each] for each in inspect.signature(method).parameters}

    def spy(*given: object, **named: object) -> object:
        bound = inspect.signature(method).bind(*given, **named)
        heard.append((name, dict(bound.arguments)))
        driver.hits = 7
        return method(*given, **named)

    monkeypatch.setattr(driver, name, spy)
    guarded = GuardedDriver("theirs", driver)
    assert getattr(guarded, name)(**wanted) is not None
    assert heard == [(name, wanted)]
    assert guarded.hits == 7
    assert guarded.policy is driver.policy


class Theirs(CachingDriver):
    """Ours, as of another package."""


class TheirChance(ChanceDriver):
    """Ours, with filters of its own."""


def _install(monkeypatch: pytest.MonkeyPatch, made: type) -> None:
    entry = EntryPoint("theirs", f"{__name__}:{made.__name__}", "gantt.drivers")

    def found(*, group: str) -> list[EntryPoint]:
        return [entry] if entry.group == group else []

    monkeypatch.setattr(drivers, "entry_points", found)


def _fleet(driver: str) -> Gantt:
    options = SchedulerOptions(driver=driver, use_placement="never")
    engine = open_gantt("memory://", EngineOptions(scheduler=options))
    for host, vcpus in (("a", 2), ("b", 8)):
        stats = HostStats(
            vcpus=vcpus,
            memory_mb=4096,
            local_gb=100,
            free_ram_mb=4096,
            free_disk_gb=100,
            cpu_allocation_ratio=1.0,
        )
        engine.update_host(host, host, stats)
    engine.update_service(Service("b", disabled=True))
    return engine


def _advice(driver: str, plugin: type, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is told of refusals, and what the driver remembers after each."""
    _install(monkeypatch, plugin)
    told: list[Any] = []
    with _fleet(driver) as engine:
        for vcpus, ignored in ((8, ("a",)), (4, ()), (100, ())):
            flavor = Flavor(vcpus=vcpus, memory_mb=64, root_gb=1)
            spec = RequestSpec(flavor=flavor, ignore_hosts=ignored)
            why = engine.decide(ScheduleRequest(spec)).why
            assert isinstance(why, Why)
            counts = engine.counts()
            told.append((why, counts["shapes_kept"], counts["shape_misses"]))
        engine.update_host("a", "a", HostStats(free_ram_mb=0, free_disk_gb=0))
        spec = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=64, root_gb=1))
        told.append(engine.decide(ScheduleRequest(spec)).why)
        told.append(engine.capacity(spec))
    return told


@pytest.mark.parametrize(
    ("name", "plugin"), [("caching", Theirs), ("chance", TheirChance)]
)
def test_advice_is_equal_with_a_third_party_driver(
    name: str, plugin: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = _advice(name, plugin, monkeypatch)
    assert own == _advice("theirs", plugin, monkeypatch)
    changes = [one.change for one in own if isinstance(one, Why)]
    wanted = "take ComputeFilter out of enabled_filters"
    assert (wanted in changes) == (name == "caching")


def test_invalid_driver_results_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = FilterDriver(POLICY)
    guarded = GuardedDriver("theirs", driver)
    less = guarded.without("ComputeFilter")
    assert isinstance(less, GuardedDriver)
    assert "ComputeFilter" not in [one.name for one in less.policy.filters]

    def broken(*_given: object, **_named: object) -> Any:
        return np.zeros(3)

    monkeypatch.setattr(FilterDriver, "feasible_hosts", broken)
    desk = Desk(1)
    how: Any = {"now": desk.now, "source": REPORT_SOURCE, "budget": Budget()}
    with pytest.raises(
        PluginFailed, match="The driver theirs, .*FeasibleHosts were asked"
    ):
        less.feasible_hosts(desk.state, RequestSpec(flavor=Flavor()), **how)
    monkeypatch.setattr(driver, "without", broken)
    with pytest.raises(PluginFailed, match=r"gave float64\[3\]: a driver or None"):
        guarded.without("ComputeFilter")


class Bare(Driver):
    def __init__(self, policy: object) -> None:
        del policy


def test_driver_without_a_policy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, Bare)
    with pytest.raises(Refused, match="has None as its policy: call super"):
        driver_of(policy_of(SchedulerOptions(driver="theirs")))
