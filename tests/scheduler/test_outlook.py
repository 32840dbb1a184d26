"""Until when zones last: from their own history where it reaches far enough."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from gantt.engine.factory import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.capacity import Outlook
from gantt.model.commands import Inventory
from gantt.model.hosts import HostAggregate
from gantt.model.spec import Flavor, RequestSpec
from gantt.model.usage_history import MICROS, UsageRecord
from gantt.store import open_store
from gantt.store.interface import StoreOptions
from tests.placement.fleet_desk import report, uuid_of

HOUR = 3_600 * MICROS
HOURS = 400
SIZE = 1_000
FLAVOR = RequestSpec(Flavor(1, 1, name="one"))


@pytest.fixture
def url(tmp_path: object) -> str:
    return f"sqlite:///{tmp_path}/gantt.db"


def engine(
    url: str,
    of_zones: dict[str, Callable[[int], float | None]],
    vcpus: Callable[[int], float] = float,
    memory_mb: Callable[[int], float] | None = None,
) -> Gantt:
    """A host of ``SIZE`` VCPU and 8192 MB in each zone, north and south. ``vcpus`` and
    ``memory_mb``: what the whole fleet used after so many hours; ``of_zones``: the
    VCPUs of a zone."""
    found = open_gantt(
        url, EngineOptions(usage_sample_s=0, store=StoreOptions(create=True))
    )
    for number, zone in enumerate(("north", "south"), 1):
        found.submit(report(number))
        whole = Inventory(SIZE, max_unit=SIZE)
        found.set_inventory(uuid_of(number), "VCPU", whole)
        hosts, facts = frozenset({f"h{number}"}), {"availability_zone": zone}
        found.set_host_aggregates(
            [HostAggregate(uuid_of(90 + number), zone, number, hosts, facts)]
        )
    last = time.time_ns() // 1000 // HOUR * HOUR - HOUR
    with open_store(url).usage_rows() as rows:
        for hour in range(HOURS):
            start = last - (HOURS - 1 - hour) * HOUR
            used = {"": vcpus(hour), **{z: of(hour) for z, of in of_zones.items()}}
            said = [("VCPU", zone, each) for zone, each in used.items()]
            if memory_mb is not None:
                said.append(("MEMORY_MB", "", memory_mb(hour)))
            records = [
                UsageRecord(start, 3_600, name, 12, 1.0, each, each, each, zone)
                for name, zone, each in said
                if each is not None
            ]
            rows.replace(3_600, start, records)
    return found


def cpus(found: Gantt, days: int) -> dict[str, Outlook]:
    outlooks = found.runs_out(by="zone", horizon_days=days).outlooks
    return {one.where: one for one in outlooks if one.name == "VCPU"}


def test_zones_grow_as_they_did_themselves(url: str) -> None:
    growth = {"north": lambda hour: 50.0 * hour, "south": lambda hour: 7.0}
    with engine(url, growth) as found:
        zones = cpus(found, 8)
        north, south = zones["north"], zones["south"]
        assert (north.is_own, south.is_own) == (True, True)
        assert (north.state, south.state) == ("forecast", "not within horizon")
        assert south.chance == 0
        until = found.runs_out(by="zone", horizon_days=8).at
        assert north.likely_until is not None
        assert 18 * HOUR < north.likely_until - until <= 20 * HOUR
        (flavor,) = [
            one
            for one in found.runs_out([FLAVOR], by="zone", horizon_days=8).outlooks
            if (one.kind, one.where) == ("flavor", "north")
        ]
        assert (flavor.is_own, flavor.likely_until) == (True, north.likely_until)
        # Of all hosts and of aggregates there is none but the history of the whole.
        for by in ("fleet", "aggregate"):
            outlooks = found.runs_out(by=by, horizon_days=8).outlooks
            assert not any(one.is_own for one in outlooks)
            assert {o.state for o in outlooks if o.name == "VCPU"} == {
                "not within horizon"
            }


def test_a_zone_with_too_little_of_its_own_grows_by_its_part(url: str) -> None:
    growth: dict[str, Callable[[int], float | None]] = {
        "north": lambda hour: 50.0 * hour if hour >= 300 else None,
        "south": lambda hour: 50.0 * hour if hour < 390 else None,
    }
    with engine(url, growth) as found:
        assert [one.is_own for one in cpus(found, 8).values()] == [False, False]
        assert cpus(found, 8)["north"].state == "not within horizon"
        north = cpus(found, 2)["north"]  # that far its own reaches
        assert (north.is_own, north.state) == (True, "forecast")


@pytest.mark.parametrize("memory_mb", [0, 1, 64])
def test_only_what_would_stop_a_flavor_ends_it(url: str, memory_mb: int) -> None:
    """Memory comes and goes by more than the instances that fit would take, but there
    is plenty of it: the date is that of the CPUs."""
    growth = lambda hour: 20.0 * hour, lambda hour: 4000.0 * (hour % 2)
    with engine(url, {}, *growth) as found:
        spec = RequestSpec(Flavor(1, memory_mb, name="one"))
        outlooks = found.runs_out([spec], horizon_days=8).outlooks
        cpus, memory, flavor = (
            next(one for one in outlooks if (one.kind, one.name) == wanted)
            for wanted in [("class", "VCPU"), ("class", "MEMORY_MB"), ("flavor", "one")]
        )
        assert (memory.state, cpus.state) == ("not within horizon", "forecast")
        assert (flavor.state, flavor.lasts_until) == (cpus.state, cpus.lasts_until)
        assert (flavor.ends_by, cpus.ends_by) == ("VCPU", "VCPU")


def test_a_flavor_ends_by_the_class_that_is_used_up_first(url: str) -> None:
    growth = lambda hour: 20.0 * hour, lambda hour: 200.0 * hour
    with engine(url, {}, *growth) as found:
        outlooks = found.runs_out([FLAVOR], horizon_days=8).outlooks
        memory, flavor = (
            next(one for one in outlooks if one.name == name)
            for name in ("MEMORY_MB", "one")
        )
        assert flavor.ends_by == "MEMORY_MB"
        assert flavor.lasts_until == memory.lasts_until


def test_a_flavor_of_which_nothing_is_left_tells_what_lacks(url: str) -> None:
    with engine(url, {}) as found:
        large = RequestSpec(Flavor(1, 100_000, name="large"))
        outlooks = found.runs_out([large], horizon_days=8).outlooks
        (flavor,) = (one for one in outlooks if one.kind == "flavor")
        assert (flavor.state, flavor.ends_by) == ("nothing left", "MEMORY_MB")
