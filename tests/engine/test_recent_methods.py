"""``recent``: which hosts take no requests, by whom, and what changed lately."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.engine.recent_methods import RecentMethods
from gantt.errors import Invalid, NoValidHost
from gantt.model.fleet import AGENT, OPERATOR
from gantt.model.hosts import HostAggregate, Service
from gantt.model.recent import Recent
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.placement import fleet_pages, recent_changes
from gantt.placement.recent_changes import RecentTerms
from gantt.scheduler.options import SchedulerOptions
from tests.engine.faults import NOW, ScriptedClock
from tests.engine.test_fleet_map_methods import stats
from tests.waiting import until

RACK = "0000000a-0000-4000-8000-000000000001"
HOUR = 3_600_000_000


@pytest.fixture
def books(timed: Gantt) -> Gantt:
    for name in ("one", "two", "three", "four"):
        timed.update_host(name, name, stats())
        timed.update_service(Service(name, version=67))
    return timed


def test_hosts_that_take_no_requests_have_who_said_so_and_since_when(
    books: Gantt, clock: ScriptedClock
) -> None:
    clock.last += 2 * HOUR
    then = clock.last
    books.update_service(Service("one", OPERATOR, disabled=True, disabled_reason="ram"))
    books.update_service(Service("two", disabled=True, disabled_reason="Nova's own"))
    books.update_service(Service("three", forced_down=True))
    books.update_service(Service("four", AGENT, forced_down=True, last_seen_up=then))
    clock.last += HOUR // 2
    found = books.recent()
    assert {
        one.host: (one.state, one.since, one.by, one.reason) for one in found.out
    } == {
        "one": ("disabled", then, "an operator (gantt host disable)", "ram"),
        "two": ("disabled", then, "its service (Nova)", "Nova's own"),
        "three": ("down", then, "forced down by hand", ""),
        "four": ("down", then, "no report of its agent", ""),
    }
    assert {one.state: (one.hosts, one.first) for one in found.states} == {
        "disabled": (2, "one"),
        "down": (2, "four"),
    }
    assert found.versions == {"67": 4}


def test_changes_are_of_the_time_that_is_asked_for(
    books: Gantt, clock: ScriptedClock
) -> None:
    clock.last += 2 * HOUR
    assert books.recent().changes == ()
    books.update_service(Service("two", disabled=True, disabled_reason="fan"))
    clock.last += 1_000_000
    books.set_host_aggregates([HostAggregate(RACK, "rack", hosts=frozenset(["one"]))])
    clock.last += 10_000_000
    found = books.recent()
    assert [(one.what, one.name, one.now, one.is_new) for one in found.changes] == [
        ("aggregate", "rack", "1 host", True),
        ("service", "two", "disabled, version 67, fan", False),
    ]
    clock.last += 2 * HOUR
    assert books.recent().changed == 0
    assert books.recent(5 * 3600.0).changed == 1 + 4 + 4  # services, hosts
    with pytest.raises(Invalid, match="within_s must be above 0"):
        books.recent(0)


def test_what_is_older_is_not_told_and_others_may_write_after_each_that_is(
    books: Gantt, clock: ScriptedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_pages, "_SLICE", 2)
    clock.last += 2 * HOUR
    for name in ("one", "three", "four"):
        books.update_service(Service(name, disabled=True))
    terms = RecentTerms(clock.last, clock.last - HOUR, HOUR, HOUR)
    events: list[str] = []
    change: Any = recent_changes._change

    def noted(*given: Any) -> Any:
        events.append("told")
        return change(*given)

    monkeypatch.setattr(recent_changes, "_change", noted)
    with books._replica.lock:
        news = recent_changes.fleet_news(
            books._replica.state, lambda: events.append("rest"), terms
        )
    assert [one.name for one in news.changes] == ["one", "three", "four"]
    # After each of 4 hosts, between both parts, after each of 3 changes, and after each
    # 2 of 4 services.
    assert events.count("told") == 3
    assert "".join(one[0] for one in events) == "rrrrr" + "trr" + "trtrr"


def test_those_who_ask_at_the_same_time_share_one_answer(
    books: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it takes longer than an answer is kept."""
    looks: list[int] = []
    look: Any = RecentMethods._look

    def slow(self: Any, *given: Any) -> Any:
        looks.append(1)
        until(lambda: len(asked) == 8)
        return look(self, *given)

    monkeypatch.setattr(RecentMethods, "_look", slow)
    asked: list[int] = []

    def ask(_: int) -> Recent:
        asked.append(1)
        return books.recent()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert len(looks) == 1
    assert all(one is found[0] for one in found)


def test_refusals_are_counted_by_what_would_have_had_to_be_given_up(
    books: Gantt, clock: ScriptedClock
) -> None:
    clock.last += 2 * HOUR
    books.create_trait("CUSTOM_GPU")
    needs = {"trait:CUSTOM_GPU": "required"}
    wanted = [Flavor(vcpus=1, memory_mb=1, extra_specs=needs)] * 3
    wanted += [Flavor(vcpus=1, memory_mb=size) for size in (2**20, 2**21, 1)]
    for number, flavor in enumerate(wanted):
        clock.last += 1_000_000
        request = ScheduleRequest(RequestSpec(flavor), request_id=f"req-{number}")
        with suppress(NoValidHost):
            books.schedule(request)
    books.decide(ScheduleRequest(RequestSpec(wanted[0])))  # a dry run is no refusal
    clock.last += 10_000_000
    found = books.recent()
    assert [(one.reason, one.count, one.request_id) for one in found.refusals] == [
        ("trait CUSTOM_GPU", 3, "req-2"),
        ("less MEMORY_MB", 2, "req-4"),
    ]
    assert (found.placed, found.refused) == (1, 5)
    assert found.seen_since == found.since


def test_the_policy_is_as_old_as_its_options(
    books: Gantt, clock: ScriptedClock
) -> None:
    assert books.recent().policy_since == NOW
    clock.last += HOUR
    books.retune(
        EngineOptions(scheduler=SchedulerOptions(enabled_filters=("ComputeFilter",)))
    )
    found = books.recent()
    assert (found.policy_since, found.filters) == (clock.last, ("ComputeFilter",))
