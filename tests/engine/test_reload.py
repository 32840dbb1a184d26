"""What may change while an engine runs, and what stays as it was opened."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import Refused
from gantt.scheduler.options import SchedulerOptions
from tests.engine.faults import FaultyStore


def scheduler(**changes: object) -> SchedulerOptions:
    return replace(SchedulerOptions(), **changes)


def test_filters_and_freshness_can_be_reloaded(
    books: Gantt, store: FaultyStore
) -> None:
    wanted = scheduler(enabled_filters=("ComputeFilter",))
    books.retune(EngineOptions(scheduler=wanted, freshness="bounded", bound_ms=60_000))
    assert books._checks.options.enabled_filters == ("ComputeFilter",)
    books.list_providers()
    before = store.passed["cursor"]
    books.list_providers()
    assert store.passed["cursor"] == before
    books.retune(EngineOptions(scheduler=wanted))
    books.list_providers()
    assert store.passed["cursor"] > before


def test_the_deciding_placement_does_not_change(books: Gantt) -> None:
    elsewhere = scheduler(placement="http://elsewhere.example", records=1)
    books.retune(EngineOptions(scheduler=elsewhere))
    assert books._checks.options == SchedulerOptions()


def test_unknown_filter_changes_nothing(books: Gantt) -> None:
    driver = books._scheduling.driver
    wrong = scheduler(enabled_filters=("NoSuchFilter",))
    with pytest.raises(Refused, match="NoSuchFilter"):
        books.retune(EngineOptions(scheduler=wrong, freshness="bounded"))
    assert books._scheduling.driver is driver
    assert books._checks.options == SchedulerOptions()
