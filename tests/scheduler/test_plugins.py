"""Filters and weighers of other packages: asked afresh unless they declare what they
read, and held to what they declare."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from gantt.errors import PluginFailed, Refused
from gantt.model.spec import Flavor, Image, InstanceGroup, RequestSpec
from gantt.placement.candidates.combination import Budget
from gantt.scheduler.contract import Cacheable, Filter, Request, Weigher
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.evaluation.known_drivers import Making, caching, filtering
from gantt.scheduler.feasibility.historical.ram import RamFilter
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.guards import GuardedFilter, GuardedWeigher
from gantt.scheduler.plugins.policy import policy_of
from gantt.state.column import Bools, Floats
from tests.scheduler.desk import Desk, source
from tests.scheduler.fleets import Plan, a_host, all_hosts, request
from tests.scheduler.plugged import HOSTS, SPEC, policy
from tests.scheduler.plugged import desk as _desk

MINE = f"{__name__}."
_policy = partial(policy, __name__)


def _field(driver: Driver, desk: Desk, spec: RequestSpec) -> FeasibleHosts:
    return driver.feasible_hosts(
        desk.state, spec, source(False), now=desk.now, budget=Budget()
    )


# -- what is not declared is asked afresh ----------------------------------------------


class RedFilter(Filter):
    """A whole filter: one method."""

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        return np.full(len(hosts), request.spec.project_id == "red")


class RedWeigher(Weigher):
    """The first host is best for red, the last for others."""

    def score(self, hosts: Hosts, request: Request) -> Floats:
        places = hosts.rows.astype(np.float64)
        return -places if request.spec.project_id == "red" else places


class RedRamFilter(RamFilter):
    """Inherits from one that declares, and reads more."""

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        mask: Bools = super().mask(hosts, request) & (request.spec.project_id == "red")
        return mask


class RedNovaFilter:
    """Of Nova's kind."""

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        return bool(spec_obj.project_id == "red")


class LateFilter(Filter):
    """Passes in odd seconds."""

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        return np.full(len(hosts), request.now // 1_000_000 % 2 == 1)


@pytest.mark.parametrize(
    "name", ["RedFilter", "RedRamFilter", "RedNovaFilter", "ComputeFilter"]
)
@pytest.mark.parametrize("driver", [filtering, caching])
@pytest.mark.parametrize("first", ["red", "blue"])
def test_cached_masks_are_per_project(
    name: str,
    driver: Making,
    first: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Also where it bears the name of one of ours that is kept.
    if name == "ComputeFilter":
        monkeypatch.setattr(RedFilter, "name", name)
        name = "RedFilter"
    desk, asked = _desk(), driver(_policy(name))
    other = "blue" if first == "red" else "red"
    for project in (first, other, first, other):
        found = _field(asked, desk, replace(SPEC, project_id=project))
        assert len(found.hosts) == (HOSTS if project == "red" else 0), project


@pytest.mark.parametrize("first", ["red", "blue"])
def test_scores_are_per_project(first: str) -> None:
    desk, driver = _desk(), caching(_policy(weighers=("RedWeigher",)))
    other = "blue" if first == "red" else "red"
    for project in (first, other, first):
        found = _field(driver, desk, replace(SPEC, project_id=project))
        scale = next(one for one in found.scales if one.weigher.name == "RedWeigher")
        assert int(scale.raw.argmax()) == (0 if project == "red" else HOSTS - 1)


def test_time_dependent_masks_are_not_cached() -> None:
    desk, driver = _desk(), caching(_policy("LateFilter"))
    passed = []
    for second in (1, 2, 3, 4):
        now = second * 1_000_000
        field = driver.feasible_hosts(
            desk.state, SPEC, source(False), now=now, budget=Budget()
        )
        passed.append(len(field.hosts))
    assert passed == [HOSTS, 0, HOSTS, 0]


SPECS: dict[str, tuple[Any, Any]] = {
    "num_instances": (1, 2),
    "project_id": ("red", "blue"),
    "user_id": ("u", "v"),
    "instance_uuid": ("a", "b"),
    "retry_hosts": ((), (("h1", "h1"),)),
    "instance_group": (None, InstanceGroup("g", "soft-affinity")),
    "scheduler_hints": ({}, {"mine": ("1",)}),
    "version": ("1.14", "1.15"),
    "unset": (frozenset(), frozenset({"image.id"})),
    "nulls": (frozenset(), frozenset({"user_id"})),
    "flavor": (Flavor(vcpus=1, name="s"), Flavor(vcpus=1, name="l")),
    "image": (None, Image("x")),
    "availability_zone": (None, "nova"),
    "ignore_hosts": ((), ("elsewhere",)),
    "is_bfv": (False, True),
}


@pytest.mark.parametrize("name", SPECS)
def test_each_request_is_read_separately(name: str) -> None:
    """Beside what is kept, a plug-in may read any field."""
    seen: list[Any] = []

    class Reader(Filter):
        def mask(self, hosts: Hosts, request: Request) -> Bools:
            seen.append(getattr(request.spec, name))
            return np.ones(len(hosts), np.bool_)

    policy = policy_of(SchedulerOptions())
    policy = replace(policy, filters=(*policy.filters, GuardedFilter("r", Reader())))
    desk, driver = _desk(), caching(policy)
    for value in (*SPECS[name], *SPECS[name]):
        _field(driver, desk, replace(SPEC, **{name: value}))
    assert seen == [*SPECS[name], *SPECS[name]]


def test_built_in_plugins_declare_and_are_cached() -> None:
    desk, driver = _desk(), caching(_policy("RedFilter"))
    for project in ("red", "blue", "green", "red"):
        _field(driver, desk, replace(SPEC, project_id=project))
    assert (driver.misses, driver.hits) == (1, 3)


def test_in_place_change_is_a_plugin_failure() -> None:
    class Greedy(Filter):
        def mask(self, hosts: Hosts, request: Request) -> Bools:
            hosts.free_ram_mb[:] = 0
            return np.ones(len(hosts), np.bool_)

    class Lender(Filter):
        """Answers with a column itself, or always the same array."""

        def mask(self, hosts: Hosts, request: Request) -> Bools:
            return hosts.has_state

    hosts = all_hosts(Plan([a_host("h1"), a_host("h2")]).state())
    with pytest.raises(PluginFailed, match="Greedy failed in mask: ValueError"):
        GuardedFilter("Greedy", Greedy()).mask(hosts, request())
    mask = GuardedFilter("Lender", Lender()).mask(hosts, request())
    mask[:] = False
    assert hosts.has_state.all()


# -- what is declared is kept, and held to it ------------------------------------------


class FlavorFilter(Filter):
    """Declares what it reads."""

    cacheable = Cacheable(
        needs=("free_ram_mb", "factor:stats.rack"),
        reads=("flavor.memory_mb", "image.properties"),
        elementwise=True,
    )

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        asked.append(len(hosts))
        spec = request.spec
        assert spec.image is None or spec.image.properties == {}
        codes, _ = hosts.reported("stats", "rack")
        mask: Bools = (hosts.free_ram_mb >= spec.flavor.memory_mb) & (codes == 0)
        return mask


asked: list[int] = []


def test_declared_plugins_are_cached() -> None:
    desk, driver = _desk(), caching(_policy("FlavorFilter"))
    asked.clear()
    for project in ("red", "blue", "green"):
        _field(driver, desk, replace(SPEC, project_id=project))
    # Once of all, and once of each half of them: whether hosts stand alone.
    assert asked == [HOSTS, HOSTS // 2, HOSTS // 2]


def _of_spec(read: Callable[[RequestSpec], object]) -> type[Filter]:
    class Reading(Filter):
        cacheable = FlavorFilter.cacheable

        def mask(self, hosts: Hosts, request: Request) -> Bools:
            return np.full(len(hosts), bool(read(request.spec)))

    return Reading


def _of_hosts(read: Callable[[Hosts, Request], object]) -> type[Filter]:
    class Reading(Filter):
        cacheable = FlavorFilter.cacheable

        def mask(self, hosts: Hosts, request: Request) -> Bools:
            read(hosts, request)
            return np.ones(len(hosts), np.bool_)

    return Reading


def _swallowed(spec: RequestSpec) -> object:
    try:
        return spec.user_id
    except Exception:
        return None


@pytest.mark.parametrize(
    ("plugin", "says"),
    [
        (
            _of_spec(lambda s: s.project_id),
            "spec.project_id.* add 'project_id'",
        ),
        (_of_spec(lambda s: s.flavor.vcpus), "spec.flavor.vcpus.* add 'flavor.vcpus'"),
        (_of_spec(lambda s: s.hint("rack")), "scheduler_hints.* add 'scheduler_hints'"),
        (_of_spec(lambda s: s.is_rebuild), "add 'scheduler_hints' to the reads"),
        (_of_spec(lambda s: getattr(s, "user_id", None)), "add 'user_id'"),
        (_of_spec(_swallowed), "add 'user_id'"),
        (_of_hosts(lambda h, r: r.now), "request.now.* implement lasts"),
        (_of_hosts(lambda h, r: h.vcpus_used), "hosts.vcpus_used.* add 'vcpus_used'"),
        (_of_hosts(lambda h, r: h.column("pci_free")), "add 'pci_free' to the needs"),
        (_of_hosts(lambda h, r: h.reported("stats")), "add 'factor:stats'"),
        (_of_hosts(lambda h, r: h.known_instances(0)), "add 'instances' to the needs"),
        (_of_hosts(lambda h, r: h.instances_on(0)), "hosts.instances_on"),
        (_of_hosts(lambda h, r: h.added), "hosts.added"),
        (_of_hosts(lambda h, r: h.fleet.groups), "hosts.fleet.groups"),
        (_of_hosts(lambda h, r: h.fleet.claims), "add 'claims'"),
        (_of_hosts(lambda h, r: h.fleet.hosts.stats), "hosts.fleet.hosts.stats"),
        (_of_hosts(lambda h, r: h.keep(h.free_ram_mb > 0)), "hosts.keep"),
    ],
)
def test_undeclared_read_is_refused(plugin: type[Filter], says: str) -> None:
    hosts = all_hosts(Plan([a_host("h1"), a_host("h2")]).state())
    with pytest.raises(PluginFailed, match=says) as caught:
        GuardedFilter("mine", plugin()).mask(hosts, request())
    assert caught.value.message.startswith(f"The filter mine, {__name__}.")
    assert "enabled_filters" in caught.value.message


def test_declared_columns_can_be_read() -> None:
    class Reader(Filter):
        cacheable = Cacheable(
            needs=("vcpus_used", "factor:stats", "instances", "claims", "id"),
            reads=("flavor", "scheduler_hints", "is_bfv"),
            elementwise=True,
        )

        def mask(self, hosts: Hosts, request: Request) -> Bools:
            spec = request.spec
            assert (spec.disk_mb, spec.hint("a"), spec.is_rebuild) == (1024, "b", False)
            assert hosts.names[0][0] == "h" and hosts.at_hosts(("h1",)).any() in (0, 1)
            hosts.known_instances(0)
            hosts.fleet.claims.on(int(hosts.id[0]))
            assert request.options.driver
            return np.equal(hosts.column("vcpus_used"), hosts.vcpus_used)

    spec = RequestSpec(flavor=Flavor(root_gb=1), scheduler_hints={"a": ("b",)})
    hosts = all_hosts(Plan([a_host("h1"), a_host("h2")]).state())
    assert GuardedFilter("r", Reader()).mask(hosts, request(spec)).all()


def test_plugin_that_compares_hosts_is_not_elementwise() -> None:
    class Fullest(Filter):
        cacheable = Cacheable(needs=("free_ram_mb",), reads=(), elementwise=True)

        def mask(self, hosts: Hosts, request: Request) -> Bools:
            most: Bools = hosts.free_ram_mb == hosts.free_ram_mb.max()
            return most

    class Share(Weigher):
        cacheable = Cacheable(needs=("free_ram_mb",), reads=(), elementwise=True)

        def score(self, hosts: Hosts, request: Request) -> Floats:
            shares: Floats = hosts.free_ram_mb / hosts.free_ram_mb.sum()
            return shares

    many = [a_host(f"h{n}", free_ram_mb=n) for n in range(1, 9)]
    hosts = all_hosts(Plan(many).state())
    with pytest.raises(PluginFailed, match="take elementwise=True out"):
        GuardedFilter("f", Fullest()).mask(hosts, request())
    with pytest.raises(PluginFailed, match="take elementwise=True out"):
        GuardedWeigher("w", Share()).score(hosts, request())


class _Told(Filter):
    def mask(self, hosts: Hosts, request: Request) -> Bools:
        return np.ones(len(hosts), np.bool_)


class _Scored(Weigher):
    def score(self, hosts: Hosts, request: Request) -> Floats:
        return np.zeros(len(hosts))


@pytest.mark.parametrize(
    ("declaration", "says"),
    [
        (Cacheable(needs=("fre_ram_mb",), reads=()), "needs 'fre_ram_mb'; there is"),
        (Cacheable(needs=(), reads=("flavour",)), "reads 'flavour'; a request has"),
        (Cacheable(needs=(), reads=("flavor.ram",)), "'flavor.ram'; flavor has vcpus"),
        (Cacheable(needs=(), reads=("image.no.x",)), "'image.no.x'; image has id"),
        ({"needs": ()}, "as cacheable: it must be a gantt.scheduler.contract"),
    ],
)
def test_contradictory_declaration_is_refused_at_start(
    declaration: Any, says: str
) -> None:
    filter_ = type("Mine", (_Told,), {"cacheable": declaration})()
    weigher = type("Mine", (_Scored,), {"cacheable": declaration})()
    with pytest.raises(Refused, match=says):
        GuardedFilter("mine", filter_)
    with pytest.raises(Refused, match=says):
        GuardedWeigher("mine", weigher)


def test_invalid_plugin_is_refused_at_start() -> None:
    with pytest.raises(Refused, match="has no method mask"):
        GuardedFilter("mine", Filter())
    with pytest.raises(Refused, match="has no method score"):
        GuardedWeigher("mine", Weigher())

    class Multiplied(_Scored):
        cacheable = Cacheable(needs=(), reads=(), elementwise=True)

        def multiplier(self, hosts: Hosts, options: SchedulerOptions) -> float:
            return 2.0

    with pytest.raises(Refused, match="a multiplier of its own, which is not kept"):
        GuardedWeigher("mine", Multiplied())
