"""An audit that may be older is shared; one that may not is made anew."""

from __future__ import annotations

import pytest

from gantt.engine.gantt import Gantt
from tests.engine.faults import NOW, ScriptedClock

SECOND = 1_000_000


@pytest.fixture
def books(timed: Gantt) -> Gantt:
    return timed


def test_ten_that_take_an_older_audit_cost_one(
    books: Gantt, clock: ScriptedClock
) -> None:
    for _ in range(10):
        assert books.audit(limit=1, max_age_s=60).at == NOW
        clock.last += SECOND
    assert books.counts()["audits"] == 1
    clock.last = NOW + 60 * SECOND
    assert books.audit(limit=1, max_age_s=60).at == clock.last


def test_who_asks_for_another_audit_or_a_new_one_gets_it(
    books: Gantt, clock: ScriptedClock
) -> None:
    books.audit(limit=1, max_age_s=60)
    clock.last += SECOND
    assert books.audit(limit=1).at == clock.last
    assert books.audit(limit=2, max_age_s=60).at == clock.last
    assert books.audit(limit=1, max_age_s=0.5).at == clock.last
    assert books.counts()["audits"] == 4


def test_no_answer_is_kept_from_the_time_before_the_clock_was_set_back(
    books: Gantt, clock: ScriptedClock
) -> None:
    books.audit(max_age_s=60)
    clock.last = NOW - 3_600 * SECOND
    books.audit(max_age_s=60)
    assert books.counts()["audits"] == 2
