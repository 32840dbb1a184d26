"""Finer records made into coarser ones, held against a naive reckoning."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.model import commands as c
from gantt.model.hosts import HostAggregate
from gantt.model.usage_history import UsageRecord
from gantt.placement.usage_samples import (
    rolled_up,
    sampled,
    totals_by_zone,
    whole_periods,
)
from gantt.placement.usages import totals
from tests.placement.fleet_desk import FleetDesk, uuid_of

AMOUNTS = st.floats(min_value=0, max_value=1e15)
LOOKS = st.lists(
    st.dictionaries(
        st.sampled_from(["VCPU", "MEMORY_MB", "CUSTOM_GPU"]),
        st.tuples(AMOUNTS, AMOUNTS),
    ),
    max_size=40,
)


def record(name: str, looks: list[tuple[float, float]]) -> UsageRecord:
    """What all looks at a class come to, one by one."""
    used = [used for _, used in looks]
    count = len(looks)
    mean = sum(capacity for capacity, _ in looks) / count
    return UsageRecord(
        0, 86_400, name, count, mean, min(used), sum(used) / count, max(used)
    )


@given(looks=LOOKS, hour=st.integers(min_value=1, max_value=12))
def test_a_day_of_hours_is_a_day_of_looks(
    looks: list[dict[str, tuple[float, float]]], hour: int
) -> None:
    samples = [one for n, look in enumerate(looks) for one in sampled(look, n, 300, 9)]
    hours = [
        one
        for start, part in groupby(samples, lambda sample: sample.start // hour)
        for one in rolled_up(part, start, 3_600)
    ]
    found = {one.resource_class: one for one in rolled_up(hours, 0, 86_400)}
    names = sorted({name for look in looks for name in look})
    assert list(found) == names
    for name in names:
        wanted = record(name, [look[name] for look in looks if name in look])
        mine = found[name]
        exact = (mine.samples, mine.used_min, mine.used_max, mine.period_s)
        assert exact == (wanted.samples, wanted.used_min, wanted.used_max, 86_400)
        assert mine.capacity == pytest.approx(wanted.capacity, rel=1e-12)
        assert mine.used_avg == pytest.approx(wanted.used_avg, rel=1e-12)
        assert mine.used_min <= mine.used_avg <= mine.used_max


def test_a_sample_takes_the_first_classes() -> None:
    totals = {"VCPU": (16.0, 4.0), "DISK_GB": (0.0, 0.0)}
    (one,) = sampled(totals, 600, 300, 1)
    assert one == UsageRecord(600, 300, "VCPU", 1, 16.0, 4.0, 4.0, 4.0)
    assert one.percent == 25
    assert sampled(totals, 600, 300, 2)[1].percent is None


def test_an_answer_holds_whole_periods() -> None:
    def at(start: int, name: str) -> UsageRecord:
        return UsageRecord(start, 300, name, 1, 1, 0, 0, 0)

    latest = [at(3, "A"), at(3, "B"), at(2, "A"), at(2, "B"), at(1, "A")]
    oldest = sorted(latest, key=lambda one: (one.start, one.resource_class))
    assert whole_periods(latest, 5) == tuple(oldest)
    assert whole_periods(latest, 4) == tuple(oldest[1:])
    assert whole_periods(latest, 3) == tuple(oldest[3:])
    assert whole_periods(latest, 1) == ()
    assert whole_periods([], 1) == ()


def test_totals_of_zones_are_those_of_their_hosts() -> None:
    desk = FleetDesk(4)
    zones = {"south": ("h1", "h2"), "north": ("h3",)}
    desk.do(
        c.SetHostAggregates(
            tuple(
                HostAggregate(
                    uuid_of(90 + n),
                    zone,
                    n,
                    frozenset(hosts),
                    {"availability_zone": zone},
                )
                for n, (zone, hosts) in enumerate(zones.items())
            )
        ),
        c.CreateProvider(uuid_of(5), "no host"),
        c.SetInventories(uuid_of(5), {"VCPU": c.Inventory(100)}, None),
        c.CreateProvider(uuid_of(6), "child", uuid_of(3)),
        c.SetInventories(uuid_of(6), {"VCPU": c.Inventory(1)}, None),
    )
    desk.do(c.SetInventories(uuid_of(4), {"DISK_GB": c.Inventory(10)}, None))
    found = totals_by_zone(desk.state, "nova")
    assert list(found) == ["", "north", "nova", "south"]
    assert found[""] == totals(desk.state)
    assert [found[zone].get("VCPU") for zone in found] == [
        (125.0, 0.0),
        (9.0, 0.0),
        None,
        (16.0, 0.0),
    ]
    assert found["nova"] == {"DISK_GB": (10.0, 0.0)}
    assert totals_by_zone(FleetDesk().state, "nova") == {"": {}, "nova": {}}
