"""Notifications and advice: which requests are observed, and for what instances."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.engine.gantt import Gantt
from gantt.engine.shadow.nova_verdict import Observed
from gantt.engine.shadow.own_decision import Judged
from gantt.engine.shadow.pending_requests import Waiting
from gantt.engine.shadow.settler import UNNAMED
from gantt.errors import Invalid
from gantt.model.advice import AdviceHost, AdviceRequest
from gantt.model.shadow import ShadowEvent
from gantt.model.spec import Flavor, RequestedNetwork, RequestSpec, ScheduleRequest
from gantt.placement.claimed_hosts import ClaimedHost
from tests.engine.shadow.observed import (
    claim,
    new,
    now,
    observe,
    opened,
    settled,
    spec,
)
from tests.engine.test_scheduling import SMALL, report
from tests.waiting import until


def test_several_instances_are_compared_one_by_one(two: Gantt) -> None:
    """Notifications name the first at the start, and the last at the end."""
    report(two, "third", memory_mb=4096)
    first, second, last = new(), new(), new()
    many = spec(first, num_instances=3)
    decided = two.decide(ScheduleRequest(many, dry_run=True))
    hosts = [one[0].service_host for one in decided.chosen]
    assert len(set(hosts)) > 1
    observe(two, first, request="req-many", num_instances=3)
    for uuid, host in zip((first, second, last), hosts, strict=True):
        claim(two, uuid, host)
    observe(two, last, "end", request="req-many", num_instances=3)
    until(lambda: len(two.shadow_records(request_id="req-many")) == 3)
    found = sorted(two.shadow_records(request_id="req-many"), key=lambda r: r.number)
    assert [one.count for one in found] == [3, 3, 3]
    assert [one.instance_uuid for one in found] == [first, None, last]
    assert [one.verdict for one in found] == ["same", "undetermined", "same"]
    assert found[1].note == UNNAMED
    assert all(one.nova_s is not None for one in found)


def test_networks_whose_segments_are_not_named_are_ignored() -> None:
    """Nova has asked Neutron for them."""
    option: dict[str, Any] = {"query_placement_for_routed_network_aggregates": True}
    with opened("memory://", **option) as engine:
        report(engine, "big")
        uuid = new()
        observe(engine, uuid, requested_networks=(RequestedNetwork("routed"),))
        claim(engine, uuid, "big")
        found = settled(engine, uuid)
    assert (found.verdict, found.failure) == ("same", None)


def test_end_that_names_its_instance_needs_no_request_id(two: Gantt) -> None:
    uuid = new()
    observe(two, uuid, at=now())
    two.shadow_event(ShadowEvent(spec(uuid), "end"))
    claim(two, uuid, "big")
    assert settled(two, uuid).nova_s is not None


def test_repeated_start_is_one_request(two: Gantt) -> None:
    uuid = new()
    observe(two, uuid)
    observe(two, uuid)
    claim(two, uuid, "big")
    settled(two, uuid)
    counts = two.counts()
    assert (counts["shadow_observed"], counts["shadow_repeated"]) == (1, 1)
    assert counts["shadow_same"] == 1


def test_lag_is_from_the_notification_to_the_decision(two: Gantt) -> None:
    uuid = new()
    observe(two, uuid, at=now() - 3_000_000)
    claim(two, uuid, "big")
    assert 3.0 <= settled(two, uuid).lag_s < 60.0


def test_time_in_the_future_counts_as_now(two: Gantt) -> None:
    """The clock of Nova's machine may be ahead."""
    uuid = new()
    observe(two, uuid, at=now() + 3_600_000_000)
    claim(two, uuid, "big")
    found = settled(two, uuid)
    assert (found.verdict, found.lag_s < 60.0) == ("same", True)


@pytest.mark.parametrize(
    ("event", "named"),
    [
        (ShadowEvent(spec(new()), "middle"), "phase"),  # type: ignore[arg-type]
        (ShadowEvent(spec(new()), at=-1), "at must be"),
        (ShadowEvent(spec(new()), request_id=7), "request_id"),  # type: ignore[arg-type]
        (ShadowEvent(spec(new(), num_instances=0)), "num_instances"),
    ],
)
def test_invalid_event_is_refused_by_its_field(
    engine: Gantt, event: ShadowEvent, named: str
) -> None:
    with pytest.raises(Invalid, match=named):
        engine.shadow_event(event)
    assert engine.counts()["shadow_observed"] == 0


def test_advice_is_compared_with_the_claim(two: Gantt) -> None:
    uuid = new()
    hosts = (AdviceHost("small", "small"), AdviceHost("big", "big"), AdviceHost("gone"))
    request = AdviceRequest(spec(uuid), hosts, stage="filter", mode="observe")
    two.advise(request)
    two.advise(replace(request, stage="weigh", weights={"small": 2.0}))
    claim(two, uuid, "small")
    found = settled(two, uuid)
    assert (found.source, found.mode, found.operation) == (
        "advice",
        "observe",
        "create",
    )
    assert (found.verdict, found.rank, found.gantt_host) == ("ranked", 2, "big")
    assert found.differences == {"RAMWeigher": 0.5}
    assert found.hosts == 2  # a host that is unknown is not judged
    assert found.gantt_s > 0
    assert found.nova_s is not None, "from its question to its claim in these books"
    report = two.shadow_report()
    assert (report.lag.count, report.nova_latency.count) == (1, 1)
    assert found.facts_s is not None, "of the last report of the host that it chose"
    assert report.facts.count == 1


def test_no_time_of_novas_is_told_from_a_claim_in_whole_seconds() -> None:
    """As MySQL and MariaDB keep it: the claim seems to be older than the question."""
    asked_at = 1_795_814_505_371_780
    observed = Observed((new(),), 1, Judged(), "advice", asked_at)
    waiting = Waiting(observed, 0.0)
    exact = ClaimedHost("big", "big", True, asked_at + 60_000)
    assert waiting.claimed_after(exact) == 0.06
    for at in (asked_at - 371_780, asked_at + 628_220, None):
        assert waiting.claimed_after(replace(exact, at=at)) is None


def test_advice_that_refuses_all_hosts_is_compared(two: Gantt) -> None:
    uuid = new()
    request = AdviceRequest(
        spec(uuid, flavor=Flavor(vcpus=99)), (AdviceHost("small"), AdviceHost("big"))
    )
    two.advise(request)
    claim(two, uuid, "big")
    found = settled(two, uuid)
    assert (found.verdict, found.gantt_host) == ("refused_by_gantt", None)
    assert found.refused_by == "free resources"
    assert found.failure == "No valid host was found."


def test_advice_for_no_instance_is_not_observed(two: Gantt) -> None:
    two.advise(AdviceRequest(RequestSpec(SMALL), (AdviceHost("big"),)))
    assert two.counts()["shadow_pending"] == 0
