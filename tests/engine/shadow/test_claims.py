"""Which claim is Nova's answer, and that a decision does not see it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.engine.shadow.settler import REBUILD
from gantt.engine.shadow.sightings import ClaimSightings, Sought
from gantt.model.changes import Change, Cursor
from gantt.model.commands import ConsumerAllocations
from gantt.model.hosts import Instance, ServerGroup
from gantt.model.rows import ALLOCATIONS, AllocationRow
from gantt.model.spec import InstanceGroup, ScheduleRequest
from gantt.placement import claimed_hosts as placement_claimed
from gantt.placement.queries import touched_allocations
from gantt.scheduler.contract import Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools
from gantt.state.state import State
from tests.engine.shadow.observed import (
    AMOUNTS,
    claim,
    new,
    now,
    observe,
    settled,
    spec,
)
from tests.engine.test_scheduling import report


def test_decision_does_not_see_the_claim_that_nova_made_before(two: Gantt) -> None:
    """Notifications may come late: by then the host can be full of this instance."""
    report(two, "tight", memory_mb=100_000, vcpus=1)
    before = two.shadow_records()
    assert before == ()
    uuid, at = new(), now()
    claim(two, uuid, "tight")
    observe(two, uuid, at=at)
    found = settled(two, uuid)
    assert (found.verdict, found.gantt_host) == ("same", "tight")
    assert not found.is_late
    # Others see the claim, before and after.
    later = two.decide(ScheduleRequest(spec(new()), dry_run=True))
    assert later.chosen[0][0].service_host == "big"
    view = two.get_allocations(uuid)
    assert view is not None
    assert two.verify().problems == ()


def test_look_ups_are_answered_at_once_after_a_hidden_claim(two: Gantt) -> None:
    """What was hidden is there again, and no commit has to be waited for."""
    uuid = new()
    claim(two, uuid, "big")
    assert two.read_touched(touched_allocations, new(), at_once=True) is None
    observe(two, uuid, at=now() - 1_000_000)
    assert settled(two, uuid).verdict == "same"
    assert two.read_touched(touched_allocations, new(), at_once=True) is None
    assert two.read_touched(touched_allocations, uuid, at_once=True) is not None


def test_cached_shape_is_right_before_and_after_a_hidden_claim(two: Gantt) -> None:
    def best() -> str:
        request = ScheduleRequest(spec(new()), dry_run=True)
        return two.decide(request).chosen[0][0].service_host

    for number in range(40):  # of few hosts, a shape is not refreshed but made anew
        report(two, f"other{number}", memory_mb=2048, vcpus=1)
    report(two, "tight", memory_mb=100_000, vcpus=1)
    chosen = [best()]
    uuid, at = new(), now()
    claim(two, uuid, "tight")
    chosen.append(best())
    observe(two, uuid, at=at)
    chosen.append(best())
    two.delete_allocations(uuid)
    chosen.append(best())
    assert chosen == ["tight", "big", "big", "tight"]
    assert settled(two, uuid).gantt_host == "tight"
    assert two.counts()["shape_hits"] > 0


def test_question_about_a_claim_that_is_there_leaves_no_trace(two: Gantt) -> None:
    """What is kept of earlier decisions stays as it is: nothing has changed."""
    for number in range(40):
        report(two, f"other{number}", memory_mb=2048, vcpus=1)
    uuid, at = new(), now()
    claim(two, uuid, "big")
    request = ScheduleRequest(spec(new()), dry_run=True)
    two.decide(request)
    state = two._replica.state
    applied, counts = state.applied, two.counts()
    observe(two, uuid, at=at)
    changed = state.fleet.journal.since(applied)
    assert changed is not None
    assert (changed.rows, state.applied) == (set(), applied)
    for name in ("shapes_kept", "shape_hits", "shape_misses"):
        assert two.counts()[name] == counts[name]
    two.decide(request)
    assert two.counts()["shape_hits"] == counts["shape_hits"] + 1
    assert settled(two, uuid).verdict == "same"


def test_instance_that_is_named_already_is_hidden_too(two: Gantt) -> None:
    """Its own host would be refused by the rule of its group."""
    uuid, at = new(), now()
    group = new()
    two.set_server_group(
        ServerGroup(group, "g", "anti-affinity", members=frozenset({uuid}))
    )
    claim(two, uuid, "big")
    two.update_instances("big", [Instance(uuid)])
    observe(two, uuid, at=at, instance_group=InstanceGroup(group))
    found = settled(two, uuid)
    assert (found.verdict, found.gantt_host) == ("same", "big")
    assert two.verify().problems == ()


def test_claim_is_learnt_although_it_is_gone_at_once(two: Gantt) -> None:
    """A build that fails, or a server that lives for a moment."""
    uuid = new()
    observe(two, uuid)
    claim(two, uuid, "small")
    two.delete_allocations(uuid)
    assert settled(two, uuid).host == "small"


def test_first_claim_counts(two: Gantt) -> None:
    """After a failed build, the instance moves on to an alternate."""
    uuid = new()
    observe(two, uuid)
    claim(two, uuid, "big")
    claim(two, uuid, "small", generation=1)
    assert settled(two, uuid).host == "big"


def test_source_of_an_evacuation_is_no_news(
    two: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not as databases that store whole seconds.
    monkeypatch.setattr(placement_claimed, "_SECOND", 1)
    uuid = new()
    claim(two, uuid, "small")
    observe(two, uuid, ignore_hosts=("small",))
    claim(two, uuid, "small", "big", generation=1)
    found = settled(two, uuid)
    assert (found.verdict, found.host) == ("same", "big")


def test_source_of_a_resize_is_no_news(
    two: Gantt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right before Nova asks, it hands what the instance has to the migration, and the
    row that names the instance is touched."""
    uuid, looks = new(), Event()
    claim(two, uuid, "small")
    two.update_instances("small", [Instance(uuid)])
    look_in = ClaimSightings._look_in

    def look(sightings: ClaimSightings, state: State, missing: list[Sought]) -> None:
        look_in(sightings, state, missing)
        looks.set()

    monkeypatch.setattr(ClaimSightings, "_look_in", look)
    (place,) = [one.uuid for one in two.list_providers() if one.name == "small"]
    two.set_allocations(
        [
            ConsumerAllocations(uuid, {}, "p", "u", generation=1),
            ConsumerAllocations(new(), {place: AMOUNTS}, "p", "u"),
        ]
    )
    observe(two, uuid)
    assert looks.wait(10)
    claim(two, uuid, "big")
    found = settled(two, uuid)
    assert (found.verdict, found.host) == ("same", "big")


def test_host_is_learnt_from_instances_where_there_are_no_allocations(
    two: Gantt,
) -> None:
    uuid = new()
    observe(two, uuid)
    two.update_instances("small", [Instance(uuid)])
    found = settled(two, uuid)
    assert (found.host, found.learnt_from) == ("small", "instances")


def test_rebuild_claims_nothing(two: Gantt) -> None:
    first, uuid = new(), new()
    observe(two, first)
    claim(two, first, "big")
    settled(two, first)
    observe(two, uuid, scheduler_hints={"_nova_check_type": ("rebuild",)})
    found = settled(two, uuid)
    assert (found.operation, found.verdict) == ("rebuild", "undetermined")
    assert found.note == REBUILD


def test_claim_that_was_rolled_back_is_no_claim(two: Gantt) -> None:
    """A commit that fails after its changes were applied."""
    uuid = new()
    observe(two, uuid)
    replica, state = two._replica, two._replica.state
    with replica.lock:
        before = state.cursor
        provider = state.providers.row_of_name("big")
        assert provider is not None
        at = int(state.providers.id[provider])
        row = AllocationRow(999, at, uuid, state.classes.at(0).id, 1, now(), None)
        change = Change(ALLOCATIONS, 999, None, row)
        replica.assume((change,), Cursor(before.revision + 1, "batch"))
    replica.undo((change,), before)
    claim(two, uuid, "small")
    assert settled(two, uuid).host == "small"
    assert two.verify().problems == ()


class Slow(Filter):
    """Another package's filter: while it runs, no lock is held."""

    name = "Slow"

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        SEEN.append(LOOK[0]() if LOOK else None)
        return np.ones(len(hosts), np.bool_)


SEEN: list[object] = []
LOOK: list[Callable[[], object]] = []


def test_others_see_the_claim_while_a_plug_in_runs(two: Gantt) -> None:
    SEEN.clear()
    options = replace(
        two._checks.options,
        available_filters=("tests.engine.shadow.test_claims.Slow",),
        enabled_filters=("Slow",),
    )
    two.retune(EngineOptions(scheduler=options))
    report(two, "tight", memory_mb=100_000, vcpus=1)
    uuid, at = new(), now()
    claim(two, uuid, "tight")
    LOOK[:] = [lambda: two.get_allocations(uuid)]
    try:
        observe(two, uuid, at=at)
    finally:
        LOOK.clear()
    assert len(SEEN) == 1
    assert SEEN[0] is not None
    assert settled(two, uuid).gantt_host == "tight"
    assert two.verify().problems == ()


class Forgetting(dict[Any, Any]):
    """Loses a key once it was seen, as if another thread forgot it then."""

    def __contains__(self, key: object) -> bool:
        return self.pop(key, None) is not None


def test_instance_forgotten_meanwhile_fails_no_report(
    two: Gantt, caplog: pytest.LogCaptureFixture
) -> None:
    uuid = new()
    observe(two, uuid)
    sightings = two._replica.listener
    assert isinstance(sightings, ClaimSightings)
    sightings._sought = Forgetting(sightings._sought)
    two.update_instances("big", [Instance(uuid)])
    assert "failed to learn" not in caplog.text


def test_defect_of_the_shadow_fails_no_write(
    two: Gantt, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(ClaimSightings, "applied", fail)
    uuid = new()
    observe(two, uuid)
    claim(two, uuid, "big")
    assert two.get_allocations(uuid) is not None
    assert "Sightings failed to learn of changes" in caplog.text
