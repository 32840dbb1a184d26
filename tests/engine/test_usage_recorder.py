"""The usage history: a change of leader at any step loses and repeats nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from gantt.engine.background.usage_recorder import UsageRecorder
from gantt.engine.options import EngineOptions
from gantt.errors import Invalid, StoreFailed
from gantt.model.commands import (
    CreateProvider,
    CreateResourceClass,
    Inventory,
    SetInventories,
)
from gantt.model.usage_history import MICROS, SECONDS, UsageRecord
from gantt.placement.usage_samples import rolled_up, sampled
from gantt.store.interface import Store, UsageRows
from gantt.store.memory_store import MemoryStore
from tests.engine.conftest import Connect, opened
from tests.engine.faults import FaultyStore, ScriptedClock
from tests.engine.test_leader_tasks import leads
from tests.kinds import ON_SQLITE
from tests.waiting import until

HOUR, DAY = 3_600 * MICROS, 86_400 * MICROS
START = 20_000 * DAY + 23 * HOUR
EVERY_S = 1_800
VCPU = {"VCPU": (16.0, 4.0)}
ZONES = ("Äste", "north", "North")


class Fleet:
    """What there is and what time it is, as a test says."""

    def __init__(self) -> None:
        self.at = START
        self.totals = dict(VCPU)
        self.zones: dict[str, dict[str, tuple[float, float]]] = {}
        self.steady_s = 0.0

    def now(self) -> int:
        return self.at

    def monotonic(self) -> float:
        return self.steady_s

    def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


class Dying:
    """A store whose clock is the fleet's. After ``left`` statements on the history the
    process dies, in the middle of whatever it was about."""

    def __init__(self, inner: Store | FaultyStore, fleet: Fleet) -> None:
        self.inner = inner
        self.fleet = fleet
        self.left = -1

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @contextmanager
    def usage_rows(self) -> Iterator[UsageRows]:
        with self.inner.usage_rows() as rows:
            yield _Rows(rows, self)


class _Rows:
    def __init__(self, inner: UsageRows, store: Dying) -> None:
        self.inner = inner
        self.store = store

    def now(self) -> int:
        return self.store.fleet.at

    def __getattr__(self, name: str) -> Any:
        self.store.left -= 1
        if self.store.left == 0:
            raise StoreFailed("the process is gone")
        return getattr(self.inner, name)


def history(store: Any, fleet: Fleet, **options: Any) -> UsageRecorder:
    chosen = EngineOptions(**{"usage_sample_s": EVERY_S, **options})
    return UsageRecorder(
        store, lambda: {"": fleet.totals, **fleet.zones}, chosen, fleet
    )


def found(one: UsageRecorder, period: str, **asked: Any) -> tuple[UsageRecord, ...]:
    wanted = {"since": None, "until": None, "limit": 10_000, **asked}
    return one.usage_history(
        wanted.pop("resource_class", None), period=period, **wanted
    )


def naive(samples: list[UsageRecord], period: str, now: int) -> list[UsageRecord]:
    """The records of all periods that are over, of all samples there ever were."""
    length_s = SECONDS[period]
    starts = {one.start - one.start % (length_s * MICROS) for one in samples}
    return [
        record
        for start in sorted(starts)
        if start + length_s * MICROS <= now
        for record in rolled_up(
            (s for s in samples if 0 <= s.start - start < length_s * MICROS),
            start,
            length_s,
        )
    ]


def test_leader_may_die_at_any_step(
    store: FaultyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, rng = Fleet(), random.Random(5)
    kept = {"usage_5m_days": 1, "usage_hour_days": 2}
    taken: list[UsageRecord] = []
    of_zones: dict[str, list[UsageRecord]] = {zone: [] for zone in ZONES}
    for _ in range(int(2.2 * DAY / HOUR * 2)):
        fleet.at += EVERY_S * MICROS
        used = float(rng.randrange(64))
        fleet.totals = {"MEMORY_MB": (1e6, 3 * used), "VCPU": (64.0 + used, used)}
        fleet.zones = {one: {"VCPU": (8.0, used + n)} for n, one in enumerate(ZONES)}
        taken += sampled(fleet.totals, fleet.at, 300, 9)
        for zone, part in fleet.zones.items():
            of_zones[zone] += sampled(part, fleet.at, 300, 9, zone)
        for _ in range(rng.randrange(3)):
            dying = Dying(store, fleet)
            dying.left = rng.randrange(1, 12)
            with suppress(StoreFailed):
                history(dying, fleet, **kept).run()
        # One of them at least takes the sample, and may die before it rolls up.
        steps = rng.choice((1, 1, 1, 50))
        monkeypatch.setattr("gantt.engine.background.usage_recorder._STEPS", steps)
        history(Dying(store, fleet), fleet, **kept).run()
        monkeypatch.undo()
    one = history(Dying(store, fleet), fleet, **kept)
    one.run()
    assert one.run() == 0
    latest = [sample for sample in taken if sample.start >= fleet.at - DAY]
    assert found(one, "5m") == tuple(latest)
    hours = naive(taken, "hour", fleet.at)
    assert found(one, "hour") == tuple(
        h for h in hours if h.start >= fleet.at - 2 * DAY
    )
    days = found(one, "day")
    assert [(d.start, d.resource_class, d.samples, d.used_min) for d in days] == [
        (d.start, d.resource_class, d.samples, d.used_min)
        for d in naive(taken, "day", fleet.at)
    ]
    assert [d.used_avg for d in days] == pytest.approx(
        [d.used_avg for d in naive(taken, "day", fleet.at)]
    )
    for zone, samples in of_zones.items():
        kept_5m = [sample for sample in samples if sample.start >= fleet.at - DAY]
        assert found(one, "5m", zone=zone) == tuple(kept_5m)
        of_hours = [
            h for h in naive(samples, "hour", fleet.at) if h.start >= fleet.at - 2 * DAY
        ]
        assert found(one, "hour", zone=zone, resource_class="VCPU") == tuple(of_hours)
        assert {day.zone for day in found(one, "day", zone=zone)} == {zone}
    assert found(one, "hour", zone="nowhere") == found(one, "hour", zone="a\0") == ()
    last = found(one, "hour", resource_class="VCPU", limit=2)
    assert [hour.start for hour in last] == [h.start for h in hours[1::2]][-2:]
    until_then = found(one, "hour", until=last[0].start, limit=3)
    assert {hour.start for hour in until_then} == {last[0].start - HOUR}
    assert found(one, "hour", limit=1) == found(one, "hour", limit=2)
    with store.usage_rows() as rows:
        rows.replace(3_600, last[0].start, [last[0]])
    then = {"since": last[0].start, "until": last[1].start}
    assert found(one, "hour", **then) == (last[0],)
    assert found(one, "hour", zone="north", **then) == (), "replaced with the others"


def test_zones_are_bounded_and_no_name_stops_a_sample(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fleet = Fleet()
    one = history(Dying(opened("memory://"), fleet), fleet, usage_zones=2)
    names = ("c", "a", "b", "A" * 256, "a ", "\0", "\ud800")
    fleet.zones = {name: dict(VCPU) for name in names}
    one.run()
    assert [name for name in names if found(one, "5m", zone=name)] == ["a", "b"]
    assert "takes 2 of 7 zones: raise usage_zones" in caplog.text
    counts = one.counts()
    assert (counts["usage_zones_limit"], counts["usage_zones_left_out"]) == (2, 5)


def test_what_another_release_left_of_zones_is_dropped() -> None:
    """It drops what it knows of: of the whole fleet."""
    store, fleet = opened("memory://"), Fleet()
    left = UsageRecord(START - 9 * DAY, 300, "VCPU", 1, 1.0, 1.0, 1.0, 1.0, "north")
    with store.usage_rows() as rows:
        rows.replace(300, left.start, [left])
    one = history(Dying(store, fleet), fleet)
    for _ in range(2):
        one.run()
        fleet.at += 3 * DAY
    assert found(one, "5m", zone="north") == ()


@pytest.fixture
def kind() -> str:
    """Nothing here hangs on the database but what was tried above."""
    return "sqlite"


def test_sampling_is_periodic_and_bounded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, fleet = Dying(opened("memory://"), Fleet()), Fleet()
    store.fleet = fleet
    assert not history(store, fleet, usage_sample_s=0).is_due()
    one = history(store, fleet, usage_classes=1)
    fleet.totals["DISK_GB"] = (1.0, 0.0)
    fleet.at += 60 * MICROS
    assert one.is_due()
    assert one.run() == 1
    assert not one.is_due()
    assert [record.resource_class for record in found(one, "5m")] == ["VCPU"]
    assert "takes 1 of 2 resource classes" in caplog.text
    fleet.steady_s += EVERY_S - 61
    assert not one.is_due()
    fleet.steady_s += 1
    assert one.is_due()
    assert one.run() == 0  # for others it is the same half an hour still
    fleet.at -= HOUR  # a clock that was set back
    one.run()
    fleet.at += HOUR
    assert [record.samples for record in found(one, "5m")] == [1, 1]
    counts = one.counts()
    assert counts["usage_classes_limit"] == 1
    assert (counts["usage_samples"], counts["usage_left_out"]) == (2, 2)
    fleet.totals = {}
    fleet.at += 5 * HOUR
    one.run()
    assert len(found(one, "5m")) == 2, "nothing there is no sample"
    for wrong in ({"limit": 0}, {"limit": 10_001}, {"resource_class": "vcpu\0"}):
        with pytest.raises(Invalid):
            found(one, "5m", **wrong)
    with pytest.raises(Invalid, match="use 5m, hour, day"):
        found(one, "week")


def test_hour_closed_early_by_a_wrong_clock_is_recomputed() -> None:
    fleet = Fleet()
    one = history(Dying(opened("memory://"), fleet), fleet)
    for hours, made in ((0, []), (1, [1]), (-0.5, []), (0.5, [2])):
        fleet.at += int(hours * HOUR)
        one.run()
        for period in ("hour", "day"):
            assert [record.samples for record in found(one, period)] == made


def test_a_failed_step_is_retried_soon() -> None:
    store, fleet = opened("memory://"), Fleet()
    dying = Dying(store, fleet)
    dying.left = 1
    one = history(dying, fleet)
    with pytest.raises(StoreFailed):
        one.run()
    assert not one.is_due()
    fleet.steady_s += 10
    assert one.is_due()
    assert one.run() == 1


@ON_SQLITE
def test_the_next_leader_continues(url: str, connect: Connect) -> None:
    clock = ScriptedClock(START)
    options = {"sweep_s": 0.01, "leader_silence_s": 0.3, "clock": clock}
    first = connect(opened(url), **options)
    host = "11111111-1111-4111-8111-111111111111"
    first.submit(CreateProvider(host, "one"))
    first.submit(CreateResourceClass("CUSTOM_GPU"))
    first.submit(SetInventories(host, {"CUSTOM_GPU": Inventory(16)}, None))

    def is_sampled() -> bool:
        # It may have looked before there was anything.
        first._background.usage._due_at = 0.0
        return len(first.usage_history(period="5m")) == 1

    until(is_sampled)
    first._background._leader_tasks._stop.set()  # no beat, no word that it leaves
    clock.last += HOUR
    second = connect(opened(url), **options)
    until(lambda: leads(second) and len(second.usage_history(period="day")) > 0)
    until(lambda: second.counts()["usage_rollups"] == 2)  # counted after it is seen
    (hour,) = second.usage_history("CUSTOM_GPU")
    (day,) = second.usage_history(period="day")
    assert (day.start, day.samples) == (START - START % DAY, 1)
    assert (hour.start, hour.capacity, hour.samples) == (START, 16, 1)
    starts = [record.start for record in second.usage_history(period="5m")]
    assert starts == [START, START + HOUR]
    assert second.counts()["usage_samples"] == 1


def test_what_is_not_committed_is_not_counted() -> None:
    class Full(Dying):
        """The disk is full when it commits."""

        is_full = True

        @contextmanager
        def usage_rows(self) -> Iterator[UsageRows]:
            with super().usage_rows() as rows:
                yield rows
            if self.is_full:
                raise StoreFailed("database or disk is full")

    fleet = Fleet()
    store = Full(MemoryStore(), fleet)
    kept = history(store, fleet, usage_zones=0, usage_classes=1)
    fleet.totals = {"VCPU": (16.0, 4.0), "DISK_GB": (16.0, 4.0)}
    with pytest.raises(StoreFailed):
        kept.run()
    done = ("usage_samples", "usage_rollups", "usage_dropped", "usage_left_out")
    assert {name: kept.counts()[name] for name in done} == dict.fromkeys(done, 0)
    store.is_full, fleet.at = False, fleet.at + 2 * EVERY_S * MICROS
    kept.run()
    counts = kept.counts()
    assert (counts["usage_samples"], counts["usage_left_out"]) == (1, 1)
