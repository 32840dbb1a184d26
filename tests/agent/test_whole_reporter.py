"""What an agent says where only its last word may be kept: all, or that it stands."""

from __future__ import annotations

import time
from typing import Any

import pytest
from msgspec.structs import replace

from gantt.agent.collectors.contract import Part
from gantt.agent.reporter import Reporter
from gantt.engine.gantt import Gantt
from gantt.model.needs import needs_of
from gantt.model.reports import Report, ReportOutcome
from tests.agent.test_reporter import said

FIELDS: dict[str, Any] = {"vcpus": 8, "memory_mb": 1024, "host_ip": "10.0.0.1"}
RENEWAL_S = 300.0
_US = 1_000_000


@pytest.fixture
def reporter() -> Reporter:
    return Reporter("h", "h", "a", renewal_s=RENEWAL_S)


def known(outcome: str = "applied", **given: Any) -> ReportOutcome:
    return ReportOutcome("h", "h", outcome, **given)  # type: ignore[arg-type]


def part(**fields: Any) -> Part:
    return Part({**FIELDS, **fields})


def test_every_report_with_news_says_all(reporter: Reporter) -> None:
    first = reporter.next(part(), 0)
    reporter.settle(known())
    nothing = reporter.next(part(), _US)
    reporter.settle(known("unchanged"))
    second = reporter.next(part(vcpus=9), 2 * _US)
    assert (first.sequence, first.full, said(first)) == (1, True, said(second))
    assert (nothing.sequence, nothing.full, nothing.has_fields) == (1, False, False)
    assert (second.sequence, second.full, second.fields.vcpus) == (2, True, 9)


def test_what_is_gone_is_left_out(reporter: Reporter, books: Gantt) -> None:
    books.report_hosts([_now(reporter.next(part(), 0))])
    reporter.settle(known())
    gone = Part({key: value for key, value in FIELDS.items() if key != "host_ip"})
    report = reporter.next(gone, _US)
    (outcome,) = books.report_hosts([_now(report)])
    assert outcome.outcome == "applied"
    (view,) = books.list_hosts()
    assert "host_ip" not in said(report)
    assert view.stats.get("host_ip") is None


def test_a_report_that_may_be_lost_is_repeated_as_it_was(
    reporter: Reporter,
) -> None:
    first = reporter.next(part(), 0)
    assert reporter.next(part(), _US) == first


def test_news_take_the_place_of_a_report_that_may_be_lost(
    reporter: Reporter,
) -> None:
    reporter.next(part(), 0)
    assert not reporter.is_waiting
    second = reporter.next(part(vcpus=9), _US)
    assert (second.sequence, second.full) == (2, True)


def test_without_news_it_is_renewed(reporter: Reporter) -> None:
    at = int(RENEWAL_S * _US)
    reporter.next(part(), 0)
    reporter.settle(known())
    assert not reporter.next(part(), at - 1).has_fields
    reporter.settle(known("unchanged"))
    renewed = reporter.next(part(), at)
    assert (renewed.sequence, renewed.full, renewed.taken_at) == (2, True, at)


def test_what_cannot_be_read_stays(reporter: Reporter) -> None:
    reporter.next(part(), 0)
    reporter.settle(known())
    unread = Part({"vcpus": 9, "memory_mb": 1024}, unread=frozenset({"host_ip"}))
    report = reporter.next(unread, _US)
    assert report.fields.host_ip == "10.0.0.1"
    assert report.unread == ("host_ip",)


def test_what_says_everything_serves_any_needs(
    reporter: Reporter, books: Gantt
) -> None:
    """A service that nothing was asked of takes its heartbeats, without a write."""
    reporter.needs = needs_of({"a scheduler that was not asked": None})
    assert books.needs().digest != reporter.needs.digest
    now = time.time_ns() // 1000
    for expected in ("applied", "unchanged", "unchanged"):
        (outcome,) = books.report_hosts([reporter.next(part(), now)])
        assert outcome.outcome == expected, outcome.message
        reporter.settle(replace(outcome, needs=""))


def test_other_needs_are_learnt_and_told(reporter: Reporter) -> None:
    few = needs_of({"few": ["vcpus"]})
    reporter.needs = needs_of({"all": None})
    reporter.next(part(), 0)
    reporter.settle(known(needs=few.digest))
    asks_again = reporter.needs is None
    reporter.needs = few
    report = reporter.next(part(), _US)
    assert asks_again
    assert report.full
    assert "host_ip" not in said(report)
    assert report.needs == few.digest


def test_of_two_agents_the_one_before_says_no_more_but_now_and_then(
    reporter: Reporter,
) -> None:
    reporter.next(part(), 10)
    assert reporter.settle(known("superseded", taken_at=9)) == "superseded"
    assert not reporter.next(part(vcpus=9), 20).has_fields
    assert reporter.next(part(vcpus=9), int(RENEWAL_S * _US) + 20).full


def test_a_clock_that_was_set_back_is_told_from_another_agent(
    reporter: Reporter,
) -> None:
    reporter.next(part(), 10)
    assert reporter.settle(known("superseded", taken_at=50)) == "again"
    assert reporter.next(part(), 11).taken_at == 51


def test_what_was_refused_is_said_anew(reporter: Reporter) -> None:
    reporter.next(part(), 0)
    assert reporter.settle(known("refused", code="conflict")) == "refused"
    assert reporter.next(part(), _US).sequence == 2
    reporter.turned_away()
    assert reporter.next(part(), _US).sequence == 3


def _now(report: Report) -> Report:
    return replace(report, taken_at=time.time_ns() // 1000)
