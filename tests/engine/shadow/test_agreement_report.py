"""The report: what is computed of records, whatever they are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gantt.engine.shadow.agreement_report import report_on
from gantt.model.shadow import (
    WITH_HOST,
    RankedHost,
    ShadowRecord,
    Spread,
    Usage,
)

VERDICTS = (*WITH_HOST, "refused_by_nova", "both_refused", "undetermined")


def record(number: int = 0, verdict: str = "same", **given: Any) -> ShadowRecord:
    known: dict[str, Any] = {
        "id": f"r{number}",
        "instance_uuid": f"i{number}",
        "request_id": "req",
        "project_id": "p",
        "source": "notification",
        "mode": "observe",
        "operation": "create",
        "number": 1,
        "count": 1,
        "asked_at": number,
        "lag_s": 0.1,
        "gantt_s": 0.001,
        "revision": 1,
        "hosts": 9,
        "feasible": 9,
        "ranked": (RankedHost("a", "a", 1.0),),
        "refused": {},
        "refused_hosts": (),
        "gantt_host": "a",
        "gantt_node": "a",
        "failure": None,
        "settled_at": 9,
        "verdict": verdict,
    }
    if verdict in WITH_HOST:
        known |= {"host": "a", "claimed_at": number, "rank": 1, "weight": 1.0}
    return ShadowRecord(**{**known, **given})


def test_nothing_is_said_of_nothing() -> None:
    found = report_on(())
    assert (found.records, found.first_at, found.verdicts) == (0, None, {})
    assert found.agreement.same is None
    assert found.agreement.mean_rank is None
    assert found.gantt_latency == Spread(0, None, None)
    assert found.switch.gantt == Usage(0, 0, 0)
    assert found.notes == ("Few records (0): shares may change much with more.",)


def test_agreement_counts_instances_with_a_host_of_novas() -> None:
    records = [
        record(1),
        record(2, "ranked", host="b", rank=3),
        record(3, "ranked", host="c", rank=7),
        record(4, "refused_by_gantt", host="d", rank=None, refused_by="X"),
        record(5, "refused_by_nova"),
        record(6, "both_refused", gantt_host=None),
        record(7, "undetermined", note="why"),
    ]
    found = report_on(records).agreement
    assert found.compared == 4
    assert (found.same, found.top_3, found.top_5, found.top_10) == (
        0.25,
        0.5,
        0.5,
        0.75,
    )
    assert found.mean_rank == pytest.approx((1 + 3 + 7) / 3)


def test_disagreements_are_classes_with_the_latest_example() -> None:
    ram, cpu = {"RAMWeigher": 0.5, "CPUWeigher": 0.1}, {"CPUWeigher": 0.7}
    records = [
        record(9, "ranked", host="b", rank=2, differences=ram),
        record(8, "ranked", host="b", rank=2, differences=cpu),
        record(7, "ranked", host="b", rank=2, differences=ram),
        record(6, "ranked", host="c", rank=2),
        record(5, "ranked", host="d", rank=2, weight=0.5),
        record(4, "refused_by_gantt", host="d", refused_by="ComputeFilter"),
        record(3, "undetermined", note="a reason"),
        record(2, "refused_by_nova"),
        record(1),
    ]
    found = report_on(records).disagreements
    assert {(one.verdict, one.reason): one.count for one in found} == {
        ("ranked", "RAMWeigher"): 2,
        ("ranked", "CPUWeigher"): 1,
        ("ranked", "equal weight"): 1,
        ("ranked", "weight"): 1,
        ("refused_by_gantt", "ComputeFilter"): 1,
        ("undetermined", "a reason"): 1,
        ("refused_by_nova", ""): 1,
    }
    assert found[0].example.id == "r9"


def test_switch_is_what_either_places_alone_and_the_spread() -> None:
    records = [
        record(1, host="a", gantt_host="a"),
        record(2, "ranked", host="a", gantt_host="b", rank=2),
        record(3, "ranked", host="a", gantt_host="c", rank=2),
        record(4, "refused_by_gantt", host="a", gantt_host=None),
        record(5, "refused_by_nova", gantt_host="d"),
    ]
    found = report_on(records).switch
    assert (found.only_gantt, found.only_nova) == (1, 1)
    assert found.gantt == Usage(3, 3, 1)
    assert found.nova == Usage(3, 1, 3)


def test_latencies_are_of_those_that_are_known() -> None:
    records = [record(n, gantt_s=n / 100, nova_s=None) for n in range(1, 101)]
    records.append(record(101, source="advice", lag_s=9.0, gantt_s=0.5, nova_s=2.0))
    found = report_on(records)
    assert found.gantt_latency == Spread(101, 0.5, 0.99)
    assert found.nova_latency == Spread(1, 2.0, 2.0)
    assert found.lag == Spread(101, 0.1, 0.1)


def test_notes_say_what_limits_the_meaning() -> None:
    records = [record(1), record(2, "refused_by_nova", is_inferred=True)]
    records += [record(3, "undetermined", note="x"), record(4, is_late=True)]
    said = " ".join(report_on(records).notes)
    for part in (
        "Few records (4)",
        "Refusals of Nova that are inferred, as no claim came within ",
        "shadow_settle_s: 1.",
        "Undetermined records, which count for neither side: 1.",
        "Decisions that saw Nova's own claim, which lowers its host: 1.",
    ):
        assert part in said
    many = [record(number) for number in range(100)]
    assert "few" not in " ".join(report_on(many).notes)


def test_one_claim_counts_once() -> None:
    """Workers that see different stages of a request each make a record."""
    first = record(1, "ranked", instance_uuid="i", claimed_at=5)
    later = record(2, "same", instance_uuid="i", claimed_at=5)
    again = record(3, "same", instance_uuid="i", claimed_at=8)
    assert report_on((again, later, first)).verdicts == {"same": 2}


@given(st.lists(st.tuples(st.sampled_from(VERDICTS), st.integers(1, 20)), max_size=30))
def test_shares_and_counts_add_up(drawn: list[tuple[str, int]]) -> None:
    records = [
        record(number, verdict, **({"rank": rank} if verdict == "ranked" else {}))
        for number, (verdict, rank) in enumerate(drawn)
    ]
    found = report_on(records)
    assert sum(found.verdicts.values()) == found.records == len(records)
    agreement = found.agreement
    shares = [agreement.same, agreement.top_3, agreement.top_5, agreement.top_10]
    if agreement.compared:
        assert all(0.0 <= share <= 1.0 for share in shares if share is not None)
    else:
        assert shares == [None] * 4
    differing = [v for v, _ in drawn if v not in ("same", "both_refused")]
    assert sum(one.count for one in found.disagreements) == len(differing)


def test_claims_that_no_report_had_are_the_reason_and_not_a_weigher() -> None:
    """Nova claimed Gantt's host half a second before; the report was five old."""
    second = 1_000_000
    ram = {"RAMWeigher": 0.5}

    def ranked(learnt_from: str, age_s: float | None) -> str:
        before = record(
            100 * second,
            claimed_at=99_600_000,
            host="a",
            learnt_from=learnt_from,
        )
        late = record(
            100 * second,
            "ranked",
            id="late",
            instance_uuid="other",
            host="b",
            rank=2,
            differences=ram,
            claimed_at=101 * second,
            facts_s=age_s,
        )
        (found,) = report_on([late, before]).disagreements
        return found.reason

    assert ranked("instances", 5.0) == "claims that no report had"
    assert ranked("remote allocations", 5.0) == "claims that no report had"
    # Known at once, or known by the report.
    assert ranked("allocations", 5.0) == "RAMWeigher"
    assert ranked("instances", 0.3) == "RAMWeigher"
    assert ranked("instances", None) == "RAMWeigher"


def test_the_report_tells_the_age_of_its_facts() -> None:
    records = [record(number, facts_s=float(number)) for number in range(1, 4)]
    found = report_on(records)
    assert found.facts == Spread(3, 2.0, 3.0)
    assert any("was 2.0 s old (median" in one for one in found.notes)
    assert report_on([record(1)]).facts.count == 0


def test_a_place_that_no_report_had_as_taken_is_none() -> None:
    """A ninth member of an anti-affine group of eight: Gantt had its host as free."""
    second = 1_000_000
    eighth = record(
        100 * second, claimed_at=99_600_000, host="h8", learnt_from="instances"
    )
    ninth = record(
        100 * second,
        "refused_by_nova",
        id="ninth",
        instance_uuid="ninth",
        gantt_host="h8",
        facts_s=5.0,
    )
    found = report_on([ninth, eighth])
    assert found.switch.only_gantt == 0
    assert [one.reason for one in found.disagreements] == ["claims that no report had"]
    assert report_on([replace(ninth, gantt_host="h9"), eighth]).switch.only_gantt == 1
